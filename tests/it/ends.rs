//! The end of a session, and what may not happen after it.

use std::time::Duration;

use serde_json::json;
use toolhost_core::{Limits, ResolveStatus};
use toolhost_loader::{CallError, EndReason, ResolveRequest, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{
    Pipe, apply, failed, host_of, labels, open, poll_once, resolve, said, session, stage, stage_one, store, text,
};

const SESSION_ENDED: &str = "refused: the session has ended, so nothing can be staged in it any more";
const CALL_CANCELLED: &str = "refused: the tool call was cancelled, so nothing can be staged for it any more";

#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_nothing_can_be_staged() {
    let host = host_of(&[Fixture::Stage, Fixture::Second]).await;
    let session = open(&host, SessionOptions::new("test").without_store()).await;
    let text = "Pending action store unavailable for custom tools in this runtime.";
    let expected = json!({"content": [{"type": "text", "text": text}], "isError": true});
    for (tool, parameters) in [("stage", json!({"actions": [{"label": "a"}]})), ("second", json!({"label": "a"}))] {
        let result = session.call(tool, parameters).await.unwrap();
        assert_eq!(serde_json::to_value(result).unwrap(), expected);
    }
    assert!(session.pending().is_none());
    let nothing = "No pending action to resolve. Nothing to apply or discard.";
    assert_eq!(apply(&session, "r").await, failed(nothing, json!({"action": "apply", "reason": "r"})));
    assert!(session.end(EndReason::Shutdown).await.discarded.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_discards_last_first_and_gives_its_reason() {
    for (reason, text_of_it) in [
        (EndReason::Shutdown, "the session ended"),
        (EndReason::Interrupted, "the session was interrupted"),
        (EndReason::Undecided, "the session ended without a decision"),
    ] {
        let session = session().await;
        let rejects = |label: &str| json!({"label": label, "reject": text(&format!("dropped {label}: {{reason}}"))});
        stage(&session, json!([rejects("a"), {"label": "b"}, rejects("c")])).await;
        let report = session.end(reason).await;
        let results: Vec<String> = report.discarded.iter().map(|resolution| resolution.result.to_text()).collect();
        let expected = [
            format!("dropped c: {text_of_it}"),
            format!("Discarded: b. Reason: {text_of_it}"),
            format!("dropped a: {text_of_it}"),
        ];
        assert_eq!(results, expected);
        assert!(report.not_cleaned_up.is_empty() && report.unknown.is_none());
        assert!(!store(&session).has_pending());
        assert!(session.end(reason).await.discarded.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_clean_up_does_not_stop_the_end() {
    let session = session().await;
    let panics = json!({"end": {"panic": "no"}});
    stage(&session, json!([{"label": "a"}, {"label": "b", "reject": panics}, {"label": "c", "reject": panics}])).await;
    let report = session.end(EndReason::Shutdown).await;
    let statuses: Vec<ResolveStatus> = report.discarded.into_iter().map(|resolution| resolution.status).collect();
    assert_eq!(statuses, [ResolveStatus::CleanupFailed, ResolveStatus::CleanupFailed, ResolveStatus::Discarded]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_waits_for_a_running_apply() {
    let (session, gate) = (session().await, Pipe::new());
    let waits = json!([{"wait": gate.path(), "end": {"result": {"content": [{"type": "text", "text": "done"}]}}}]);
    stage(&session, json!([{"label": "a"}, {"label": "b", "apply": waits}])).await;
    let resolving = session.resolve(ResolveRequest::apply(""));
    let held = gate.reached().await;
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.end(EndReason::Shutdown).await }
    });
    drop(held);
    assert_eq!(resolving.await.result.to_text(), "done");
    let report = ending.await.unwrap();
    assert!(report.unknown.is_none());
    assert_eq!(report.discarded.len(), 1);
    assert_eq!(report.discarded[0].pending.as_ref().unwrap().label(), "a");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_that_outlives_the_end_is_reported_as_unknown() {
    let host = host_of(&[Fixture::Stage]).await;
    let mut limits = Limits::default();
    limits.end = Duration::ZERO;
    let session = open(&host, SessionOptions::new("test").limits(limits)).await;
    let gate = Pipe::new();
    let ids = stage(&session, json!([{"label": "a"}, {"label": "b", "apply": [{"wait": gate.path()}]}])).await;
    let resolving = session.resolve(ResolveRequest::apply(""));
    let held = gate.reached().await;
    let report = session.end(EndReason::Shutdown).await;
    assert_eq!(report.unknown.unwrap().id(), ids[1]);
    assert_eq!(report.not_cleaned_up.iter().map(|pending| pending.id()).collect::<Vec<_>>(), [ids[0].as_str()]);
    let result = resolve(&session, json!({"action": "apply", "reason": "", "id": ids[1]})).await;
    let text = format!("Pending action {} was being applied when its session ended, with an unknown outcome.", ids[1]);
    assert_eq!(result["content"][0]["text"], text);
    drop(held);
    assert_eq!(resolving.await.status, ResolveStatus::Applied);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_session_discards_too() {
    let (session, told) = (session().await, Pipe::new());
    stage_one(&session, json!({"label": "a", "reject": {"tell": told.path()}})).await;
    let store = store(&session).clone();
    drop(session);
    assert_eq!(told.told().await, "the session was dropped");
    assert!(!store.has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_end_no_tool_runs_and_nothing_is_pending() {
    let session = session().await;
    let id = stage_one(&session, json!({"label": "a"})).await;
    session.end(EndReason::Shutdown).await;
    let error = session.call("echo", json!({"text": "x"})).await.unwrap_err();
    assert_eq!(error, CallError::SessionEnded { session: "test".to_owned() });
    assert_eq!(error.to_string(), "the session `test` has ended");
    let result = resolve(&session, json!({"action": "apply", "reason": "", "id": id})).await;
    assert_eq!(result["content"][0]["text"], format!("Pending action {id} was already discarded."));
}

/// What a task that the tool left behind sees once `between` has happened.
async fn late(
    act: &str,
    wait: bool,
    between: impl AsyncFnOnce(&toolhost_loader::Session, toolhost_core::Call),
) -> String {
    let (session, gate, answer) = (session().await, Pipe::new(), Pipe::new());
    let parameters = json!({"gate": gate.path(), "answer": answer.path(), "act": act, "wait": wait});
    let mut call = session.call("spawned", parameters);
    if wait {
        assert!(poll_once(&mut call).is_pending());
    }
    between(&session, call).await;
    drop(gate.reached().await);
    let seen = answer.told().await;
    match seen.strip_prefix("pushed: ") {
        Some(id) => {
            assert_eq!(store(&session).peek().unwrap().id(), id);
            format!("pushed {}", labels(&session).join(", "))
        }
        None => {
            assert!(!store(&session).has_pending());
            seen
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_may_stage_after_its_call() {
    let ended = async |_: &_, call: toolhost_core::Call| assert_eq!(call.await.unwrap().to_text(), "spawned");
    assert_eq!(late("pushByCall", false, ended).await, "pushed from a task, by its call");
    assert_eq!(late("pushByApi", false, ended).await, "pushed from a task");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_after_the_end_is_refused() {
    let ended = async |session: &toolhost_loader::Session, call: toolhost_core::Call| {
        call.await.unwrap();
        session.end(EndReason::Shutdown).await;
    };
    assert_eq!(late("pushByCall", false, ended).await, SESSION_ENDED);
    assert_eq!(late("pushByApi", false, ended).await, SESSION_ENDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_for_a_cancelled_call_is_refused() {
    let asked = async |_: &_, call: toolhost_core::Call| {
        call.cancellation().cancel();
        assert_eq!(call.await.unwrap().to_text(), "spawned");
    };
    let dropped = async |_: &_, call: toolhost_core::Call| drop(call);
    assert_eq!(late("pushByCall", true, asked).await, CALL_CANCELLED);
    assert_eq!(late("pushByCall", true, dropped).await, CALL_CANCELLED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_cancelled_cannot_stage_on_its_way_out() {
    let (session, started) = (session().await, Pipe::new());
    let call = session.call("waits", json!({"started": started.path(), "then": "push"}));
    let cancellation = call.cancellation();
    let call = tokio::spawn(call);
    started.told().await;
    cancellation.cancel();
    let result = call.await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(&result).unwrap(), json!({"content": [{"type": "text", "text": CALL_CANCELLED}]}));
    assert!(!store(&session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_asks_running_calls_to_stop() {
    let (session, started) = (session().await, Pipe::new());
    let call = tokio::spawn(session.call("waits", json!({"started": started.path(), "then": "push"})));
    started.told().await;
    session.end(EndReason::Shutdown).await;
    assert_eq!(call.await.unwrap().unwrap().to_text(), SESSION_ENDED);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_an_ended_session_reaches_the_next() {
    let host = host_of(&[Fixture::Stage]).await;
    let first = open(&host, SessionOptions::new("first")).await;
    stage_one(&first, json!({"label": "a"})).await;
    first.end(EndReason::Shutdown).await;
    let second = open(&host, SessionOptions::new("second")).await;
    assert!(!store(&second).has_pending());
    let id = stage_one(&second, json!({"label": "b"})).await;
    let details = json!({"action": "apply", "reason": "", "sourceToolName": "custom_tool", "label": "b", "id": id});
    assert_eq!(apply(&second, "").await, said("Applied: b.", details));
}
