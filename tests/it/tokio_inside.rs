//! tokio inside of plugins, which have their own copy of it, on every kind of host.

use serde_json::json;
use tokio::runtime::Builder;
use toolhost_loader::{EndReason, ResolveRequest, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{block_on, host_of, open, session, stage_one};

async fn uses_tokio() {
    let directory = tempfile::tempdir().unwrap();
    let session = session().await;
    let result = session.call("tokio", json!({"file": directory.path().join("file")})).await.unwrap();
    assert_eq!(result.to_text(), "by tokio and a blocking thread");
    stage_one(&session, json!({"label": "a"})).await;
    assert_eq!(session.resolve(ResolveRequest::apply("")).await.result.to_text(), "Applied: a.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_uses_tokio_on_a_host_with_several_threads() {
    uses_tokio().await;
}

#[tokio::test]
async fn a_tool_uses_tokio_on_a_host_with_one_thread() {
    uses_tokio().await;
}

#[test]
fn a_call_runs_on_any_executor() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let session = runtime.block_on(session());
    let directory = tempfile::tempdir().unwrap();
    let mut call = session.call("tokio", json!({"file": directory.path().join("file")}));
    let result = std::thread::spawn(move || block_on(&mut call)).join().unwrap().unwrap();
    assert_eq!(result.to_text(), "by tokio and a blocking thread");
    assert_eq!(block_on(&mut Box::pin(session.end(EndReason::Shutdown))).discarded.len(), 0);
}

#[test]
fn a_plugin_outlives_the_runtime_of_the_host_that_loaded_it() {
    for _ in 0..3 {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let host = host_of(&[Fixture::Stage]).await;
            let session = open(&host, SessionOptions::new("test")).await;
            let directory = tempfile::tempdir().unwrap();
            let result = session.call("tokio", json!({"file": directory.path().join("file")})).await.unwrap();
            assert_eq!(result.to_text(), "by tokio and a blocking thread");
        });
    }
}
