//! What the compiler says to an author who got something wrong.
//!
//! Each example in `tests/mistakes` lists, below its first line, the errors that it must have, all of them, and what
//! else must be said. Messages are compared one by one, since the rest of the compiler's text changes from version to
//! version.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::ARTIFACTS;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/mistakes");

/// What is said about each example: `error: ..`, `note: ..`, `help: ..` or `label: ..`. What is said twice in the same
/// words is shown once, as cargo does on a terminal.
fn said() -> BTreeMap<String, Vec<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["check", "--locked", "--examples", "--keep-going", "--message-format=json"]);
    command.arg("--manifest-path").arg(Path::new(DIRECTORY).join("Cargo.toml"));
    command.arg("--target-dir").arg(ARTIFACTS.directory().join("mistakes"));
    let output = command.output().unwrap();
    let mut said = BTreeMap::<String, Vec<String>>::new();
    let mut shown = HashSet::new();
    for message in String::from_utf8(output.stdout).unwrap().lines() {
        let message: Value = serde_json::from_str(message).unwrap();
        let about = message["target"]["name"].as_str().unwrap_or_default();
        match message["reason"].as_str() {
            Some("compiler-artifact") => drop(said.entry(about.to_owned()).or_default()),
            Some("compiler-message") if shown.insert(message["message"]["rendered"].to_string()) => {
                add(said.entry(about.to_owned()).or_default(), &message["message"]);
            }
            _ => {}
        }
    }
    assert!(said.contains_key("correct"), "{}", String::from_utf8_lossy(&output.stderr));
    said
}

fn add(said: &mut Vec<String>, message: &Value) {
    let (level, text) = (message["level"].as_str().unwrap(), message["message"].as_str().unwrap());
    // How many there were, and where to read more, is said in messages without a place.
    let is_summary = level == "error" && message["spans"].as_array().unwrap().is_empty();
    if !is_summary {
        said.push(format!("{level}: {text}"));
    }
    let labels = message["spans"].as_array().into_iter().flatten().filter_map(|span| span["label"].as_str());
    said.extend(labels.map(|label| format!("label: {label}")));
    message["children"].as_array().into_iter().flatten().for_each(|child| add(said, child));
}

fn examples() -> Vec<PathBuf> {
    let entries = Path::new(DIRECTORY).join("examples").read_dir().unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn an_author_is_told_what_to_do() {
    let said = said();
    let mut wrong = Vec::new();
    for path in examples() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<&str> =
            text.lines().skip(1).map_while(|line| line.strip_prefix("//")).map(str::trim).collect();
        let said = &said[name];
        let errors = |lines: &[&str]| lines.iter().filter(|line| line.starts_with("error: ")).count();
        let all: Vec<&str> = said.iter().map(String::as_str).collect();
        let missing = expected.iter().any(|line| !line.is_empty() && !all.contains(line));
        if missing || errors(&all) != errors(&expected) {
            wrong.push(format!("{name}: expected {expected:#?}, was told {said:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
