//! The plugin `word-count`, on every kind of host.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use toolhost_loader::SessionOptions;
use toolhost_tests::Artifact;

use crate::support::{bounded, said, session_with};

async fn counts() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("notes.txt"), "Zürich, im Mai\num drei").unwrap();
    let session = session_with(Artifact::WordCount, SessionOptions::new("test").cwd(directory.path())).await;
    let details = json!({"lines": 2, "words": 5, "characters": 22});
    let result = bounded(session.call("word_count", json!({"path": "notes.txt"}))).await.unwrap();
    assert_eq!(serde_json::to_value(result).unwrap(), said("2 lines, 5 words, 22 characters", details));
    let absent = bounded(session.call("word_count", json!({"path": "absent.txt"}))).await.unwrap();
    let looked = directory.path().join("absent.txt");
    assert_eq!(absent.to_text(), format!("absent.txt: not found; it was looked for at {}", looked.display()));
    assert!(absent.is_error);
}

#[tokio::test]
async fn counts_on_a_host_with_one_thread() {
    counts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_on_a_host_with_several_threads() {
    counts().await;
}

/// Whoever copies the plugin changes the paths of its manifest, and nothing else.
#[test]
fn its_manifest_needs_no_workspace() {
    let copy = tempfile::tempdir().unwrap();
    let checkout = concat!("\"", env!("CARGO_MANIFEST_DIR"), "/../");
    let manifest = include_str!("../../plugins/word-count/Cargo.toml").replace("\"../../", checkout);
    fs::write(copy.path().join("Cargo.toml"), manifest).unwrap();
    fs::create_dir(copy.path().join("src")).unwrap();
    fs::write(copy.path().join("src/lib.rs"), "").unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(copy.path());
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let package = &metadata["packages"][0];
    let needs: Vec<_> = package["dependencies"].as_array().unwrap().iter().map(|needed| &needed["name"]).collect();
    assert_eq!((&package["edition"], &package["targets"][0]["kind"]), (&json!("2024"), &json!(["cdylib"])));
    assert_eq!(needs, ["serde", "tokio", "toolhost-plugin-sdk", "tokio", "toolhost-plugin-testkit"]);
}
