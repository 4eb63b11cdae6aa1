//! Hosts in processes of their own, which are told to load damaged files.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tokio::runtime::Builder;
use toolhost_loader::{Host, inspect};

use super::damage::Damaged;

/// How many files lie on the disk at a time.
const BATCH: usize = 32;
/// Names the directory with the files to the process that is a host, and where it writes what became of them.
const DIRECTORY: &str = "TOOLHOST_TEST_HOSTILE";
const REPORT: &str = "report";

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was refused by this code from its bytes, by the inspection and by a host alike.
    Refused(String),
    /// The host opened it, or tried to, and refused it by this code.
    Failed(String),
    Loaded,
    /// The host ended by this signal, or by this exit code.
    Died(String),
}

/// What becomes of these files. Those that the inspection refuses are loaded by one host, each other one by its own.
pub(super) fn outcomes(files: impl Iterator<Item = Damaged>) -> Vec<(String, Outcome)> {
    let mut outcomes = Vec::new();
    let mut files = files.peekable();
    while files.peek().is_some() {
        let batch: Vec<Damaged> = files.by_ref().take(BATCH).collect();
        outcomes.extend(outcomes_of_batch(&batch));
    }
    outcomes
}

fn outcomes_of_batch(batch: &[Damaged]) -> Vec<(String, Outcome)> {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    fs::create_dir(place("refused")).unwrap();
    let mut expected = HashMap::new();
    let mut opened = Vec::new();
    for file in batch {
        let path = place("refused").join(format!("{}.so", file.name));
        fs::write(&path, &file.bytes).unwrap();
        match inspect(&path).error {
            Some(error) => {
                expected.insert(file.name.clone(), error.code().to_owned());
            }
            None => {
                let own = place(&file.name);
                fs::create_dir(&own).unwrap();
                fs::rename(&path, own.join(format!("{}.so", file.name))).unwrap();
                opened.push(file.name.clone());
            }
        }
    }
    if !expected.is_empty() {
        let (status, found) = load(&place("refused"));
        assert!(status.success(), "{status}");
        assert_eq!(found, expected);
    }
    let refused = expected.into_iter().map(|(name, code)| (name, Outcome::Refused(code)));
    let opened = opened.into_iter().map(|name| {
        let outcome = outcome(&place(&name), &name);
        (name, outcome)
    });
    refused.chain(opened).collect()
}

fn outcome(directory: &Path, name: &str) -> Outcome {
    let (status, found) = load(directory);
    fs::remove_dir_all(directory).unwrap();
    match found.get(name).map(String::as_str) {
        _ if !status.success() => Outcome::Died(status.signal().map_or_else(|| status.to_string(), |n| n.to_string())),
        Some("loaded") => Outcome::Loaded,
        Some(code) => Outcome::Failed(code.to_owned()),
        None => panic!("{name} is not in the report"),
    }
}

/// Lets a process load what is in a directory. Returns how it ended, and what it says of each file.
fn load(directory: &Path) -> (ExitStatus, HashMap<String, String>) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "hostile::children::a_host", "--ignored"]).env(DIRECTORY, directory);
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    let report = fs::read_to_string(directory.join(REPORT)).unwrap_or_default();
    let line = |line: &str| line.split_once('\t').map(|(name, outcome)| (name.to_owned(), outcome.to_owned()));
    (status, report.lines().filter_map(line).collect())
}

#[test]
#[ignore = "a process of its own, which other cases start"]
fn a_host() {
    let directory = PathBuf::from(env::var_os(DIRECTORY).expect("the directory of the files"));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let builder = Host::builder().cache_dir(directory.join("cache")).plugin(&directory);
    let host = runtime.block_on(builder.build()).unwrap();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let loaded = host.plugins().map(|plugin| format!("{}\tloaded", name(&plugin.path)));
    let refused = host.load_errors().iter().map(|error| format!("{}\t{}", name(&error.path), error.code()));
    fs::write(directory.join(REPORT), loaded.chain(refused).collect::<Vec<_>>().join("\n")).unwrap();
}
