//! What the stack shows and takes while a resolve runs, and what those find that came after it.

use serde_json::{Value, json};
use toolhost_core::ResolveStatus;
use toolhost_loader::ResolveRequest;

use crate::support::{
    Pipe, apply, discard, fail, failed, labels, resolve, said, session, stage, stage_one, store, text, top,
};

#[tokio::test(flavor = "multi_thread")]
async fn during_an_apply_the_next_action_is_on_top() {
    let (session, gate) = (session().await, Pipe::new());
    let waits = json!([{"wait": gate.path(), "end": {"result": {"content": [{"type": "text", "text": "done"}]}}}]);
    let ids = stage(&session, json!([{"label": "next"}, {"label": "running", "apply": waits}])).await;
    let resolving = session.resolve(ResolveRequest::apply("go"));
    let held = gate.reached().await;
    assert_eq!(top(&session).id(), ids[0]);
    assert_eq!(labels(&session), ["next"]);
    assert_eq!(store(&session).pop().unwrap().id(), ids[0]);
    assert!(!store(&session).has_pending());
    assert!(store(&session).peek().is_none());
    drop(held);
    assert_eq!(resolving.await.status, ResolveStatus::Applied);
    assert!(!store(&session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_failed_apply_its_action_is_back_on_top_with_one_attempt() {
    let (session, gate) = (session().await, Pipe::new());
    let waits = json!([{"wait": gate.path(), "end": {"fail": {"message": "no"}}}]);
    let ids = stage(&session, json!([{"label": "next"}, {"label": "running", "apply": waits}])).await;
    let before = top(&session);
    assert_eq!((before.id(), before.attempts()), (ids[1].as_str(), 0));
    let resolving = session.resolve(ResolveRequest::apply("go"));
    let held = gate.reached().await;
    assert_eq!(top(&session).id(), ids[0]);
    drop(held);
    assert_eq!(resolving.await.status, ResolveStatus::ApplyFailed { code: None });
    let after = top(&session);
    assert_eq!((after.id(), after.attempts()), (ids[1].as_str(), 1));
    assert_eq!(labels(&session), ["running", "next"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_pushed_during_a_failed_apply_lies_above_its_action() {
    let (session, gate) = (session().await, Pipe::new());
    let waits = json!([{"wait": gate.path(), "push": "by the apply", "end": {"fail": {"message": "no"}}}]);
    stage(&session, json!([{"label": "below"}, {"label": "running", "apply": waits}])).await;
    let resolving = session.resolve(ResolveRequest::apply("go"));
    let held = gate.reached().await;
    stage_one(&session, json!({"label": "meanwhile"})).await;
    assert_eq!(labels(&session), ["meanwhile", "below"]);
    drop(held);
    resolving.await;
    assert_eq!(labels(&session), ["by the apply", "meanwhile", "running", "below"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_or_a_reject_may_stage_what_follows() {
    let session = session().await;
    stage(
        &session,
        json!([{"label": "a", "reject": {"push": "after a"}}, {"label": "b", "apply": [{"push": "after b"}]}]),
    )
    .await;
    assert_eq!(apply(&session, "").await["content"][0]["text"], "Applied: b.");
    assert_eq!(labels(&session), ["after b", "a"]);
    assert_eq!(apply(&session, "").await["content"][0]["text"], "followed");
    discard(&session, "").await;
    assert_eq!(labels(&session), ["after a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn resolves_run_one_after_the_other_in_order_of_arrival() {
    let session = session().await;
    let gates: Vec<Pipe> = (0..3).map(|_| Pipe::new()).collect();
    let waits = |at: usize| json!([{"wait": gates[at].path()}]);
    let actions = (0..3).map(|at| json!({"label": at.to_string(), "apply": waits(at)})).collect::<Vec<_>>();
    let ids = stage(&session, json!(actions)).await;
    let order = [1, 2, 0];
    let resolving = order.map(|at| session.resolve(ResolveRequest::apply("").with_id(&ids[at])));
    assert!(!store(&session).has_pending());
    for (arrived, at) in order.into_iter().enumerate() {
        let held = gates[at].reached().await;
        assert!(order[arrived + 1..].iter().all(|&later| !gates[later].is_reached()));
        drop(held);
    }
    for resolving in resolving {
        assert_eq!(resolving.await.status, ResolveStatus::Applied);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_is_being_resolved_is_not_resolved_twice() {
    let (session, gate) = (session().await, Pipe::new());
    let id = stage_one(&session, json!({"label": "a", "apply": [{"wait": gate.path()}]})).await;
    let resolving = session.resolve(ResolveRequest::apply(""));
    let held = gate.reached().await;
    for action in ["apply", "discard"] {
        let result = resolve(&session, json!({"action": action, "reason": "r", "id": id})).await;
        let text = format!("Pending action {id} is being resolved right now.");
        assert_eq!(result, failed(&text, json!({"action": action, "reason": "r"})));
    }
    let nothing = "No pending action to resolve. Nothing to apply or discard.";
    assert_eq!(apply(&session, "r").await, failed(nothing, json!({"action": "apply", "reason": "r"})));
    drop(held);
    assert_eq!(resolving.await.status, ResolveStatus::Applied);
}

fn details(action: &str, reason: &str, source: &str, label: &str, id: &str) -> Value {
    json!({"action": action, "reason": reason, "sourceToolName": source, "label": label, "id": id})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolve_behind_a_failed_apply_does_not_run() {
    let (session, gate) = (session().await, Pipe::new());
    let fails = json!([{"wait": gate.path(), "end": {"fail": {"message": "no"}}}]);
    let actions =
        json!([{"label": "a"}, {"label": "b", "source": "stage"}, {"label": "c", "apply": fails, "source": "stage"}]);
    let ids = stage(&session, actions).await;
    let first = session.call("resolve", json!({"action": "apply", "reason": "r"}));
    let second = session.call("resolve", json!({"action": "discard", "reason": "why"}));
    let third = session.call("resolve", json!({"action": "apply", "reason": "r"}));
    assert!(!store(&session).has_pending());
    drop(gate.reached().await);

    let value = |result| serde_json::to_value(result).unwrap();
    let expected = failed("Apply failed: no", details("apply", "r", "stage", "c", &ids[2]));
    assert_eq!(value(first.await.unwrap()), expected);
    let held = |label: &str, source: &str| {
        format!(
            "Not resolved: {label} ({source}), since the resolve of c (stage) before it failed. It is pending again, \
             at its place."
        )
    };
    let expected = failed(&held("b", "stage"), details("discard", "why", "stage", "b", &ids[1]));
    assert_eq!(value(second.await.unwrap()), expected);
    let expected = failed(&held("a", "custom_tool"), details("apply", "r", "custom_tool", "a", &ids[0]));
    assert_eq!(value(third.await.unwrap()), expected);
    assert_eq!(labels(&session), ["c", "b", "a"]);
    assert_eq!(store(&session).list().iter().map(|pending| pending.attempts()).collect::<Vec<_>>(), [1, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolve_behind_a_failed_reject_does_not_run_either() {
    let (session, gate) = (session().await, Pipe::new());
    let fails = json!({"wait": gate.path(), "end": {"fail": {"message": "no"}}});
    stage(&session, json!([{"label": "a"}, {"label": "b", "reject": fails}])).await;
    let first = session.resolve(ResolveRequest::discard(""));
    let second = session.resolve(ResolveRequest::apply(""));
    drop(gate.reached().await);
    assert_eq!(first.await.status, ResolveStatus::CleanupFailed);
    assert_eq!(second.await.status, ResolveStatus::Held);
    assert_eq!(labels(&session), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_goes_on_when_its_caller_goes_away() {
    let (session, gate) = (session().await, Pipe::new());
    let actions = json!([{"label": "a"}, {"label": "b", "apply": [{"wait": gate.path(), "push": "done"}]}]);
    let ids = stage(&session, actions).await;
    let caller = tokio::spawn(session.call("resolve", json!({"action": "apply", "reason": ""})));
    let held = gate.reached().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    drop(held);
    // Its turn comes once the other is done.
    let behind = session.resolve(ResolveRequest::apply("").with_id(&ids[0])).await;
    assert_eq!(behind.status, ResolveStatus::Applied);
    assert_eq!(labels(&session), ["done"]);
    let result = resolve(&session, json!({"action": "apply", "reason": "", "id": ids[1]})).await;
    assert_eq!(result["content"][0]["text"], format!("Pending action {} was already applied.", ids[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_recorded_also_when_its_caller_is_gone() {
    let (session, gate) = (session().await, Pipe::new());
    let fails = json!([{"wait": gate.path(), "end": {"panic": "late"}}, text("second try")]);
    let ids = stage(&session, json!([{"label": "a"}, {"label": "b", "apply": fails}])).await;
    drop(session.resolve(ResolveRequest::apply("")));
    let behind = session.resolve(ResolveRequest::apply("").with_id(&ids[0]));
    drop(gate.reached().await);
    assert_eq!(behind.await.status, ResolveStatus::Held);
    assert_eq!((top(&session).id(), top(&session).attempts()), (ids[1].as_str(), 1));
    let details = json!({"action": "apply", "reason": "", "sourceToolName": "custom_tool", "label": "b", "id": ids[1]});
    assert_eq!(apply(&session, "").await, said("second try", details));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_program_pops_is_gone_without_a_callback() {
    let session = session().await;
    stage_one(&session, json!({"label": "a", "apply": [fail("ran")], "reject": fail("ran")})).await;
    assert_eq!(store(&session).pop().unwrap().label(), "a");
    assert!(store(&session).pop().is_none());
    session.end(toolhost_loader::EndReason::Shutdown).await;
}
