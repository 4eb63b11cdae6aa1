//! Builds one package by a cargo of its own and says where the artifact is.
//!
//! The path comes from cargo's messages and is never guessed under `target/`: layouts move.

#[cfg(test)]
mod tests;

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Artifact, Message, Metadata, MetadataCommand, Package, PackageId, Target, TargetKind};

use crate::shell::command_line;

/// The profile that a package is built with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// `dev`: quick to build.
    #[default]
    Dev,
    /// `release`: what is shipped.
    Release,
}

/// One package to build: `cargo build -p` with what is set here.
///
/// ```no_run
/// # fn main() -> anyhow::Result<()> {
/// use xtask::build::{Build, Profile};
///
/// let fixtures = Build::new("tests/fixtures/Cargo.toml").target_dir("target/fixtures").locked();
/// let plugin = fixtures.clone().package("echo").cdylib()?;
/// let aborting = fixtures.package("echo").target_dir("target/fixtures-abort").config(r#"profile.dev.panic="abort""#);
/// let aborting = aborting.profile(Profile::Dev).cdylib()?;
/// # Ok(())
/// # }
/// ```
///
/// Builds may run at the same time; cargo makes those that share a target directory wait for each other. Two that
/// differ only in profile settings write the same file: give each a target directory of its own.
#[derive(Debug, Clone)]
pub struct Build {
    manifest_path: PathBuf,
    package: Option<String>,
    target_dir: Option<PathBuf>,
    profile: Profile,
    config: Vec<String>,
    locked: bool,
    unified: bool,
}

impl Build {
    /// A build in the workspace, or of the package, with this `Cargo.toml`.
    pub fn new(manifest_path: impl Into<PathBuf>) -> Self {
        Self {
            manifest_path: manifest_path.into(),
            package: None,
            target_dir: None,
            profile: Profile::default(),
            config: Vec::new(),
            locked: false,
            unified: false,
        }
    }

    /// Builds this member of the workspace. Left out: the package at the workspace's root.
    pub fn package(mut self, name: impl Into<String>) -> Self {
        self.package = Some(name.into());
        self
    }

