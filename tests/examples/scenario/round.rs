//! One round: load, open a session, call, stream, stage, apply, fail, discard, end.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::{ResolveStatus, Session};
use toolhost_loader::{EndReason, Host, LoadError, ResolveRequest, SessionOptions};

/// What all rounds share.
pub(crate) struct Round {
    plugin: PathBuf,
    directory: TempDir,
}

impl Round {
    pub(crate) fn new(plugin: PathBuf) -> Self {
        Self { plugin, directory: tempfile::tempdir().unwrap() }
    }

    async fn host(&self) -> Host {
        let cache = self.directory.path().join("cache");
        Host::builder().cache_dir(cache).plugin(&self.plugin).build().await.unwrap()
    }

    /// Loads, and returns what was wrong.
    pub(crate) async fn load_errors(&self) -> Vec<LoadError> {
        self.host().await.load_errors().to_vec()
    }

    pub(crate) async fn run(&self) {
        let host = self.host().await;
        assert!(host.load_errors().is_empty(), "{:?}", host.load_errors());
        let opened = host.session(SessionOptions::new("scenario").cwd(self.directory.path())).await;
        assert!(opened.errors.is_empty(), "{:?}", opened.errors);
        let session = opened.session;
        self.calls(&session).await;
        resolves(&session).await;
        let report = session.end(EndReason::Shutdown).await;
        let discarded: Vec<_> = report.discarded.iter().map(|resolution| resolution.result.to_text()).collect();
        assert_eq!(discarded, ["Discarded: left. Reason: the session ended"]);
    }

    async fn calls(&self, session: &Session) {
        // More than any allocator keeps ready in small blocks.
        let text = "Zürich \u{1F5FB} \0".repeat(1000);
        let echoed = called(session, "echo", json!({"text": text})).await;
        assert_eq!(serde_json::from_str::<Value>(&echoed).unwrap(), json!({"text": text, "digit": null}));

        let mut call = session.call("updates", json!({"count": 3}));
        let mut updates = Vec::new();
        while let Some(update) = call.next_update().await {
            updates.push(update.to_text());
        }
        assert_eq!(updates, ["0", "1", "2"]);
        assert_eq!(call.await.unwrap().to_text(), "all");

        let file = self.directory.path().join("file");
        assert_eq!(called(session, "tokio", json!({"file": file})).await, "by tokio and a blocking thread");
    }
}

async fn called(session: &Session, tool: &str, parameters: Value) -> String {
    let result = session.call(tool, parameters).await.unwrap();
    assert!(!result.is_error, "{tool}: {result:?}");
    result.to_text()
}

/// Stages four actions and resolves three.
async fn resolves(session: &Session) {
    let text = |text: &str| json!({"end": {"result": {"content": [{"type": "text", "text": text}]}}});
    let actions = json!([
        {"label": "left"},
        {"label": "unwanted", "reject": text("cleaned up: {reason}")},
        {"label": "broken", "apply": [{"end": {"panic": "on purpose"}}]},
        {"label": "good", "apply": [text("applied: {reason}")], "details": {"n": [1, 2.5, null]}},
    ]);
    assert_eq!(called(session, "stage", json!({"actions": actions})).await, "staged");
    let applied = ResolveStatus::Applied;
    assert_eq!(resolved(session, ResolveRequest::apply("yes")).await, (applied, "applied: yes".to_owned()));
    let (status, text) = resolved(session, ResolveRequest::apply("yes")).await;
    assert_eq!(status, ResolveStatus::ApplyFailed { code: Some("panic".to_owned()) });
    // The place of the panic is between these two.
    assert!(text.starts_with("Apply failed: plugin `") && text.ends_with(": on purpose"), "{text}");
    let text = "Discarded: broken. Reason: no".to_owned();
    assert_eq!(resolved(session, ResolveRequest::discard("no")).await, (ResolveStatus::Discarded, text));
    let text = "cleaned up: no".to_owned();
    assert_eq!(resolved(session, ResolveRequest::discard("no")).await, (ResolveStatus::Discarded, text));
}

async fn resolved(session: &Session, request: ResolveRequest) -> (ResolveStatus, String) {
    let resolution = session.resolve(request).await;
    (resolution.status, resolution.result.to_text())
}
