//! A session's life as its tools see it, what a staged change depends on, and what everybody sees of a change.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::{Actor, Limits, PersonDecides, ResolveStatus, SessionStep};
use toolhost_loader::{EndReason, ResolveRequest, Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{apply, bounded, fail, failed, host_of, labels, next_event, open, said, store, top};

/// A session whose log is kept in its directory.
struct Logged {
    directory: TempDir,
    session: Session,
}

impl Logged {
    async fn new(options: SessionOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("log"), "").unwrap();
        let session = open(&host_of(&[Fixture::Life]).await, options.cwd(directory.path())).await;
        Self { directory, session }
    }

    /// Stages an action for each of these, which are logged as they end.
    async fn stage(&self, labels: &[impl ToString]) {
        let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
        let result = self.session.call("log", json!({"labels": labels})).await.unwrap();
        assert_eq!(result.to_text(), "staged");
    }

    /// What was logged since the last time.
    fn log(&self) -> Vec<String> {
        let path = self.directory.path().join("log");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, "").unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_hear_of_each_step_once_what_was_pending_is_discarded_last_first() {
    let logged = Logged::new(SessionOptions::new("test")).await;
    assert_eq!(logged.log(), [r#"{"type":"start"}"#]);
    for (step, name, reason) in [
        (SessionStep::Switch, r#"{"type":"switch"}"#, "the session was switched"),
        (SessionStep::Branch, r#"{"type":"branch"}"#, "the session was branched"),
    ] {
        logged.stage(&["a", "b", "c"]).await;
        let discarded = logged.session.step(step).await;
        let seen = |label: &str| format!("Discarded: {label}. Reason: {reason}");
        assert!(discarded.iter().all(|resolution| resolution.status == ResolveStatus::Discarded));
        let texts: Vec<_> = discarded.iter().map(|resolution| resolution.result.to_text()).collect();
        assert_eq!(texts, ["c", "b", "a"].map(seen));
        let line = |label: &str| format!("discarded {label}: {reason}");
        assert_eq!(logged.log(), [line("c"), line("b"), line("a"), name.to_owned()]);
        assert!(!store(&logged.session).has_pending());
    }
    // The session goes on, with the same tools.
    logged.stage(&["d"]).await;
    assert_eq!(apply(&logged.session, "go").await["content"][0]["text"], "Applied: d.");
    assert_eq!(logged.log(), ["applied d: go"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_steps_leave_alone_what_is_pending() {
    let logged = Logged::new(SessionOptions::new("test")).await;
    logged.stage(&["a", "b"]).await;
    for step in [SessionStep::Tree, SessionStep::Compaction, SessionStep::Retry { attempt: 2 }] {
        assert_eq!(logged.session.step(step).await.len(), 0);
    }
    let steps = ["start", "tree", "compaction"].map(|step| format!(r#"{{"type":"{step}"}}"#));
    assert_eq!(logged.log(), [&steps[..], &[r#"{"type":"retry","attempt":2}"#.to_owned()]].concat());
    assert_eq!(labels(&logged.session), ["b", "a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_is_the_last_step_and_comes_once() {
    let logged = Logged::new(SessionOptions::new("test")).await;
    logged.stage(&["a", "b"]).await;
    assert_eq!(logged.session.end(EndReason::Interrupted).await.discarded.len(), 2);
    assert_eq!(logged.session.end(EndReason::Shutdown).await.discarded.len(), 0);
    let reason = "the session was interrupted";
    let expected = [
        r#"{"type":"start"}"#.to_owned(),
        format!("discarded b: {reason}"),
        format!("discarded a: {reason}"),
        r#"{"type":"shutdown"}"#.to_owned(),
    ];
    assert_eq!(logged.log(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_takes_a_step_badly_is_told_of_the_next_and_stops_nobody() {
    for id in ["fails", "panics", "hangs"] {
        let limits = Limits::default().with_step(Duration::from_millis(20));
        let logged = Logged::new(SessionOptions::new(id).limits(limits)).await;
        logged.stage(&["a"]).await;
        assert_eq!(bounded(logged.session.step(SessionStep::Switch)).await.len(), 1);
        assert_eq!(logged.session.call("uneasy", json!({})).await.unwrap().to_text(), "well");
        bounded(logged.session.end(EndReason::Shutdown)).await;
        let (start, switch) = (r#"{"type":"start"}"#, r#"{"type":"switch"}"#);
        let discarded = "discarded a: the session was switched";
        assert_eq!(logged.log(), [start, discarded, switch, r#"{"type":"shutdown"}"#]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_where_a_file_is_not_what_it_was_at_the_preview() {
    type Change = fn(&std::path::Path);
    let cases: [(Option<&str>, Change, &str); 4] = [
        (Some("old"), |file| fs::write(file, "other").unwrap(), "has other content"),
        (Some("old"), |file| fs::remove_file(file).unwrap(), "is gone"),
        (None, |file| fs::write(file, "mine").unwrap(), "exists now"),
        (None, |file| std::os::unix::fs::symlink("nowhere", file).unwrap(), "exists now"),
    ];
    for (before, change, difference) in cases {
        let logged = Logged::new(SessionOptions::new("test")).await;
        // As the host names it: by the session's own directory.
        let file = logged.directory.path().join("file");
        if let Some(before) = before {
            fs::write(&file, before).unwrap();
        }
        logged.session.call("edit", json!({"file": "file", "text": "new"})).await.unwrap();
        let id = top(&logged.session).id().to_owned();
        change(&file);
        let (link, content) = (fs::read_link(&file).ok(), fs::read_to_string(&file).ok());

        let resolution = logged.session.resolve(ResolveRequest::apply("go")).await;
        assert_eq!(resolution.status, ResolveStatus::ApplyFailed { code: Some("stale".to_owned()) });
        let text = format!(
            "Apply failed: something changed since the preview, so nothing was applied; discard it and preview \
             again:\n- {file:?} {difference}"
        );
        let details = json!({"action": "apply", "reason": "go", "sourceToolName": "edit", "label": "Edit", "id": id});
        assert_eq!(serde_json::to_value(resolution.result).unwrap(), failed(&text, details));
        assert_eq!((fs::read_link(&file).ok(), fs::read_to_string(&file).ok()), (link, content));
        assert_eq!((top(&logged.session).id(), top(&logged.session).attempts()), (id.as_str(), 1));

        let _ = fs::remove_file(&file);
        if let Some(before) = before {
            fs::write(&file, before).unwrap();
        }
        assert_eq!(apply(&logged.session, "go").await["content"][0]["text"], "edited");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_action_can_depend_on_is_not_staged() {
    let logged = Logged::new(SessionOptions::new("test")).await;
    let path = logged.directory.path().join("directory");
    fs::create_dir(&path).unwrap();
    let result = logged.session.call("edit", json!({"file": "directory", "text": "x"})).await.unwrap();
    assert!(result.is_error);
    assert_eq!(result.to_text(), format!("cannot depend on {path:?}: it is not a file"));
    assert!(!store(&logged.session).has_pending());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_that_resolve_one_stack_apply_each_action_once_and_in_its_order() {
    const TASKS: usize = 64;
    const ACTIONS: usize = 1000;
    let logged = Logged::new(SessionOptions::new("test")).await;
    logged.log();
    logged.stage(&(0..ACTIONS).collect::<Vec<_>>()).await;
    let tasks: Vec<_> = (0..TASKS).map(|task| tokio::spawn(drain(logged.session.clone(), task))).collect();
    let mut resolved_by = BTreeMap::new();
    for (task, running) in tasks.into_iter().enumerate() {
        let labels = running.await.unwrap();
        assert!(labels.is_sorted_by(|one, next| one > next), "{labels:?}");
        resolved_by.extend(labels.into_iter().map(|label| (label, task)));
    }
    let expected: Vec<_> =
        (0..ACTIONS).rev().map(|label| format!("applied {label}: {}", resolved_by[&label])).collect();
    assert_eq!(logged.log(), expected);
    assert_eq!(resolved_by.len(), ACTIONS);
}

/// Applies until nothing is pending any more. Returns the labels of what this task applied.
async fn drain(session: Session, task: usize) -> Vec<usize> {
    let mut labels = Vec::new();
    loop {
        let resolution = session.resolve(ResolveRequest::apply(task.to_string())).await;
        match (resolution.status, resolution.pending) {
            (ResolveStatus::Applied, Some(pending)) => labels.push(pending.label().parse().unwrap()),
            (ResolveStatus::NothingPending, None) => return labels,
            other => panic!("{other:?}"),
        }
    }
}

/// What has happened, without how long it took.
async fn happened(events: &mut toolhost_core::EventStream, count: usize) -> Vec<Value> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let mut event = serde_json::to_value(next_event(events).await).unwrap();
        if let Some(duration) = event.as_object_mut().unwrap().remove("durationMs") {
            assert!(duration.is_u64());
        }
        seen.push(event);
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_and_its_second_apply_are_seven_events() {
    let session = open(&host_of(&[Fixture::Stage]).await, SessionOptions::new("test")).await;
    let mut events = session.events();
    let actions = json!([{"label": "Erase", "source": "stage", "apply": [fail("no"), {}]}]);
    session.call("stage", json!({"actions": actions})).await.unwrap();
    let id = top(&session).id().to_owned();
    for reason in ["first", "second"] {
        apply(&session, reason).await;
    }
    let seen = happened(&mut events, 7).await;
    let (call, pending) = (&seen[0]["call"], json!({"id": id, "label": "Erase", "sourceToolName": "stage"}));
    let expected = [
        json!({"number": 1, "type": "toolStart", "call": call, "tool": "stage"}),
        json!({"number": 2, "type": "pushed", "pending": pending}),
        json!({"number": 3, "type": "toolEnd", "call": call, "tool": "stage", "isError": false}),
        json!({"number": 4, "type": "claimed", "pending": pending, "action": "apply", "reason": "first"}),
        json!({"number": 5, "type": "failed", "pending": pending, "reason": "first", "message": "no"}),
        json!({"number": 6, "type": "claimed", "pending": pending, "action": "apply", "reason": "second"}),
        json!({"number": 7, "type": "applied", "pending": pending, "reason": "second"}),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_says_who_decided_where_that_is_not_who_asked() {
    let logged = Logged::new(SessionOptions::new("test").approver(PersonDecides)).await;
    logged.stage(&["a"]).await;
    let id = top(&logged.session).id().to_owned();
    let details = json!({
        "action": "apply", "reason": "r", "sourceToolName": "log", "label": "a", "id": id, "resolvedBy": "human",
    });
    let refused = "A person has to decide on this change. Tell the user what is pending, and wait for their decision.";
    assert_eq!(apply(&logged.session, "r").await, failed(refused, details.clone()));
    assert_eq!(labels(&logged.session), ["a"]);
    let resolution = logged.session.resolve(ResolveRequest::apply("r").by(Actor::Human)).await;
    assert_eq!(serde_json::to_value(resolution.result).unwrap(), said("Applied: a.", details.clone()));

    let logged = Logged::new(SessionOptions::new("test")).await;
    logged.stage(&["a"]).await;
    let mut details = details;
    details["id"] = top(&logged.session).id().into();
    let resolution = logged.session.resolve(ResolveRequest::apply("r").by(Actor::Human)).await;
    assert_eq!(serde_json::to_value(resolution.result).unwrap(), said("Applied: a.", details));
}
