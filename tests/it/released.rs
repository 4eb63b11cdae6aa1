//! Plugins of releases in today's host, from a repository with tags that is made of the files of today.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use toolhost_tests::{Artifact, Fixture};
use xtask::released::Releases;

use crate::support::ARTIFACTS;

/// What a plugin is built from.
const FILES: [&str; 4] = ["Cargo.toml", "plugin-sdk", "protocol", "tests/fixtures"];

/// A repository with these files, and what has no place in it.
struct Repository {
    directory: TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { directory: tempfile::tempdir().unwrap() };
        let workspace = xtask::workspace_manifest();
        for name in FILES {
            copy(&workspace.with_file_name(name), &repository.path(name));
        }
        repository.git(&["init", "--quiet"]);
        repository
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn replace(&self, name: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(old), "{old}");
        fs::write(self.path(name), text.replace(old, new)).unwrap();
    }

    /// Tags the files as they are. The commit of equal files is the same in every run, so that they are built once.
    fn release(&self, tag: &str) {
        self.git(&["add", "--all"]);
        self.git(&["-c", "commit.gpgsign=false", "commit", "--quiet", "--message", "all"]);
        self.git(&["-c", "tag.gpgsign=false", "tag", tag]);
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.directory.path()).args(args);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "nobody").env(format!("GIT_{who}_EMAIL"), "nobody@localhost");
            command.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        assert!(command.status().unwrap().success(), "{args:?}");
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    // A person may have built there.
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.file_name() != "target") {
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

#[test]
fn every_release_is_built_from_its_tag_and_called_and_each_that_no_longer_works_is_named() {
    let repository = Repository::new();
    let lasting = format!("tests/fixtures/{}/src/lib.rs", Fixture::Lasting.name());
    repository.release("v0.0.1");
    // Not tagged, so that nobody looks at it.
    repository.replace(&lasting, "CustomTool", "NoSuchTrait");
    assert_eq!(checked(&repository), (String::new(), works("v0.0.1")));

    repository.replace(&lasting, "NoSuchTrait", "CustomTool");
    // A function in the midst of the host's table, in the same version of the interface.
    repository.replace("plugin-sdk/abi/src/objects/host.rs", "    fn log(", "    fn clock(&self) -> u64;\n    fn log(");
    repository.release("v0.0.2");
    repository.replace("tests/fixtures/Cargo.toml", "    \"lasting\",\n", "");
    repository.release("v0.0.3");
    repository.git(&["-c", "tag.gpgsign=false", "tag", "v0.0.10", "v0.0.1"]);
    let (error, printed) = checked(&repository);
    assert_eq!(printed, works("v0.0.1") + &works("v0.0.10"));
    let lines: Vec<&str> = error.lines().filter(|line| !line.starts_with("command: ")).collect();
    let [heading, other_layout, no_plugin] = lines[..] else { panic!("{error}") };
    let expected = "what was built for a release no longer works in today's host; a host takes every plugin of its \
                    interface's major version (docs/abi.md)";
    assert_eq!(heading, expected);
    assert!(other_layout.starts_with("v0.0.2: ") && other_layout.contains(r#""code":"TH0602""#), "{error}");
    assert!(no_plugin.starts_with("v0.0.3: there is no package `lasting` in the workspace "), "{error}");
}

fn works(tag: &str) -> String {
    format!("{tag}: its plugin builds, loads, stages, applies and discards\n")
}

/// The error, if there is one, and what was printed.
fn checked(repository: &Repository) -> (String, String) {
    let releases = Releases::new(repository.directory.path(), &ARTIFACTS.directory().join("released-sdks"));
    // What the fixtures depend on is built there.
    let releases = releases.target_dir(ARTIFACTS.directory().join("fixtures"));
    let mut out = Vec::new();
    let checked = releases.check(&mut out, || Ok(ARTIFACTS.path(Artifact::Toolhost)));
    (checked.map_or_else(|error| error.to_string(), |()| String::new()), String::from_utf8(out).unwrap())
}
