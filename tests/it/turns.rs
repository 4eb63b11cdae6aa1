//! The calls of a model's turn: at once, bounded, and stopped softly before they are left behind.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolhost_core::{CallRequest, Cancellation, EventKind, Limits, RunOptions, Turn, TurnEvent};
use toolhost_loader::{CallError, Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{Pipe, bounded, host_of, labels, next_event, open, session_of, store};

/// More than a call takes here that is asked to stop, and than one that is not.
const LONG: Duration = Duration::from_secs(600);
/// A deadline that passes, but not before the call has begun.
const ENOUGH: Duration = Duration::from_millis(500);

/// A session whose calls are left behind as soon as they do not stop when they are asked to.
async fn impatient_session() -> Session {
    let limits = Limits::default().with_grace(Duration::from_millis(1));
    open(&host_of(&[Fixture::Stage, Fixture::Life]).await, SessionOptions::new("test").limits(limits)).await
}

/// A session whose calls have all the time that they want once they are asked to stop.
async fn patient_session() -> Session {
    let limits = Limits::default().with_grace(LONG);
    open(&host_of(&[Fixture::Stage, Fixture::Life]).await, SessionOptions::new("test").limits(limits)).await
}

fn run(session: &Session, calls: &[(&str, &str, Value)], options: RunOptions) -> Turn {
    let calls = calls.iter().map(|(id, name, parameters)| CallRequest::new(*id, *name, parameters.clone()));
    session.tools().run(calls.collect(), options)
}

/// What each call streamed, and then its one outcome.
type Seen = BTreeMap<String, (Vec<String>, Option<Result<String, CallError>>)>;

/// All that comes of a turn. Nothing may come of a call once it is done.
async fn all(mut turn: Turn) -> Seen {
    let mut seen = Seen::new();
    while let Some(event) = bounded(turn.next()).await {
        match event {
            TurnEvent::Update { call_id, update } => {
                let (updates, outcome) = seen.entry(call_id).or_default();
                assert_eq!(*outcome, None);
                updates.push(update.to_text());
            }
            TurnEvent::Done { call_id, outcome } => {
                let (_, done) = seen.entry(call_id).or_default();
                assert_eq!(*done, None);
                *done = Some(outcome.map(|result| result.to_text()));
            }
            other => panic!("{other:?}"),
        }
    }
    seen
}

/// The outcomes of a turn that streams nothing.
async fn outcomes(turn: Turn) -> Vec<(String, Result<String, CallError>)> {
    let outcome = |(id, (updates, outcome)): (String, (Vec<String>, _))| {
        assert_eq!(updates, Vec::<String>::new());
        (id, Option::unwrap(outcome))
    };
    all(turn).await.into_iter().map(outcome).collect()
}

fn ended(id: &str, text: &str) -> (String, Result<String, CallError>) {
    (id.to_owned(), Ok(text.to_owned()))
}

fn failed(id: &str, error: CallError) -> (String, Result<String, CallError>) {
    (id.to_owned(), Err(error))
}

fn cancelled(tool: &str) -> CallError {
    CallError::Cancelled { tool: tool.to_owned() }
}

fn resolve() -> Value {
    json!({"action": "apply", "reason": "r"})
}

/// Parameters of a call that waits until it is asked to stop.
fn waits(started: &Pipe, dropped: &Path, then: &str) -> Value {
    json!({"started": started.path(), "dropped": dropped, "then": then})
}

/// Ends when every call that was left behind has ended.
async fn none_is_left_behind(session: &Session) {
    bounded(async {
        while session.abandoned_calls() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_calls_of_a_turn_run_at_once_with_their_updates_in_order_and_one_outcome_each() {
    const UPDATES: usize = 50;
    let (session, one, two) = (patient_session().await, Pipe::new(), Pipe::new());
    let gated = |gate: &Pipe| json!({"gate": gate.path(), "updates": UPDATES});
    let calls = [
        ("1", "gated", gated(&one)),
        ("2", "gated", gated(&two)),
        ("3", "updates", json!({"count": UPDATES})),
        ("4", "updates", json!({"count": "three"})),
        ("5", "gate", json!({})),
        ("6", "waits", json!({"started": "/", "then": "return"})),
        ("7", "echo", json!({"text": "x"})),
    ];
    let turn = run(&session, &calls, RunOptions::default().deadline(LONG));
    let held = (one.reached().await, two.reached().await);
    drop(held);

    let mut seen = all(turn).await;
    let numbers = |before: &str| (0..UPDATES).map(|number| format!("{before}{number}")).collect::<Vec<_>>();
    let passed = ([numbers("before "), numbers("behind ")].concat(), Some(Ok("passed".to_owned())));
    assert_eq!(seen.remove("1"), Some(passed.clone()));
    assert_eq!(seen.remove("2"), Some(passed));
    assert_eq!(seen.remove("3"), Some((numbers(""), Some(Ok("all".to_owned())))));
    let mut text = |id: &str| match seen.remove(id).unwrap() {
        (updates, Some(outcome)) if updates.is_empty() => outcome.unwrap_or_else(|error| error.to_string()),
        other => panic!("{other:?}"),
    };
    let invalid = "invalid parameters for tool `updates`:\n- /count: \"three\" is not of type \"integer\"\nreceived: \
                   {\"count\":\"three\"}";
    assert_eq!(text("4"), invalid);
    assert_eq!(text("5"), "no tool is named `gate`; did you mean `gated`?");
    assert_eq!(text("6"), "Is a directory (os error 21)");
    assert_eq!(text("7"), r#"{"text":"x","digit":null}"#);
    assert_eq!(seen, Seen::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_stops_when_its_time_is_over_is_not_left_behind() {
    let (session, started, directory) = (patient_session().await, Pipe::new(), tempfile::tempdir().unwrap());
    let (limit, dropped) = (Duration::from_millis(20), directory.path().join("dropped"));
    let calls = [("1", "waits", waits(&started, &dropped, "return"))];
    let turn = run(&session, &calls, RunOptions::default().deadline(limit));
    started.told().await;
    let deadline = CallError::Deadline { tool: "waits".to_owned(), limit };
    assert_eq!(deadline.to_string(), "the call of `waits` did not end within 0.02 s and was cancelled");
    assert_eq!(outcomes(turn).await, [failed("1", deadline)]);
    assert!(dropped.exists());
    assert_eq!(session.abandoned_calls(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_stays_when_its_time_is_over_is_left_behind_and_dropped() {
    let (session, started, directory) = (impatient_session().await, Pipe::new(), tempfile::tempdir().unwrap());
    let dropped = directory.path().join("dropped");
    let calls = [("1", "waits", waits(&started, &dropped, "stay"))];
    let turn = run(&session, &calls, RunOptions::default().deadline(ENOUGH));
    started.told().await;
    let deadline = CallError::Deadline { tool: "waits".to_owned(), limit: ENOUGH };
    assert_eq!(outcomes(turn).await, [failed("1", deadline)]);
    none_is_left_behind(&session).await;
    assert!(dropped.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cancelled_ends_every_call_and_nothing_is_staged_late() {
    let session = patient_session().await;
    let (directory, cancel) = (tempfile::tempdir().unwrap(), Cancellation::new());
    let started = [Pipe::new(), Pipe::new(), Pipe::new()];
    let dropped = ["1", "2", "3"].map(|id| directory.path().join(id));
    let calls = [("1", "return"), ("2", "fail"), ("3", "push")];
    let calls: Vec<_> =
        (0..3).map(|at| (calls[at].0, "waits", waits(&started[at], &dropped[at], calls[at].1))).collect();
    let turn = run(&session, &calls, RunOptions::default().cancel(cancel.clone()));
    for started in &started {
        started.told().await;
    }
    assert!(dropped.iter().all(|dropped| !dropped.exists()));
    cancel.cancel();
    assert_eq!(outcomes(turn).await, ["1", "2", "3"].map(|id| failed(id, cancelled("waits"))));
    assert!(dropped.iter().all(|dropped| dropped.exists()));
    assert_eq!((session.abandoned_calls(), store(&session).has_pending()), (0, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_stays_when_its_turn_is_cancelled_is_left_behind_and_dropped() {
    let (session, started, directory) = (impatient_session().await, Pipe::new(), tempfile::tempdir().unwrap());
    let (cancel, dropped) = (Cancellation::new(), directory.path().join("dropped"));
    let calls = [("1", "waits", waits(&started, &dropped, "stay"))];
    let turn = run(&session, &calls, RunOptions::default().cancel(cancel.clone()));
    started.told().await;
    cancel.cancel();
    assert_eq!(outcomes(turn).await, [failed("1", cancelled("waits"))]);
    none_is_left_behind(&session).await;
    assert!(dropped.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_dropped_stops_its_calls() {
    let (session, started, directory) = (patient_session().await, Pipe::new(), tempfile::tempdir().unwrap());
    let dropped = directory.path().join("dropped");
    let mut events = session.events();
    let turn = run(&session, &[("1", "waits", waits(&started, &dropped, "return"))], RunOptions::default());
    started.told().await;
    drop(turn);
    while !matches!(next_event(&mut events).await.kind, EventKind::ToolEnd { is_error: false, .. }) {}
    assert!(dropped.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_blocks_is_reported_and_later_calls_of_the_tool_hold_nobody_up() {
    let (session, gate) = (patient_session().await, Pipe::new());
    let mut events = session.events();
    let blocks = |gate: &Pipe| json!({"gate": gate.path()});
    let turn = run(&session, &[("1", "blocks", blocks(&gate))], RunOptions::default());
    let held = gate.reached().await;
    let EventKind::ToolStart { call: started, .. } = next_event(&mut events).await.kind else {
        panic!("another event")
    };
    match next_event(&mut events).await.kind {
        EventKind::SlowPoll { call, tool, duration_ms } => {
            assert_eq!((call, tool.as_str()), (started, "blocks"));
            assert!(duration_ms >= 100);
        }
        other => panic!("{other:?}"),
    }
    drop(held);
    assert_eq!(outcomes(turn).await, [ended("1", "let go")]);

    // More of them than there are threads: what else is to run has to find one.
    let gates = [Pipe::new(), Pipe::new(), Pipe::new()];
    let calls: Vec<_> = ["1", "2", "3"].iter().zip(&gates).map(|(id, gate)| (*id, "blocks", blocks(gate))).collect();
    let turn = run(&session, &calls, RunOptions::default());
    let mut held = Vec::new();
    for gate in &gates {
        held.push(gate.reached().await);
    }
    let others = run(&session, &[("1", "echo", json!({"text": "x"}))], RunOptions::default());
    assert_eq!(outcomes(others).await, [ended("1", r#"{"text":"x","digit":null}"#)]);
    drop(held);
    assert_eq!(outcomes(turn).await, ["1", "2", "3"].map(|id| ended(id, "let go")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_blocks_beyond_its_deadline_is_left_behind_and_the_session_goes_on() {
    let (session, gate) = (impatient_session().await, Pipe::new());
    let turn = run(&session, &[("1", "blocks", json!({"gate": gate.path()}))], RunOptions::default().deadline(ENOUGH));
    let held = gate.reached().await;
    let deadline = CallError::Deadline { tool: "blocks".to_owned(), limit: ENOUGH };
    assert_eq!(outcomes(turn).await, [failed("1", deadline)]);
    assert_eq!(session.abandoned_calls(), 1);
    let others = run(&session, &[("1", "echo", json!({"text": "x"}))], RunOptions::default());
    assert_eq!(outcomes(others).await, [ended("1", r#"{"text":"x","digit":null}"#)]);
    drop(held);
    none_is_left_behind(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolve_in_the_turn_of_its_preview_is_refused_and_one_in_the_next_turn_is_not() {
    let session = session_of(&[Fixture::Stage]).await;
    let staged = json!({"actions": [{"label": "Erase", "source": "stage"}]});
    let turn = run(&session, &[("0", "resolve", resolve()), ("1", "stage", staged)], RunOptions::default());
    let refused = "Not resolved: Erase (stage) was staged in this very turn, and nobody has read its preview yet. Read \
                   it, then call resolve in your next turn.";
    assert_eq!(outcomes(turn).await, [ended("0", refused), ended("1", "staged")]);
    assert_eq!(labels(&session), ["Erase"]);
    let next = run(&session, &[("2", "resolve", resolve())], RunOptions::default());
    assert_eq!(outcomes(next).await, [ended("2", "Applied: Erase.")]);
    assert!(!store(&session).has_pending());
}

#[tokio::test]
async fn the_resolves_of_a_turn_take_the_stack_in_the_order_of_the_calls() {
    let session = session_of(&[Fixture::Stage]).await;
    let actions = json!({"actions": [{"label": "a"}, {"label": "b"}, {"label": "c"}]});
    assert_eq!(
        outcomes(run(&session, &[("0", "stage", actions)], RunOptions::default())).await,
        [ended("0", "staged")]
    );
    let calls = ["1", "2", "3"].map(|id| (id, "resolve", resolve()));
    let expected = [ended("1", "Applied: c."), ended("2", "Applied: b."), ended("3", "Applied: a.")];
    assert_eq!(outcomes(run(&session, &calls, RunOptions::default())).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_another_does_not_begin_once_it_is_cancelled() {
    let (session, cancel) = (patient_session().await, Cancellation::new());
    let mut events = session.events();
    let (gate, answer) = (Pipe::new(), Pipe::new());
    let parameters = json!({"gate": gate.path(), "answer": answer.path(), "act": "update", "wait": true});
    let calls = ["1", "2", "3"].map(|id| (id, "spawned", parameters.clone()));
    let turn = run(&session, &calls, RunOptions::default().cancel(cancel.clone()));
    assert!(matches!(next_event(&mut events).await.kind, EventKind::ToolStart { .. }));
    cancel.cancel();
    assert_eq!(outcomes(turn).await, ["1", "2", "3"].map(|id| failed(id, cancelled("spawned"))));
    assert!(matches!(next_event(&mut events).await.kind, EventKind::ToolEnd { .. }));
    let staged = run(&session, &[("4", "stage", json!({"actions": [{"label": "a"}]}))], RunOptions::default());
    assert_eq!(outcomes(staged).await, [ended("4", "staged")]);
    match next_event(&mut events).await.kind {
        EventKind::ToolStart { tool, .. } => assert_eq!(tool, "stage"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolve_whose_turn_is_cancelled_before_it_comes_applies_nothing() {
    let (session, started, directory) = (patient_session().await, Pipe::new(), tempfile::tempdir().unwrap());
    let (cancel, dropped) = (Cancellation::new(), directory.path().join("dropped"));
    let staged = run(&session, &[("0", "stage", json!({"actions": [{"label": "a"}]}))], RunOptions::default());
    assert_eq!(outcomes(staged).await, [ended("0", "staged")]);
    let calls = [("1", "waits", waits(&started, &dropped, "return")), ("2", "resolve", resolve())];
    let turn = run(&session, &calls, RunOptions::default().cancel(cancel.clone()));
    started.told().await;
    cancel.cancel();
    assert_eq!(outcomes(turn).await, [failed("1", cancelled("waits")), failed("2", cancelled("resolve"))]);
    assert_eq!(labels(&session), ["a"]);
}
