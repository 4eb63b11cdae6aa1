//! What a session's journal tells: of a life that ended well, and of a host that was killed.

use std::env;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
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
    plugin: PathBuf,
    journal: PathBuf,
    gate: PathBuf,
}

impl HostToKill {
    /// Starts this test once more, as that host.
    fn start(&self, test: &str) -> Process {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", test]).env(HOST_TO_KILL, serde_json::to_string(self).unwrap());
        Process(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Applies one action, begins to apply the next, and never gets any further.
    async fn run(self) {
        let session = open(&host([self.plugin]).await, SessionOptions::new("killed").journal(self.journal)).await;
        let waits = json!([{"wait": self.gate}]);
        let actions = json!([
            {"label": "below"},
            {"label": "interrupted", "source": "stage", "details": changes(), "apply": waits},
            {"label": "done"},
        ]);
        stage(&session, actions).await;
        apply(&session, "first").await;
        apply(&session, "second").await;
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

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_applied_when_its_host_was_killed_is_reported_once() {
    if let Ok(task) = env::var(HOST_TO_KILL) {
        let task: HostToKill = serde_json::from_str(&task).unwrap();
        return task.run().await;
    }
    let (directory, gate) = (tempfile::tempdir().unwrap(), Pipe::new());
    let journal = directory.path();
    let task = HostToKill { plugin: plugin(Fixture::Stage), journal: journal.to_owned(), gate: gate.path().into() };
    let host = task.start("journal::what_was_being_applied_when_its_host_was_killed_is_reported_once");
    let held = gate.reached().await;

    // As long as the host lives there is nothing to recover.
    assert!(read_all(journal).unwrap()[0].live);
    assert_eq!(recover(journal).unwrap(), []);
    host.kill();
    drop(held);
    assert!(!read_all(journal).unwrap()[0].live);
    let before = actions(journal);
    let found = recover(journal).unwrap();
    let began_at = before[1].at;
    let expected = json!([{
        "session": "killed",
        "id": before[1].id,
        "label": "interrupted",
        "sourceToolName": "stage",
        "details": changes(),
        "reason": "second",
        "beganAt": began_at,
    }]);
    assert_eq!(serde_json::to_value(found).unwrap(), expected);
    assert_eq!(recover(journal).unwrap(), []);

    let fate = |label: &str, fate: Fate, reason: Option<&str>| (label.to_owned(), fate, reason.map(str::to_owned));
    let (below, done) = (fate("below", Fate::Pending, None), fate("done", Fate::Applied, Some("first")));
    assert_eq!(fates(journal), [below, fate("interrupted", Fate::Unknown, Some("second")), done]);
}
