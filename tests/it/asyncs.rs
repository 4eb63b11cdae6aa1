//! tokio inside of a plugin, on every kind of host, and what a plugin that does not use it costs.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use toolhost_core::SessionStep;
use toolhost_loader::{BuildError, Host, ResolveRequest, Session, SessionOptions};
use toolhost_tests::{Artifact, Fixture};

use crate::support::{ARTIFACTS, bounded, host, host_of, in_process_of_its_own, open, texts};

/// What each use of tokio comes to.
fn everything() -> Value {
    json!({
        "time": {"slept": true, "late": true},
        "fs": {"read": "written", "gone": true},
        "process": {"stdout": "through a pipe", "code": 0, "failed": 1},
        "net": {"tcp": "PING", "unix": "pair"},
        "tasks": {"sum": 1225, "elsewhere": true, "panicked": true},
        "select": {"seen": [1, 2, 3], "end": "done"},
    })
}

/// In the factory, in a call, at a step, in an apply and in a reject.
async fn works_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    let options = SessionOptions::new("in the factory").cwd(directory.path());
    let session = open(&host_of(&[Fixture::Asyncs]).await, options).await;
    let call = async || bounded(session.call("asyncs", json!({}))).await.unwrap().details.unwrap();

    let mut details = call().await;
    details.as_object_mut().unwrap().remove("pending");
    assert_eq!(details, json!({"made": everything(), "heard": null, "called": everything()}));
    bounded(session.step(SessionStep::Compaction)).await;
    assert_eq!(call().await["heard"], everything());

    for (request, text) in [(ResolveRequest::apply(""), "applied"), (ResolveRequest::discard(""), "rejected")] {
        let result = bounded(session.resolve(request)).await.result;
        assert_eq!(result.to_text(), text);
        assert_eq!(result.details.unwrap()["sourceResultDetails"], everything());
    }
}

fn on(runtime: &mut Builder) -> Runtime {
    runtime.build().unwrap()
}

#[test]
fn a_host_with_one_thread() {
    on(Builder::new_current_thread().enable_all()).block_on(works_everywhere());
}

#[test]
fn a_host_with_several_threads() {
    on(Builder::new_multi_thread().worker_threads(3).enable_all()).block_on(works_everywhere());
}

#[test]
fn a_host_without_an_io_driver() {
    on(Builder::new_current_thread().enable_time()).block_on(works_everywhere());
    on(Builder::new_multi_thread().worker_threads(1).enable_time()).block_on(works_everywhere());
}

#[test]
fn a_host_without_a_time_driver_is_refused_with_what_to_do() {
    let error = on(&mut Builder::new_current_thread()).block_on(Host::builder().build()).unwrap_err();
    assert_eq!(error, BuildError::NoTimer);
    let text = "the tokio runtime has no time driver; build it with `enable_time` or `enable_all`";
    assert_eq!(error.to_string(), text);
}

/// How many threads and descriptors this process has.
fn cost() -> [usize; 2] {
    ["/proc/self/task", "/proc/self/fd"].map(|directory| fs::read_dir(directory).unwrap().count())
}

const PLUGINS: usize = 200;

/// A session with all of the plugins, on a runtime that is gone with its threads.
fn idle(directory: &Path) -> Session {
    // Without an IO driver, which the session would keep open beyond the runtime.
    let runtime = on(Builder::new_current_thread().enable_time());
    runtime.block_on(async {
        let host = host([directory]).await;
        assert_eq!(texts(host.load_errors()), Vec::<String>::new());
        let session = open(&host, SessionOptions::new("all")).await;
        assert_eq!(session.tools().len(), PLUGINS);
        session.step(SessionStep::Compaction).await;
        session
    })
}

#[test]
fn idle_plugins_cost_no_threads_and_no_descriptors() {
    // Built before the time of the case begins to run.
    let _built = ARTIFACTS.path(Artifact::Released(Fixture::Empty));
    in_process_of_its_own("asyncs::idle_plugins_cost_no_threads_and_no_descriptors", async {
        let directory = tempfile::tempdir().unwrap();
        let original = ARTIFACTS.path(Artifact::Released(Fixture::Empty));
        toolhost_tests::write_many(&original, directory.path(), PLUGINS);
        let before = cost();
        let path = directory.path().to_owned();
        let session = std::thread::spawn(move || idle(&path)).join().unwrap();
        assert_eq!(cost(), before);

        // One that is used costs its worker.
        session.call("e0007", json!({})).await.unwrap();
        let used = cost();
        assert_eq!(used[0], before[0] + 1);
        session.call("e0007", json!({})).await.unwrap();
        assert_eq!(cost(), used);
    });
}
