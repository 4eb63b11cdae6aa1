//! The plugin `repo-stats`, on hosts that run programs, and on one that does not.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::service::{ExecRequest, ExecResult};
use toolhost_core::{
    BoxFuture, CallRequest, Caller, Cancellation, Failure, HostServices, LocalExec, RunOptions, TurnEvent,
};
use toolhost_loader::{AgentToolResult, CallError, Session, SessionOptions};
use toolhost_tests::Artifact;

use crate::support::{Pipe, bounded, session_with};

/// Runs every program.
struct Runs(LocalExec);

impl HostServices for Runs {
    fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        self.0.run(caller, request)
    }
}

/// Runs a shell's script instead of any program.
struct RunsScript(String);

impl HostServices for RunsScript {
    fn exec(&self, caller: Caller, mut request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        request.command = "sh".into();
        request.args = vec!["-c".into(), self.0.as_str().into()];
        LocalExec::new().run(caller, request)
    }
}

/// A repository with one commit.
fn repository() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    git(directory.path(), &["init", "--quiet"]);
    std::fs::write(directory.path().join("Zürich.txt"), "").unwrap();
    git(directory.path(), &["add", "."]);
    git(directory.path(), &["-c", "commit.gpgSign=false", "commit", "--quiet", "--message=x"]);
    directory
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(["-c", "user.name=Ann", "-c", "user.email=ann@x"]).args(arguments);
    let ran = git.status().expect("this case needs git");
    assert!(ran.success(), "{git:?}");
}

async fn session(directory: &Path, services: impl HostServices) -> Session {
    session_with(Artifact::RepoStats, SessionOptions::new("test").cwd(directory).services(services)).await
}

async fn call(session: &Session, parameters: Value) -> AgentToolResult {
    bounded(session.call("repo_stats", parameters)).await.unwrap()
}

async fn counts() {
    let directory = repository();
    let session = session(directory.path(), Runs(LocalExec::new())).await;
    let text = "1 commit by 1 author, 1 file changed\n\nAuthors, by commits:\n1 Ann <ann@x>\n\nFiles, by commits that \
                changed them:\n1 Zürich.txt";
    assert_eq!(call(&session, json!({})).await.to_text(), text);
    assert_eq!(call(&session, json!({"until": "2000-01-01"})).await.to_text(), "No commits until 2000-01-01.");
}

#[tokio::test]
async fn counts_on_a_host_with_one_thread() {
    counts().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_on_a_host_with_several_threads() {
    counts().await;
}

#[tokio::test]
async fn a_host_that_runs_no_programs_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let session = session_with(Artifact::RepoStats, SessionOptions::new("test").cwd(directory.path())).await;
    let result = call(&session, json!({})).await;
    let text = "repo_stats asks git: this host runs no programs for plugins, so `git` was not run for `repo-stats`";
    assert_eq!((result.to_text().as_str(), result.is_error), (text, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_its_git() {
    let (directory, begun, open) = (tempfile::tempdir().unwrap(), Pipe::new(), Pipe::new());
    // The second pipe is open as long as the program runs.
    let script = format!("exec 3>'{}'; echo begun >'{}'; exec sleep 1000", open.path(), begun.path());
    let session = session(directory.path(), RunsScript(script)).await;
    let ended = tokio::spawn(async move { open.told().await });
    let cancel = Cancellation::new();
    let calls = vec![CallRequest::new("1", "repo_stats", json!({}))];
    let mut turn = session.tools().run(calls, RunOptions::default().cancel(cancel.clone()));
    assert_eq!(begun.told().await, "begun\n");
    cancel.cancel();
    match bounded(turn.next()).await {
        Some(TurnEvent::Done { outcome, .. }) => {
            assert_eq!(outcome, Err(CallError::Cancelled { tool: "repo_stats".to_owned() }));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ended.await.unwrap(), "");
}
