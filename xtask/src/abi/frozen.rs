//! The frozen copies: a package for each version, and a list with the hash of every file of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;
use sha2::{Digest, Sha256};

use super::{OBJECTS, text};

/// The list of hashes, as `sha256sum` writes and checks it.
const SUMS: &str = "SHA256SUMS";

/// The frozen copies beside an interface's package.
pub(super) struct Frozen {
    package: PathBuf,
    directory: PathBuf,
    /// The oldest first.
    versions: Vec<Version>,
}

impl Frozen {
    /// Finds the copies of the interface in this package.
    pub(super) fn read(package: &Path) -> Result<Self> {
        let directory = package.join("frozen");
        let mut versions = Vec::new();
        let entries = fs::read_dir(&directory).with_context(|| format!("could not list {}", directory.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("could not list {}", directory.display()))?.path();
            if path.is_dir() {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let version = name.parse().with_context(|| format!("{} is named by no version", path.display()))?;
                versions.push(version);
            }
        }
        versions.sort();
        Ok(Self { package: package.to_owned(), directory, versions })
    }

    pub(super) fn newest(&self) -> Option<&Version> {
        self.versions.last()
    }

    pub(super) fn has(&self, version: &Version) -> bool {
        self.versions.contains(version)
    }

    /// The directory of the copy of this version.
    pub(super) fn copy(&self, version: &Version) -> PathBuf {
        self.directory.join(version.to_string())
    }

    /// Compares every file of every copy with the list.
    pub(super) fn verify(&self) -> Result<()> {
        let (found, listed) = (self.sums()?, self.listed()?);
        let mut problems = Vec::new();
        for (name, sum) in &found {
            match listed.get(name) {
                Some(stated) if stated == sum => {}
                Some(_) => problems.push(format!("{name} was edited")),
                None => problems.push(format!("{name} is not in the list")),
            }
        }
        problems.extend(listed.keys().filter(|name| !found.contains_key(*name)).map(|name| format!("{name} is gone")));
        if !problems.is_empty() {
            bail!(
                "the frozen copies are not what {} says:\n  {}\nA frozen copy is what plugins were built against, and \
                 never changes. Restore it from the history; the next version gets a copy of its own, by `cargo xtask \
                 abi-freeze`.",
                self.directory.join(SUMS).display(),
                problems.join("\n  ")
            );
        }
        Ok(())
    }

    /// Writes the copy of this version, and lists it. Returns its directory.
    pub(super) fn add(&mut self, version: &Version) -> Result<PathBuf> {
        let copy = self.copy(version);
        // Elsewhere until it is whole: an unfinished copy would be taken for one that was edited.
        let unfinished = unfinished(0o777).tempdir_in(&self.package);
        let written = unfinished.map_err(anyhow::Error::from).and_then(|unfinished| {
            self.write(version, unfinished.path())?;
            Ok(fs::rename(unfinished.path(), &copy)?)
        });
        written.with_context(|| format!("could not write {}", copy.display()))?;
        self.versions.push(version.clone());
        if let Err(error) = self.write_list() {
            // Without its lines in the list it would be taken for one that somebody slipped in.
            let _ = fs::remove_dir_all(&copy);
            return Err(error);
        }
        Ok(copy)
    }

    fn write(&self, version: &Version, directory: &Path) -> Result<()> {
        let objects = directory.join(OBJECTS);
        for (name, path) in text::sources(&self.package.join(OBJECTS))? {
            let target = objects.join(name);
            fs::create_dir_all(target.parent().unwrap_or(&objects))?;
            fs::copy(path, target)?;
        }
        fs::write(directory.join("Cargo.toml"), of_version(MANIFEST, version))?;
        fs::write(directory.join("build.rs"), BUILD)?;
        fs::write(directory.join("src/lib.rs"), of_version(LIBRARY, version))?;
        Ok(())
    }

    fn write_list(&self) -> Result<()> {
        let path = self.directory.join(SUMS);
        let lines: String = self.sums()?.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        let written = unfinished(0o666).tempfile_in(&self.package).and_then(|mut file| {
            file.write_all(lines.as_bytes())?;
            file.persist(&path)?;
            Ok(())
        });
        written.with_context(|| format!("could not write {}", path.display()))
    }

    /// The hash of every file of the copies, by its name below their directory.
    fn sums(&self) -> Result<BTreeMap<String, String>> {
        let mut sums = BTreeMap::new();
        for version in &self.versions {
            for (name, path) in text::files(&self.copy(version))? {
                let bytes = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
                sums.insert(format!("{version}/{name}"), hex::encode(Sha256::digest(bytes)));
            }
        }
        Ok(sums)
    }

    fn listed(&self) -> Result<BTreeMap<String, String>> {
        let path = self.directory.join(SUMS);
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        let entry = |line: &str| line.split_once("  ").map(|(sum, name)| (name.to_owned(), sum.to_owned()));
        Ok(text.lines().filter_map(entry).collect())
    }
}

impl fmt::Display for Frozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
    }
}

/// A file or a directory that others may read once it is whole, as far as the user's mask lets them.
fn unfinished(mode: u32) -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.permissions(Permissions::from_mode(mode));
    builder
}

fn of_version(template: &str, version: &Version) -> String {
    template.replace("{version}", &version.to_string()).replace("{name}", &name(version))
}

/// The name of the package that holds the copy of this version.
fn name(version: &Version) -> String {
    format!("toolhost-abi-{}", version.to_string().replace('.', "-"))
}

/// What adding a copy leaves to people.
pub(super) fn left_to_do(version: &Version) -> String {
    of_version(LEFT_TO_DO, version).replace("{crate}", &name(version).replace('-', "_"))
}

const LEFT_TO_DO: &str = r#"- loader/Cargo.toml, [dev-dependencies]:
    {name}.path = "../plugin-sdk/abi/frozen/{version}"
- loader/src/adapter/layout/tests.rs, at the end of `frozen`:
    ("{version}", root::<{crate}::root::PluginRootRef>()),
- Cargo.toml, [workspace.dependencies]: `version = "{version}"` at toolhost-abi, where the SDK or the loader needs what is new
- plugin-sdk/abi/imagined: a new BASE in build.rs, and versions after {version} in the three Cargo.toml
- plugin-sdk/abi/src/layout_tests.rs: what was appended; CHANGELOG.md: what it is for
- `cargo update --workspace --manifest-path tests/fixtures/Cargo.toml`: the lock of the fixtures
- `cargo test -p toolhost-abi -p toolhost-loader`, then commit"#;

const MANIFEST: &str = r#"[package]
name = "{name}"
description = "The plugin interface as it was in version {version}"
publish = false
# The version of the interface. Nothing in this directory is ever edited.
version = "{version}"
edition = "2024"
license.workspace = true

[lib]
doc = false
doctest = false
test = false

[dependencies]
abi_stable = { version = "=0.11.3", default-features = false }
abi_stable_derive = "=0.11.3"
abi_stable_shared = "=0.11.0"
async-ffi = { version = "=0.5.1", features = ["abi_stable"] }
"#;

const BUILD: &str = r#"//! Lets the types be those of the interface's own crate, as abi_stable sees them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=CARGO_PKG_NAME=toolhost-abi");
}
"#;

const LIBRARY: &str = r#"//! The plugin interface as it was in version {version}: a copy of its module, for the tests alone.

#[allow(non_local_definitions, non_camel_case_types, missing_docs, unreachable_pub, clippy::all)]
#[rustfmt::skip]
mod objects;

pub use objects::{Bytes, call, change, host, root, tool};
"#;