    /// Builds into this directory. Left out: the one that cargo would take.
    pub fn target_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.target_dir = Some(directory.into());
        self
    }

    /// Builds with this profile. Left out: [`Profile::Dev`].
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Adds one setting, `KEY=VALUE` in TOML, as for cargo's `--config`.
    pub fn config(mut self, setting: impl Into<String>) -> Self {
        self.config.push(setting.into());
        self
    }

    /// Fails when `Cargo.lock` is missing or would have to change.
    pub fn locked(mut self) -> Self {
        self.locked = true;
        self
    }

    /// Builds dependencies with the features that all members ask for together, as `cargo test --workspace` does:
    /// what that has built is not built again. Not for a plugin, whose bytes it would change.
    pub fn unified(mut self) -> Self {
        self.unified = true;
        self
    }

    /// Builds the package's library and returns the path of its shared library.
    ///
    /// # Errors
    ///
    /// When the package is unknown or its library is no `cdylib`, or when cargo cannot be run or fails: then its
    /// output is on stderr, and the error names the package and the command.
    pub fn cdylib(&self) -> Result<PathBuf> {
        self.run(Wanted::Cdylib)
    }

    /// Builds one of the package's binaries and returns its path.
    ///
    /// # Errors
    ///
    /// As [`cdylib`](Self::cdylib).
    pub fn bin(&self, name: &str) -> Result<PathBuf> {
        self.run(Wanted::Bin(name))
    }

    /// Builds one of the package's examples and returns its path.
    ///
    /// # Errors
    ///
    /// As [`cdylib`](Self::cdylib).
    pub fn example(&self, name: &str) -> Result<PathBuf> {
        self.run(Wanted::Example(name))
    }

    /// Builds one of the package's integration tests and returns its path.
    ///
    /// # Errors
    ///
    /// As [`cdylib`](Self::cdylib).
    pub fn test(&self, name: &str) -> Result<PathBuf> {
        self.run(Wanted::Test(name))
    }

    fn run(&self, wanted: Wanted<'_>) -> Result<PathBuf> {
        let metadata = metadata(&self.manifest_path)?;
        let package = self.find_package(&metadata)?;
        wanted.check(package)?;

        let mut command = self.command(package, wanted);
        let output = run(&mut command)?;
        if !output.status.success() {
            let (line, status) = (command_line(&command), output.status);
            bail!(
                "could not build package `{}` ({status}); cargo's output above says why\ncommand: {line}",
                package.name
            );
        }
        artifact_path(output.stdout.as_slice(), &package.id, wanted)?.with_context(|| {
            format!("cargo built no {wanted} in package `{}`\ncommand: {}", package.name, command_line(&command))
        })
    }

    fn find_package<'m>(&self, metadata: &'m Metadata) -> Result<&'m Package> {
        let members = metadata.workspace_packages();
        let found = match &self.package {
            Some(name) => members.iter().copied().find(|package| package.name == name.as_str()),
            None => metadata.root_package(),
        };
        found.with_context(|| {
            let mut names: Vec<_> = members.iter().map(|package| package.name.as_str()).collect();
            names.sort_unstable();
            let problem = match &self.package {
                Some(name) => format!("there is no package `{name}`"),
                None => "there is no package at the root: name one".to_owned(),
            };
            format!("{problem} in the workspace {}; it has: {}", metadata.workspace_root, names.join(", "))
        })
    }

    fn command(&self, package: &Package, wanted: Wanted<'_>) -> Command {
        let mut command = cargo();
        command
            .args(["build", "--message-format", "json-render-diagnostics", "--manifest-path"])
            .arg(&self.manifest_path);
        match self.unified {
            true => command.arg("--workspace"),
            false => command.args(["--package", &package.name]),
        };
        match wanted {
            Wanted::Cdylib => command.arg("--lib"),
            Wanted::Bin(name) => command.args(["--bin", name]),
            Wanted::Example(name) => command.args(["--example", name]),
            Wanted::Test(name) => command.args(["--test", name]),
        };
        if self.profile == Profile::Release {
            command.arg("--release");
        }
        if let Some(directory) = &self.target_dir {
            command.arg("--target-dir").arg(directory);
        }
        for setting in &self.config {
            command.args(["--config", setting]);
        }
        if self.locked {
            command.arg("--locked");
        }
        command
    }
}

/// The artifact that a build is made for.
#[derive(Debug, Clone, Copy)]
enum Wanted<'a> {
    Cdylib,
    Bin(&'a str),
    Example(&'a str),
    Test(&'a str),
}

impl Wanted<'_> {
    fn check(self, package: &Package) -> Result<()> {
        let has = |kind: TargetKind| package.targets.iter().filter(move |target| target.is_kind(kind.clone()));
        let name = &package.name;
        match self {
            Self::Cdylib if has(TargetKind::CDyLib).next().is_none() => bail!(
                "package `{name}` makes no shared library; add `crate-type = [\"cdylib\"]` under [lib] in {}",
                package.manifest_path
            ),
            Self::Cdylib => Ok(()),
            Self::Bin(program) => among(name, ("binary", "binaries"), program, has(TargetKind::Bin)),
            Self::Example(program) => among(name, ("example", "examples"), program, has(TargetKind::Example)),
            Self::Test(program) => {
                among(name, ("integration test", "integration tests"), program, has(TargetKind::Test))
            }
        }
    }

    fn path_in(self, artifact: &Artifact) -> Option<PathBuf> {
        let path = match self {
            Self::Cdylib if artifact.target.is_cdylib() => {
                artifact.filenames.iter().find(|file| matches!(file.extension(), Some("so" | "dylib" | "dll")))
            }
            Self::Bin(name) if artifact.target.is_bin() && artifact.target.name == name => artifact.executable.as_ref(),
            Self::Example(name) if artifact.target.is_example() && artifact.target.name == name => {
                artifact.executable.as_ref()
            }
            Self::Test(name) if artifact.target.is_test() && artifact.target.name == name => {
                artifact.executable.as_ref()
            }
            _ => None,
        };
        path.map(|path| path.clone().into_std_path_buf())
    }
}

impl fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cdylib => f.write_str("shared library"),
            Self::Bin(name) => write!(f, "binary `{name}`"),
            Self::Example(name) => write!(f, "example `{name}`"),
            Self::Test(name) => write!(f, "integration test `{name}`"),
        }
    }
}

