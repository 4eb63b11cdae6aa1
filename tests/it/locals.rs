//! Thread-locals of a plugin that have destructors: they run as their thread ends, whatever of the plugin is left then.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::mpsc;
use std::thread;

use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use toolhost_loader::{EndReason, Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{block_on, host_of, open};

/// A runtime with a session in a directory in which the plugin writes down what it drops.
struct Left {
    runtime: Runtime,
    session: Session,
    directory: TempDir,
}

impl Left {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let session = runtime.block_on(session(directory.path()));
        Self { runtime, session, directory }
    }

    fn lines(&self) -> Vec<String> {
        lines(self.directory.path())
    }
}

async fn session(directory: &Path) -> Session {
    fs::write(directory.join("left"), "").unwrap();
    open(&host_of(&[Fixture::Locals]).await, SessionOptions::new("test").cwd(directory)).await
}

fn lines(directory: &Path) -> Vec<String> {
    fs::read_to_string(directory.join("left")).unwrap().lines().map(str::to_owned).collect()
}

/// Leaves a value in this thread.
fn leave(session: &Session, label: &str) {
    let result = block_on(&mut session.call("leave", json!({"label": label}))).unwrap();
    assert_eq!(result.to_text(), "left");
}

#[test]
fn they_run_when_a_thread_of_the_host_ends_after_its_calls() {
    let left = Left::new();
    for round in 0..20 {
        let labels = [format!("{round} first"), format!("{round} second")];
        let (session, called) = (left.session.clone(), labels.clone());
        let before = left.lines();
        let during = thread::scope(|scope| {
            let calling = scope.spawn(|| {
                called.iter().for_each(|label| leave(&session, label));
                left.lines()
            });
            calling.join().unwrap()
        });
        assert_eq!(during, before, "nothing is dropped while the thread lives");
        assert_eq!(left.lines(), [&before[..], &labels].concat());
    }
}

#[test]
fn they_run_when_a_thread_of_the_host_ends_after_session_and_host_are_gone() {
    let Left { runtime, session, directory } = Left::new();
    let (has_left, left) = mpsc::channel();
    let (gone, is_gone) = mpsc::channel::<()>();
    let called = session.clone();
    let thread = thread::spawn(move || {
        leave(&called, "late");
        drop(called);
        has_left.send(()).unwrap();
        // Ends as the other side is dropped.
        let _ = is_gone.recv();
    });
    left.recv().unwrap();
    runtime.block_on(session.end(EndReason::Shutdown));
    drop(session);
    drop(runtime);
    // The runtime's thread on which the factory ran has ended by now.
    assert_eq!(lines(directory.path()), ["factory"]);
    drop(gone);
    thread.join().unwrap();
    assert_eq!(lines(directory.path()), ["factory", "late"]);
}

#[test]
fn they_run_when_the_threads_of_the_hosts_runtime_end() {
    let Left { runtime, session, directory } = Left::new();
    let called = session.clone();
    let call = runtime.spawn(async move { called.call("leave", json!({"label": "worker"})).await.unwrap().to_text() });
    assert_eq!(runtime.block_on(call).unwrap(), "left");
    assert_eq!(lines(directory.path()), Vec::<String>::new());
    drop(session);
    drop(runtime);
    let mut lines = lines(directory.path());
    lines.sort();
    assert_eq!(lines, ["factory", "worker"]);
}

/// Names the directory of the session to the process that the next case starts.
const DIRECTORY: &str = "TOOLHOST_TEST_LOCALS";

/// How that process ends; none that fails does.
const ENDED: i32 = 42;

#[test]
fn they_run_when_the_process_ends() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "locals::a_process_that_ends", "--ignored"]);
    let output = command.env(DIRECTORY, directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(ENDED), "{output:?}");
    // What the thread of the plugin's own runtime held went with the process.
    assert_eq!(lines(directory.path()), ["factory", "the process ends", "last"]);
}

#[test]
#[ignore = "a process of its own, which another case starts"]
fn a_process_that_ends() {
    let directory = PathBuf::from(env::var_os(DIRECTORY).expect("the directory of the session"));
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let session = runtime.block_on(session(&directory));
    leave(&session, "last");
    let inside = session.call("leave", json!({"label": "inside", "inside": true}));
    assert_eq!(runtime.block_on(inside).unwrap().to_text(), "left");
    drop(session);
    drop(runtime);
    let left = directory.join("left");
    fs::write(&left, fs::read_to_string(&left).unwrap() + "the process ends\n").unwrap();
    // The thread-locals of the thread that ends the process are dropped first.
    process::exit(ENDED);
}
