//! Plugins with other versions of serde_json and tokio than the host's, all in one process.

use std::fs;
use std::path::Path;

use serde_json::json;
use toolhost_loader::{EndReason, ResolveRequest, Session, SessionOptions};
use toolhost_tests::{Artifact, Fixture, Versions};

use crate::support::{ARTIFACTS, fail, host, labels, open, place, plugin, stage, text};

/// The versions of a package in the `Cargo.lock` of this directory.
fn locked(directory: &Path, package: &str) -> Vec<String> {
    let lock = fs::read_to_string(directory.join("Cargo.lock")).unwrap();
    let name = format!("name = {package:?}");
    let packages = lock.split("[[package]]").filter(|entry| entry.lines().any(|line| line == name));
    let version = |entry: &str| entry.lines().find_map(|line| line.strip_prefix("version = ").map(str::to_owned));
    packages.map(|entry| version(entry).unwrap()).collect()
}

#[test]
fn their_versions_are_not_the_hosts() {
    let ours = xtask::workspace_manifest();
    let directories = [ours.parent().unwrap().to_owned(), Versions::Oldest.directory(), Versions::Between.directory()];
    for package in ["serde_json", "tokio"] {
        let mut versions: Vec<_> = directories.iter().flat_map(|directory| locked(directory, package)).collect();
        assert_eq!(versions.len(), 3, "{package}: {versions:?}");
        versions.sort();
        versions.dedup();
        assert_eq!(versions.len(), 3, "{package}: {versions:?}");
    }
}

/// A session for each: with the oldest versions, with those between, with the host's.
async fn sessions() -> Vec<Session> {
    let others = [Versions::Oldest, Versions::Between].map(|versions| ARTIFACTS.path(Artifact::Versions(versions)));
    let mut sessions = Vec::new();
    for path in others.into_iter().chain([plugin(Fixture::Stage)]) {
        // All of them name their tools alike, so that each has a host of its own.
        let host = host([&path]).await;
        assert!(host.load_errors().is_empty(), "{:?}", host.load_errors());
        sessions.push(open(&host, SessionOptions::new("test")).await);
    }
    sessions
}

#[tokio::test(flavor = "multi_thread")]
async fn what_they_take_and_return_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for session in sessions().await {
        let text = "Zürich \u{1F5FB} \0 \"\\".repeat(1000);
        let echo = session.call("echo", json!({"text": text, "digit": 3.0})).await.unwrap();
        let echoed: serde_json::Value = serde_json::from_str(&echo.to_text()).unwrap();
        assert_eq!(echoed, json!({"text": text, "digit": 3}));
        let refused = session.call("updates", json!({"count": 4_294_967_296_u64})).await.unwrap_err().to_string();
        // What follows is serde_json's own text, which differs.
        assert!(refused.starts_with("invalid parameters for tool `updates`:\n"), "{refused}");

        let details = json!({"z": [0, -1, 1.5, 1e300, u64::MAX, null], "a": {"b": true}});
        let result = json!({"content": [], "details": details});
        let returned = session.call("stage", json!({"actions": [], "result": result})).await.unwrap();
        assert_eq!(returned.details, Some(details));
        let file = directory.path().join("file");
        let tokio = session.call("tokio", json!({"file": file})).await.unwrap();
        assert_eq!(tokio.to_text(), "by tokio and a blocking thread");
    }
}

async fn resolved(session: &Session, request: ResolveRequest) -> String {
    session.resolve(request).await.result.to_text()
}

#[tokio::test(flavor = "multi_thread")]
async fn their_previews_wait_and_end_beside_each_other() {
    let sessions = sessions().await;
    for session in &sessions {
        let broken = json!({"label": "broken", "apply": [{"end": {"panic": "on purpose"}}], "reject": fail("stuck")});
        let good = json!({"label": "good", "apply": [text("applied: {reason}")], "details": {"number": 2.5}});
        stage(session, json!([{"label": "left"}, broken, good])).await;
    }
    for session in &sessions {
        assert_eq!(resolved(session, ResolveRequest::apply("yes")).await, "applied: yes");
    }
    let place = place("stage/src/script.rs", "End::Panic(message) => panic!");
    for (session, plugin) in sessions.iter().zip(["oldest", "between", "stage"]) {
        let failed = resolved(session, ResolveRequest::apply("yes")).await;
        assert!(failed.starts_with(&format!("Apply failed: plugin `{plugin}` panicked at ")), "{failed}");
        assert!(failed.ends_with(&format!("{place}: on purpose")), "{failed}");
    }
    for session in &sessions {
        let discarded = resolved(session, ResolveRequest::discard("no")).await;
        assert_eq!(discarded, "Discarded: broken. Cleanup failed: stuck");
    }
    for session in &sessions {
        assert_eq!(labels(session), ["left"]);
        let report = session.end(EndReason::Shutdown).await;
        assert_eq!(report.discarded[0].result.to_text(), "Discarded: left. Reason: the session ended");
    }
}