/// Fails where no target of this kind has the wanted name; the kind is named in singular and plural.
fn among<'t>(
    package: &str,
    (one, several): (&str, &str),
    wanted: &str,
    targets: impl Iterator<Item = &'t Target>,
) -> Result<()> {
    let names: Vec<_> = targets.map(|target| target.name.as_str()).collect();
    if names.contains(&wanted) {
        return Ok(());
    }
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    bail!("package `{package}` has no {one} `{wanted}`; its {several}: {names}")
}

/// The wanted artifact of `package` among cargo's messages. A dependency may be a `cdylib` too, so the package decides.
fn artifact_path(messages: impl Read, package: &PackageId, wanted: Wanted<'_>) -> Result<Option<PathBuf>> {
    let mut found = None;
    for message in Message::parse_stream(io::BufReader::new(messages)) {
        let message = message.context("could not read cargo's messages")?;
        if let Message::CompilerArtifact(artifact) = message
            && artifact.package_id == *package
        {
            found = wanted.path_in(&artifact).or(found);
        }
    }
    Ok(found)
}

/// What cargo knows of the workspace, dependencies left out.
pub(crate) fn metadata(manifest_path: &Path) -> Result<Metadata> {
    let metadata = MetadataCommand::new().manifest_path(manifest_path).no_deps().exec();
    metadata.with_context(|| format!("could not read the workspace of {}", manifest_path.display()))
}

/// What turns on the checks of the GNU C library's heap. They are for what we test, and would slow down a compiler.
pub(crate) const DEBUG_HEAP: [(&str, &str); 3] =
    [("LD_PRELOAD", "libc_malloc_debug.so.0"), ("MALLOC_CHECK_", "3"), ("MALLOC_PERTURB_", "165")];

/// The cargo that runs us, else the one on the path, without what an outer cargo has put into the environment.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    for (name, value) in env::vars_os() {
        if is_from_outer_cargo(&name) || is_of_debug_heap(&name, &value) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// Whether cargo sets this variable for what it runs or compiles, to describe the outer package. A build script that
/// asks to be run again when one of them changes would do so whenever the caller changes. What a person sets to steer
/// cargo (`RUSTFLAGS`, `CARGO_HOME`, `CARGO_BUILD_*`) stays, and so does rustup's choice of a toolchain.
fn is_from_outer_cargo(name: &OsStr) -> bool {
    const NAMES: &[&str] =
        &["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "CARGO_TARGET_TMPDIR", "OUT_DIR"];
    const PREFIXES: &[&str] = &["CARGO_BIN_EXE_", "CARGO_MANIFEST_", "CARGO_PKG_"];
    let name = name.to_string_lossy();
    NAMES.contains(&&*name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether this turns on the checks of the heap. What a person has set to something else stays.
fn is_of_debug_heap(name: &OsStr, value: &OsStr) -> bool {
    DEBUG_HEAP.iter().any(|(its, set)| name == *its && value == *set)
}

/// Runs cargo with its messages captured. A person at a terminal sees its progress; otherwise its output is shown only
/// when it fails, through `eprint!`, which the test harness keeps with the test that it belongs to.
fn run(command: &mut Command) -> Result<Output> {
    let at_terminal = io::stderr().is_terminal();
    command.stderr(if at_terminal { Stdio::inherit() } else { Stdio::piped() });
    let output =
        command.output().with_context(|| format!("could not run cargo\ncommand: {}", command_line(command)))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output)
}
