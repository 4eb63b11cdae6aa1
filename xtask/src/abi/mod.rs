//! `cargo xtask abi-check` and `abi-freeze`: the text of the plugin interface, and the frozen copies of its versions.
//!
//! What a plugin was built against cannot be taken back, so that every version of the interface lies beside it as a
//! package of its own, for the tests to compare. `docs/abi.md` has the rules that are kept with this.

mod frozen;
mod text;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::semver::Version;

use crate::build::metadata;
use frozen::Frozen;

/// The text that decides on layouts, in the interface's package and in every copy of it.
const OBJECTS: &str = "src/objects";

/// The directory of the interface's package in this workspace.
pub fn directory() -> PathBuf {
    crate::workspace_manifest().with_file_name("plugin-sdk").join("abi")
}

/// Fails where the interface in this package is not what was frozen of the version that it states, comments and
/// formatting apart, where that version was never frozen, where a frozen copy was edited, or where the package has cargo
/// features.
///
/// # Errors
///
/// Those, with what differs and what to do; and when something cannot be read, or `out` not be written to.
pub fn check(out: &mut dyn Write, package: &Path) -> Result<()> {
    let frozen = Frozen::read(package)?;
    frozen.verify()?;
    let version = version(package)?;
    if let Some(newest) = frozen.newest().filter(|newest| **newest > version) {
        bail!(
            "the interface states version {version}, and {newest} is frozen already; a version never goes back: set the \
             version in {}",
            manifest(package).display()
        );
    }
    if !frozen.has(&version) {
        bail!(
            "the interface's version {version} is not frozen; run `cargo xtask abi-freeze`, and commit what it writes"
        );
    }
    let differences = differences(package, &frozen, &version)?;
    if !differences.is_empty() {
        bail!(
            "the interface is not what was frozen as version {version}:\n{differences}\nPlugins out there were built \
             for that version. Undo the change; or, where the interface is to grow, append to its end, raise the minor \
             version in {} and run `cargo xtask abi-freeze`. docs/abi.md says what may grow, and how.",
            manifest(package).display()
        );
    }
    writeln!(out, "The interface is what was frozen as version {version}; frozen copies, unchanged: {frozen}.")?;
    Ok(())
}

/// Freezes the interface in this package as the version that it states, and prints what is left to do by hand.
///
/// # Errors
///
/// When that version is frozen with another text, is older than one that is frozen, or has another major version; when
/// a frozen copy was edited; and when something cannot be read or written. Nothing is left half-written then.
pub fn freeze(out: &mut dyn Write, package: &Path) -> Result<()> {
    let mut frozen = Frozen::read(package)?;
    frozen.verify()?;
    let version = version(package)?;
    if frozen.has(&version) {
        let differences = differences(package, &frozen, &version)?;
        if differences.is_empty() {
            writeln!(out, "Version {version} is frozen already, with this text.")?;
            return Ok(());
        }
        bail!(
            "version {version} is frozen already, with another text:\n{differences}\nRaise the version in {} first.",
            manifest(package).display()
        );
    }
    if let Some(newest) = frozen.newest() {
        if version < *newest {
            bail!("version {version} is older than {newest}, which is frozen; a version never goes back");
        }
        if version.major != newest.major {
            bail!(
                "version {version} has another major version than {newest}: its hosts would refuse every plugin there \
                 is. docs/abi.md says how to leave this interface without that"
            );
        }
    }
    let copy = frozen.add(&version)?;
    writeln!(out, "Frozen as {}. What is left to do:\n{}", copy.display(), frozen::left_to_do(&version))?;
    Ok(())
}

fn manifest(package: &Path) -> PathBuf {
    package.join("Cargo.toml")
}

/// The version that the interface in this package states.
fn version(package: &Path) -> Result<Version> {
    let manifest = manifest(package);
    let metadata = metadata(&manifest)?;
    let ours = |path: &Path| path.canonicalize().ok().zip(manifest.canonicalize().ok()).is_some_and(|(a, b)| a == b);
    let package = metadata.packages.iter().find(|package| ours(package.manifest_path.as_std_path()));
    let package = package.with_context(|| format!("cargo knows no package of {}", manifest.display()))?;
    if !package.features.is_empty() {
        let names: Vec<&str> = package.features.keys().map(String::as_str).collect();
        bail!(
            "the interface has cargo features ({}), and a feature changes layouts under an equal version; remove them, \
             and `optional` from the dependencies, in {}",
            names.join(", "),
            manifest.display()
        );
    }
    Ok(package.version.clone())
}

/// What differs between the interface and the copy of this version, for people to read; empty where nothing does.
fn differences(package: &Path, frozen: &Frozen, version: &Version) -> Result<String> {
    text::differences(&package.join(OBJECTS), &frozen.copy(version).join(OBJECTS))
}
