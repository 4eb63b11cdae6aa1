//! The plugin `word-count`, on every kind of host.

use std::fs;

use serde_json::json;
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
