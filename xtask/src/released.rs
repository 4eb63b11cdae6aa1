//! `cargo xtask released-sdks`: plugins that were built with the SDK of each release, called by today's host.
//!
//! Every release carries the plugin `lasting` among its fixtures. Its source, its SDK and its lock are those of the
//! release's tag; only the compiler and the host are today's.

#[cfg(test)]
mod tests;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::semver::Version;
use serde_json::Value;

use crate::build::{Build, metadata};
use crate::shell::command_line;

const PLUGIN: &str = "lasting";

/// Where releases are found, and built.
#[derive(Debug, Clone)]
pub struct Releases {
    repository: PathBuf,
    trees: PathBuf,
    target_dir: PathBuf,
}

impl Releases {
    /// The releases that are tagged in this repository, exported and built below a directory that may be kept.
    pub fn new(repository: impl Into<PathBuf>, scratch: &Path) -> Self {
        Self { repository: repository.into(), trees: scratch.join("trees"), target_dir: scratch.join("build") }
    }

    /// Builds into this directory, where others may have built before.
    pub fn target_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.target_dir = directory.into();
        self
    }

    /// Builds the plugin of every release, and has the host, which is asked for when there is one, load and call it.
    ///
    /// # Errors
    ///
    /// When a plugin cannot be built or does not do what it does, after all of them were tried; when a release that the
    /// changelog lists has no tag; and when git or the host cannot be run, or `out` not be written to.
    pub fn check(&self, out: &mut dyn Write, host: impl FnOnce() -> Result<PathBuf>) -> Result<()> {
        let tags = self.tags()?;
        self.tags_are_here(&tags)?;
        if tags.is_empty() {
            writeln!(out, "Nothing is released yet: there is no tag v*.")?;
            return Ok(());
        }
        let host = host()?;
        let mut failures = Vec::new();
        for tag in &tags {
            match self.check_one(tag, &host) {
                Ok(()) => writeln!(out, "{tag}: its plugin builds, loads, stages, applies and discards")?,
                Err(error) => failures.push(format!("{tag}: {error:#}")),
            }
        }
        ensure!(
            failures.is_empty(),
            "what was built for a release no longer works in today's host; a host takes every plugin of its interface's \
             major version (docs/abi.md)\n{}",
            failures.join("\n")
        );
        Ok(())
    }

    fn tags(&self) -> Result<Vec<String>> {
        let listed = self.git(&["tag", "--list", "v[0-9]*", "--sort=version:refname"])?;
        Ok(listed.lines().map(str::to_owned).collect())
    }

    /// A clone without its tags must not pass for one without releases.
    fn tags_are_here(&self, tags: &[String]) -> Result<()> {
        let Ok(changelog) = fs::read_to_string(self.repository.join("CHANGELOG.md")) else {
            return Ok(());
        };
        let current = Version::parse(env!("CARGO_PKG_VERSION")).context("this package has no version")?;
        // The release that is being made has no tag yet.
        let released = listed(&changelog).into_iter().filter(|version| *version != current);
        let absent: Vec<String> =
            released.map(|version| format!("v{version}")).filter(|tag| !tags.contains(tag)).collect();
        ensure!(
            absent.is_empty(),
            "CHANGELOG.md lists releases without their tags: {}; fetch them (`git fetch --tags`), whole (`git fetch \
             --unshallow`)",
            absent.join(", ")
        );
        Ok(())
    }

    fn check_one(&self, tag: &str, host: &Path) -> Result<()> {
        let tree = self.export(tag)?;
        let build = Build::new(tree.join("tests/fixtures/Cargo.toml")).package(PLUGIN);
        let plugin = build.target_dir(&self.target_dir).locked().cdylib()?;
        let state = tempfile::tempdir().context("could not make a directory for the host")?;
        Called { host, plugin: &plugin, state: state.path() }.check()
    }

    /// The files of a tag, in a directory that is named by its commit: what was built from another is not taken for it.
    fn export(&self, tag: &str) -> Result<PathBuf> {
        let commit = self.git(&["rev-parse", "--verify", &format!("{tag}^{{commit}}")])?;
        let tree = self.trees.join(commit.trim());
        if tree.exists() {
            fs::remove_dir_all(&tree).with_context(|| format!("could not remove {}", tree.display()))?;
        }
        fs::create_dir_all(&tree).with_context(|| format!("could not create {}", tree.display()))?;

        let mut archive = self.git_command(&["archive", "--format=tar", commit.trim()]);
        let mut archiving = archive.stdout(Stdio::piped()).spawn().context("could not run git")?;
        let mut unpack = Command::new("tar");
        unpack.args(["-x", "-C"]).arg(&tree);
        if let Some(stdout) = archiving.stdout.take() {
            unpack.stdin(stdout);
        }
        let unpacked = unpack.status().context("could not run tar")?;
        let archived = archiving.wait().context("could not wait for git")?;
        ensure!(
            archived.success() && unpacked.success(),
            "could not export the files of {tag} (git: {archived}, tar: {unpacked})\ncommand: {} | {}",
            command_line(&archive),
            command_line(&unpack)
        );
        Ok(tree)
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        text_of(&mut self.git_command(args))
    }

    /// Of this repository, whichever a hook of another one may have named.
    fn git_command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env("LC_ALL", "C");
        command.arg("-C").arg(&self.repository).args(args).stdin(Stdio::null());
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        command
    }
}

