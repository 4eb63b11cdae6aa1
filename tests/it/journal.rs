//! What a session's journal tells: of a life that ended well, and of a host that was killed.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::ResolveAction;
use toolhost_core::journal::{Fate, JournalAction, read_all, recover};
use toolhost_loader::{EndReason, ResolveRequest, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{Pipe, apply, discard, fail, host, host_of, open, plugin, stage, stage_one, store};

/// What became of each action in a directory's only journal, and why, by the action's label.
fn fates(directory: &Path) -> Vec<(String, Fate, Option<String>)> {
    let fate = |action: JournalAction| (action.label, action.fate, action.reason);
    actions(directory).into_iter().map(fate).collect()
}

fn actions(directory: &Path) -> Vec<JournalAction> {
    let [journal] = read_all(directory).unwrap().try_into().unwrap();
    assert_eq!(journal.problems, []);
    journal.actions
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_tells_what_became_of_each_action() {
    let directory = tempfile::tempdir().unwrap();
    let options = SessionOptions::new("test").journal(directory.path());
    let session = open(&host_of(&[Fixture::Stage]).await, options).await;
    let failing = json!({"label": "failing", "apply": [fail("no")], "reject": fail("nor this")});
    let labels = ["left", "removed", "discarded", "applied"].map(|label| json!({"label": label}));
    stage(&session, json!([[failing].as_slice(), &labels].concat())).await;
    apply(&session, "right").await;
    discard(&session, "wrong").await;
    drop(store(&session).pop().unwrap());
    let failing = store(&session).list().pop().unwrap().id().to_owned();
    session.resolve(ResolveRequest::apply("try").with_id(failing)).await;
    let fate = |label: &str, fate: Fate, reason: Option<&str>| (label.to_owned(), fate, reason.map(str::to_owned));
    let applied = fate("applied", Fate::Applied, Some("right"));
    let discarded = fate("discarded", Fate::Discarded { cleanup_failure: None }, Some("wrong"));
    let removed = fate("removed", Fate::Removed, None);
    let tried = fate("failing", Fate::Failed { message: "no".to_owned() }, Some("try"));
    let ended = [removed, discarded, applied];
    let expected = [&[tried, fate("left", Fate::Pending, None)], &ended[..]].concat();
    assert_eq!(fates(directory.path()), expected);

    let reason = "the session was interrupted";
    session.end(EndReason::Interrupted).await;
    let cleanup_failure = Some("nor this".to_owned());
    let failing = fate("failing", Fate::Discarded { cleanup_failure }, Some(reason));
    let left = fate("left", Fate::Discarded { cleanup_failure: None }, Some(reason));
    assert_eq!(fates(directory.path()), [&[failing, left], &ended[..]].concat());
    drop(session);
    assert_eq!(recover(directory.path()).unwrap(), []);
}

/// Set for a process that this one starts, to what it is to do.
const HOST_TO_KILL: &str = "TOOLHOST_TESTS_HOST_TO_KILL";

#[derive(Serialize, Deserialize)]
struct HostToKill {
    action: ResolveAction,
    plugin: PathBuf,
    journal: PathBuf,
    gate: PathBuf,
    ready: PathBuf,
}

impl HostToKill {
    /// Starts this test once more, as that host.
    fn start(&self, test: &str) -> Process {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test]).env(HOST_TO_KILL, serde_json::to_string(self).unwrap());
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Brings an action to each step of a resolve, and never gets any further.
    async fn run(self) {
        let session = open(&host([self.plugin]).await, SessionOptions::new("killed").journal(self.journal)).await;
        let waits = json!({"wait": self.gate});
        let actions = json!([
            {"label": "below"},
            {"label": "behind"},
            {"label": "interrupted", "source": "stage", "details": changes(), "apply": [waits], "reject": waits},
            {"label": "failed", "apply": [fail("no")]},
            {"label": "dropped"},
            {"label": "done"},
        ]);
        let ids = stage(&session, actions).await;
        apply(&session, "first").await;
        discard(&session, "second").await;
        apply(&session, "third").await;
        let (reason, id) = ("fourth".to_owned(), &ids[2]);
        let request = match self.action {
            ResolveAction::Apply => ResolveRequest::apply(reason),
            ResolveAction::Discard => ResolveRequest::discard(reason),
        };
        let interrupted = session.resolve(request.with_id(id));
        let behind = session.resolve(ResolveRequest::apply("fifth").with_id(&ids[1]));
        std::fs::write(self.ready, "").unwrap();
        interrupted.await;
        behind.await;
        stage_one(&session, json!({"label": "never"})).await;
    }
}

fn changes() -> Value {
    json!({"changes": [{"path": "/a/new", "kind": "rename", "oldPath": "/a/old"}]})
}

/// A process that does not outlive the test, whatever becomes of that.
struct Process(Child);

impl Process {
    fn kill(mut self) {
        self.0.kill().unwrap();
        assert_eq!(self.0.wait().unwrap().signal(), Some(Signal::KILL.as_raw()));
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The directory of the journal of a host that was killed while an action's callback ran.
async fn killed(action: ResolveAction, test: &str) -> TempDir {
    let (directory, gate, ready) = (tempfile::tempdir().unwrap(), Pipe::new(), Pipe::new());
    let journal = directory.path();
    let task = HostToKill {
        action,
        plugin: plugin(Fixture::Stage),
        journal: journal.to_owned(),
        gate: gate.path().into(),
        ready: ready.path().into(),
    };
    let host = task.start(test);
    ready.told().await;
    let held = gate.reached().await;

    // As long as the host lives there is nothing to recover.
    assert!(read_all(journal).unwrap()[0].live);
    assert_eq!(recover(journal).unwrap(), []);
    host.kill();
    drop(held);
    assert!(!read_all(journal).unwrap()[0].live);
    directory
}

/// What the actions of [`HostToKill`] came to, with the fate of the interrupted one.
fn all_fates(interrupted: Fate) -> Vec<(String, Fate, Option<String>)> {
    let fate = |label: &str, fate: Fate, reason: Option<&str>| (label.to_owned(), fate, reason.map(str::to_owned));
    vec![
        fate("below", Fate::Pending, None),
        // A claim goes on record when its turn comes.
        fate("behind", Fate::Pending, None),
        fate("interrupted", interrupted, Some("fourth")),
        fate("failed", Fate::Failed { message: "no".to_owned() }, Some("third")),
        fate("dropped", Fate::Discarded { cleanup_failure: None }, Some("second")),
        fate("done", Fate::Applied, Some("first")),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_applied_when_its_host_was_killed_is_reported_once() {
    if let Ok(task) = env::var(HOST_TO_KILL) {
        let task: HostToKill = serde_json::from_str(&task).unwrap();
        return task.run().await;
    }
    let test = "journal::what_was_being_applied_when_its_host_was_killed_is_reported_once";
    let directory = killed(ResolveAction::Apply, test).await;
    let journal = directory.path();
    assert_eq!(fates(journal), all_fates(Fate::Applying));
    let interrupted = &actions(journal)[2];
    let expected = json!([{
        "session": "killed",
        "id": interrupted.id,
        "label": "interrupted",
        "sourceToolName": "stage",
        "details": changes(),
        "reason": "fourth",
        "beganAt": interrupted.at,
    }]);
    assert_eq!(serde_json::to_value(recover(journal).unwrap()).unwrap(), expected);
    assert_eq!(recover(journal).unwrap(), []);
    assert_eq!(fates(journal), all_fates(Fate::Unknown));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_discarded_when_its_host_was_killed_was_not_applied() {
    if let Ok(task) = env::var(HOST_TO_KILL) {
        let task: HostToKill = serde_json::from_str(&task).unwrap();
        return task.run().await;
    }
    let test = "journal::what_was_being_discarded_when_its_host_was_killed_was_not_applied";
    let directory = killed(ResolveAction::Discard, test).await;
    assert_eq!(recover(directory.path()).unwrap(), []);
    assert_eq!(fates(directory.path()), all_fates(Fate::Claimed { action: ResolveAction::Discard }));
}