/// Checks the releases of this workspace with its own host.
///
/// # Errors
///
/// As [`Releases::check`], and when the host cannot be built.
pub fn run(out: &mut dyn Write) -> Result<()> {
    let manifest_path = crate::workspace_manifest();
    let target_dir = metadata(&manifest_path)?.target_directory.into_std_path_buf();
    let repository = manifest_path.parent().context("the workspace has no directory")?;
    let host = || Build::new(&manifest_path).package("toolhost").target_dir(&target_dir).locked().bin("toolhost");
    Releases::new(repository, &target_dir.join("released-sdks")).check(out, host)
}

/// The versions that a changelog has headings for.
fn listed(changelog: &str) -> Vec<Version> {
    let headings = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    let words = headings.filter_map(|heading| heading.split_whitespace().next());
    words.filter_map(|word| Version::parse(word.trim_matches(['[', ']', 'v'])).ok()).collect()
}

/// A host that is to call a plugin, with a directory for what it keeps.
struct Called<'a> {
    host: &'a Path,
    plugin: &'a Path,
    state: &'a Path,
}

impl Called<'_> {
    /// Everything that `lasting` has ever promised.
    fn check(&self) -> Result<()> {
        let list = self.json(&["list"], &[])?;
        expect(&list, "/errors", &Value::Array(Vec::new()))?;
        expect(&list, "/tools/0/name", &PLUGIN.into())?;
        for (decision, reason, answer) in
            [("--apply", "why not", "kept a leaf: why not"), ("--discard", "not now", "dropped a leaf: not now")]
        {
            let journal = self.state.join("journal").display().to_string();
            let options = ["text=a leaf", decision, reason, "--journal-dir", &journal];
            let called = self.json(&["call", PLUGIN], &options)?;
            expect(&called, "/result/content/0/text", &"staged a leaf".into())?;
            expect(&called, "/result/details/pending/0/label", &"Keep a leaf".into())?;
            expect(&called, "/result/details/pending/0/sourceToolName", &PLUGIN.into())?;
            expect(&called, "/resolved/content/0/text", &answer.into())?;
        }
        Ok(())
    }

    /// What the host prints as JSON.
    fn json(&self, subcommand: &[&str], options: &[&str]) -> Result<Value> {
        let mut command = Command::new(self.host);
        command.args(subcommand).arg("--json").arg("--plugin").arg(self.plugin);
        command.arg("--cache-dir").arg(self.state.join("cache")).args(options).stdin(Stdio::null());
        let printed = text_of(&mut command)?;
        serde_json::from_str(&printed).with_context(|| format!("the host printed no JSON: {printed}"))
    }
}

fn expect(json: &Value, pointer: &str, expected: &Value) -> Result<()> {
    let found = json.pointer(pointer).unwrap_or(&Value::Null);
    ensure!(found == expected, "{pointer} is {found}, and has to be {expected}, in {json}");
    Ok(())
}

/// What a command prints.
fn text_of(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let Output { status, stdout, stderr } = command.output().with_context(|| format!("could not run {line}"))?;
    if !status.success() {
        let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        bail!("it failed ({status}): {}{}\ncommand: {line}", stdout.trim(), stderr.trim());
    }
    String::from_utf8(stdout).with_context(|| format!("what it printed is not UTF-8\ncommand: {line}"))
}
