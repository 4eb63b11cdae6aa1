use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use toolhost_protocol::{AgentToolResult, EventKind, Failure, STALE};

use super::*;
use crate::journal::Fate;
use crate::{EndReason, Limits, NextEvent, PendingAction, PushError, Session, SessionOptions};

fn session() -> Session {
    Session::new(SessionOptions::new("test"), Handle::current())
}

/// Pushes an action whose apply and reject return these.
fn push(session: &Session, label: &str, returns: Result<AgentToolResult, Failure>) -> String {
    let (apply, reject) = (returns.clone(), returns.map(Some));
    let action = PendingAction::new(label, move |_| std::future::ready(apply.clone()))
        .on_reject(move |_| std::future::ready(reject.clone()))
        .source_tool_name("source");
    session.pending().unwrap().push(action).unwrap().id().to_owned()
}

fn text(resolution: &Resolution) -> (String, bool) {
    (resolution.result.to_text(), resolution.result.is_error)
}

fn details(action: &str, reason: &str, label: &str, id: &str) -> Value {
    json!({"action": action, "reason": reason, "sourceToolName": "source", "label": label, "id": id})
}

/// An apply that waits to be let go, and says when it has begun.
struct Gate {
    action: PendingAction,
    begun: oneshot::Receiver<()>,
    go: oneshot::Sender<Result<AgentToolResult, Failure>>,
}

fn gate(label: &str) -> Gate {
    let (begin, begun) = oneshot::channel();
    let (go, wait) = oneshot::channel();
    let once = Mutex::new(Some((begin, wait)));
    let action = PendingAction::new(label, move |_| {
        let once = once.lock().unwrap().take();
        async move {
            let (begin, wait) = once.ok_or_else(|| Failure::new("ran twice"))?;
            let _ = begin.send(());
            wait.await.unwrap_or_else(|_| Err(Failure::new("nobody let it go")))
        }
    });
    Gate { action, begun, go }
}

#[tokio::test]
async fn an_apply_returns_its_content_and_its_details_move_into_the_resolves() {
    let session = session();
    let id = push(&session, "Rename", Ok(AgentToolResult::text("done").with_details(json!({"n": 2}))));
    let resolution = session.resolve(ResolveRequest::apply("fine")).await;
    assert_eq!(resolution.status, ResolveStatus::Applied);
    assert_eq!(text(&resolution), ("done".into(), false));
    let mut expected = details("apply", "fine", "Rename", &id);
    expected["sourceResultDetails"] = json!({"n": 2});
    assert_eq!(resolution.result.details, Some(expected));
    assert!(!session.pending().unwrap().has_pending());
}

#[tokio::test]
async fn content_that_is_empty_is_replaced() {
    let session = session();
    push(&session, "Rename", Ok(AgentToolResult::default()));
    assert_eq!(text(&session.resolve(ResolveRequest::apply("r")).await), ("Applied: Rename.".into(), false));
    push(&session, "Rename", Ok(AgentToolResult::default().with_details(json!(1))));
    let discarded = session.resolve(ResolveRequest::discard("r")).await;
    assert_eq!(text(&discarded), ("Discarded: Rename. Reason: r".into(), false));
    assert_eq!(discarded.result.details.unwrap().get("sourceResultDetails"), None);
}

#[tokio::test]
async fn a_reject_replaces_the_default_text() {
    let session = session();
    push(&session, "Rename", Ok("cleaned".into()));
    assert_eq!(text(&session.resolve(ResolveRequest::discard("r")).await), ("cleaned".into(), false));
}

#[tokio::test]
async fn nothing_pending_is_an_error_with_the_two_plain_details() {
    let resolution = session().resolve(ResolveRequest::discard("r")).await;
    let expected = "No pending action to resolve. Nothing to apply or discard.";
    assert_eq!(text(&resolution), (expected.into(), true));
    assert_eq!(resolution.result.details, Some(json!({"action": "discard", "reason": "r"})));
}

#[tokio::test]
async fn every_kind_of_failed_apply_leaves_the_action_pending() {
    let session = session();
    let mut silent = AgentToolResult::default();
    silent.is_error = true;
    for (returns, message) in [
        (Err(Failure::new("no disk").with_code(STALE)), "Apply failed: no disk"),
        (Ok(AgentToolResult::error("refused")), "Apply failed: refused"),
        (Ok(silent), "Apply failed: no message was given"),
    ] {
        let id = push(&session, "Rename", returns);
        let resolution = session.resolve(ResolveRequest::apply("r")).await;
        assert_eq!(text(&resolution), (message.into(), true));
        assert_eq!(resolution.result.details, Some(details("apply", "r", "Rename", &id)));
        let top = session.pending().unwrap().pop().unwrap();
        assert_eq!((top.id(), top.attempts()), (id.as_str(), 1));
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_whether_it_comes_at_once_or_later() {
    let session = session();
    let store = session.pending().unwrap();
    store.push(PendingAction::new("later", |_| async { panic!("late {}", 1) })).unwrap();
    assert_eq!(session.resolve(ResolveRequest::apply("r")).await.result.to_text(), "Apply failed: panicked: late 1");
    #[allow(unreachable_code)]
    let at_once = |_| {
        panic!("early");
        async { Ok(None) }
    };
    store.push(PendingAction::new("early", |_| async { Ok("".into()) }).on_reject(at_once)).unwrap();
    let expected = "Discarded: early. Cleanup failed: panicked: early";
    assert_eq!(text(&session.resolve(ResolveRequest::discard("r")).await), (expected.into(), true));
    assert_eq!(store.list().len(), 1);
}

#[tokio::test]
async fn a_failed_reject_still_gets_rid_of_the_action() {
    let session = session();
    let id = push(&session, "Rename", Err(Failure::new("locked")));
    let resolution = session.resolve(ResolveRequest::discard("r")).await;
    assert_eq!(resolution.status, ResolveStatus::CleanupFailed);
    assert_eq!(text(&resolution), ("Discarded: Rename. Cleanup failed: locked".into(), true));
    let again = session.resolve(ResolveRequest::discard("r").with_id(&id)).await;
    assert_eq!(text(&again), (format!("Pending action {id} was already discarded."), true));
}

#[tokio::test]
async fn a_resolve_claims_when_it_is_made_and_goes_on_when_it_is_dropped() {
    let session = session();
    let store = session.pending().unwrap();
    push(&session, "below", Ok("".into()));
    let Gate { action, begun, go } = gate("gated");
    let id = store.push(action).unwrap().id().to_owned();
    let running = session.resolve(ResolveRequest::apply("r"));
    assert_eq!(store.peek().unwrap().label(), "below");
    begun.await.unwrap();
    drop(running);
    let below = session.resolve(ResolveRequest::apply("r"));
    assert!(!store.has_pending());
    go.send(Ok("ran".into())).unwrap();
    assert_eq!(below.await.status, ResolveStatus::Applied);
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await;
    assert_eq!(text(&late), (format!("Pending action {id} was already applied."), true));
}

#[tokio::test]
async fn what_waits_behind_a_failure_does_not_run() {
    let session = session();
    let store = session.pending().unwrap();
    push(&session, "a", Ok("must not run".into()));
    let Gate { action, begun, go } = gate("b");
    store.push(action).unwrap();
    let first = session.resolve(ResolveRequest::apply("r"));
    let second = session.resolve(ResolveRequest::apply("r"));
    begun.await.unwrap();
    go.send(Err(Failure::new("no"))).unwrap();
    assert_eq!(text(&first.await), ("Apply failed: no".into(), true));
    let held = second.await;
    assert_eq!(held.status, ResolveStatus::Held);
    let expected = "Not resolved: a (source), since the resolve of b (custom_tool) before it failed. It is pending \
                    again, at its place.";
    assert_eq!(text(&held), (expected.into(), true));
    assert_eq!(store.list().iter().map(|pending| pending.label().to_owned()).collect::<Vec<_>>(), ["b", "a"]);
}

#[tokio::test]
async fn inside_an_apply_a_push_is_taken_and_a_resolve_refused() {
    let session = session();
    let inner = session.clone();
    let action = PendingAction::new("outer", move |_| {
        let session = inner.clone();
        async move {
            push(&session, "inner", Ok("".into()));
            Ok(session.resolve(ResolveRequest::apply("nested")).await.result)
        }
    });
    session.pending().unwrap().push(action).unwrap();
    let resolution = session.resolve(ResolveRequest::apply("r")).await;
    assert!(resolution.result.to_text().starts_with("Apply failed: resolve cannot be called from inside"));
    let labels: Vec<_> = session.pending().unwrap().list().iter().map(|each| each.label().to_owned()).collect();
    assert_eq!(labels, ["inner", "outer"]);
}

#[tokio::test]
async fn the_end_discards_last_first_after_what_is_running() {
    let session = session();
    let store = session.pending().unwrap();
    let said = Arc::new(Mutex::new(Vec::new()));
    for label in ["a", "b"] {
        let said = said.clone();
        let action = PendingAction::new(label, |_| async { Ok("".into()) }).on_reject(move |reason| {
            said.lock().unwrap().push(format!("{label}: {reason}"));
            std::future::ready(Ok(None))
        });
        store.push(action).unwrap();
    }
    let Gate { action, begun, go } = gate("c");
    store.push(action).unwrap();
    let running = session.resolve(ResolveRequest::apply("r"));
    begun.await.unwrap();
    let ending = tokio::spawn({
        let session = session.clone();
        async move { session.end(EndReason::Shutdown).await }
    });
    // The end has claimed what it found.
    while store.has_pending() {
        tokio::task::yield_now().await;
    }
    go.send(Err(Failure::new("no"))).unwrap();
    let report = ending.await.unwrap();
    assert_eq!(running.await.result.to_text(), "Apply failed: no");
    let labels: Vec<_> = report.discarded.iter().map(|each| each.pending.as_ref().unwrap().label()).collect();
    assert_eq!(labels, ["b", "a", "c"]);
    assert_eq!(*said.lock().unwrap(), ["b: the session ended", "a: the session ended"]);
    let late = store.push(PendingAction::new("late", |_| async { Ok("".into()) }));
    assert_eq!(late.unwrap_err(), PushError::SessionEnded);
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_outlives_the_end_is_unknown() {
    let limits = Limits::default().with_end(std::time::Duration::from_secs(5));
    let session = Session::new(SessionOptions::new("test").limits(limits), Handle::current());
    let store = session.pending().unwrap();
    push(&session, "below", Ok("".into()));
    let Gate { action, begun, go: _kept } = gate("stuck");
    let id = store.push(action).unwrap().id().to_owned();
    let _running = session.resolve(ResolveRequest::apply("r"));
    begun.await.unwrap();
    let report = session.end(EndReason::Shutdown).await;
    assert_eq!(report.unknown.unwrap().label(), "stuck");
    assert_eq!(report.not_cleaned_up[0].label(), "below");
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await.result.to_text();
    assert_eq!(late, format!("Pending action {id} was being applied when its session ended, with an unknown outcome."));
}

#[tokio::test]
async fn a_session_without_a_store_has_nothing_pending() {
    let session = Session::new(SessionOptions::new("test").without_store(), Handle::current());
    let resolution = session.resolve(ResolveRequest::apply("r")).await;
    assert_eq!(resolution.status, ResolveStatus::NothingPending);
    let refused = session.downgrade().push_pending_action(0, PendingAction::new("x", |_| async { Ok("".into()) }));
    assert_eq!(refused.unwrap_err().to_string(), "Pending action store unavailable for custom tools in this runtime.");
}

#[tokio::test]
async fn the_journal_tells_what_became_of_each_action() {
    let directory = tempfile::tempdir().unwrap();
    let session = Session::new(SessionOptions::new("test").journal(directory.path()), Handle::current());
    let store = session.pending().unwrap().clone();
    push(&session, "applied", Ok("".into()));
    session.resolve(ResolveRequest::apply("fine")).await;
    push(&session, "failed", Err(Failure::new("no disk")));
    session.resolve(ResolveRequest::apply("fine")).await;
    drop(store.pop());
    push(&session, "discarded", Ok("".into()));
    session.resolve(ResolveRequest::discard("not now")).await;
    push(&session, "left", Ok("".into()));
    session.end(EndReason::Shutdown).await;
    drop((session, store));
    let journals = crate::journal::read_all(directory.path()).unwrap();
    assert_eq!(journals[0].path.parent(), Some(directory.path().join("ended").as_path()));
    let told: Vec<_> = journals[0]
        .actions
        .iter()
        .map(|action| (action.label.as_str(), action.fate.clone(), action.reason.as_deref()))
        .collect();
    let discarded = || Fate::Discarded { cleanup_failure: None };
    assert_eq!(
        told,
        [
            ("applied", Fate::Applied, Some("fine")),
            ("failed", Fate::Removed, None),
            ("discarded", discarded(), Some("not now")),
            ("left", discarded(), Some("the session ended")),
        ]
    );
}

#[tokio::test]
async fn nothing_is_staged_or_applied_that_cannot_be_put_on_record() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let session = Session::new(SessionOptions::new("test").journal(&file), Handle::current());
    let refused = session.pending().unwrap().push(PendingAction::new("a", |_| async { Ok("".into()) })).unwrap_err();
    assert!(matches!(refused, PushError::NotRecorded { .. }), "{refused}");
    assert!(!session.pending().unwrap().has_pending());
}

#[tokio::test(start_paused = true)]
async fn a_clean_up_that_outlives_the_end_is_no_unknown_apply() {
    let session = session();
    let action = PendingAction::new("stuck", |_| async { Ok("".into()) }).on_reject(|_| std::future::pending());
    let id = session.pending().unwrap().push(action).unwrap().id().to_owned();
    let report = session.end(EndReason::Shutdown).await;
    assert!(report.unknown.is_none());
    assert_eq!(report.not_cleaned_up[0].label(), "stuck");
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await.result.to_text();
    assert_eq!(late, format!("Pending action {id} was already discarded."));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_resolves_in_time_expires_through_its_clean_up() {
    let options = SessionOptions::new("test").expiry(std::time::Duration::from_secs(1800));
    let session = Session::new(options, Handle::current());
    let mut events = session.events();
    let said = Arc::new(Mutex::new(Vec::new()));
    let noted = said.clone();
    let action = PendingAction::new("a", |_| async { Ok("".into()) }).on_reject(move |reason| {
        noted.lock().unwrap().push(reason);
        std::future::ready(Ok(None))
    });
    let id = session.downgrade().push_pending_action(0, action).unwrap();
    let expired =
        |event: &NextEvent| matches!(event, NextEvent::Event(event) if matches!(event.kind, EventKind::Expired { .. }));
    while !expired(&events.next().await.unwrap()) {}
    assert_eq!(*said.lock().unwrap(), ["expired"]);
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await.result.to_text();
    assert_eq!(late, format!("Pending action {id} expired."));
}

#[tokio::test(start_paused = true)]
async fn an_apply_that_fails_after_the_end_is_remembered_as_that() {
    let session = session();
    let Gate { action, begun, go } = gate("late");
    let mut events = session.events();
    let id = session.pending().unwrap().push(action).unwrap().id().to_owned();
    let running = session.resolve(ResolveRequest::apply("r"));
    begun.await.unwrap();
    assert_eq!(session.end(EndReason::Shutdown).await.unknown.unwrap().id(), id);
    go.send(Err(Failure::new("no disk"))).unwrap();
    assert_eq!(running.await.result.to_text(), "Apply failed: no disk");
    let failed =
        |event: &NextEvent| matches!(event, NextEvent::Event(event) if matches!(event.kind, EventKind::Failed { .. }));
    while !failed(&events.next().await.unwrap()) {}
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await.result.to_text();
    let text = "was dropped, since its apply failed after its session had ended";
    assert_eq!(late, format!("Pending action {id} {text}."));
}

/// An action that is withdrawn once the switch is set; its callbacks fail the test.
fn withdrawable(label: &str, gone: &Arc<AtomicBool>) -> PendingAction {
    let gone = gone.clone();
    PendingAction::new(label, |_| async { panic!("it was applied") })
        .on_reject(|_| async { panic!("it was rejected") })
        .withdrawn_if(move || gone.load(Ordering::SeqCst).then(|| "Plugin p is blocked: bad".to_owned()))
        .source_tool_name("source")
}

#[tokio::test]
async fn of_an_action_that_is_withdrawn_nothing_runs_whatever_is_asked() {
    let (session, gone) = (session(), Arc::new(AtomicBool::new(true)));
    let store = session.pending().unwrap();
    for request in [ResolveRequest::apply("r"), ResolveRequest::discard("r")] {
        let id = store.push(withdrawable("Rename", &gone)).unwrap().id().to_owned();
        let resolution = session.resolve(request.with_id(&id)).await;
        assert_eq!(resolution.status, ResolveStatus::Withdrawn);
        assert_eq!(text(&resolution), ("Discarded: Rename. Plugin p is blocked: bad".into(), true));
        assert_eq!(resolution.result.details, Some(details("discard", "r", "Rename", &id)));
        let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await;
        assert_eq!(late.result.to_text(), format!("Pending action {id} was already discarded."));
    }
    store.push(withdrawable("Rename", &gone)).unwrap();
    let ended = session.end(EndReason::Shutdown).await;
    assert_eq!(text(&ended.discarded[0]), ("Discarded: Rename. Plugin p is blocked: bad".into(), true));
    assert!(ended.not_cleaned_up.is_empty());
}

#[tokio::test]
async fn an_action_that_is_withdrawn_while_somebody_decides_does_not_run() {
    struct Withdraws(Arc<AtomicBool>);
    impl crate::Approver for Withdraws {
        fn decide(&self, _: Arc<Pending>, _: crate::ApprovalRequest) -> crate::BoxFuture<crate::Decision> {
            self.0.store(true, Ordering::SeqCst);
            Box::pin(std::future::ready(crate::Decision::Apply))
        }

        fn name(&self) -> &str {
            "withdraws"
        }
    }
    let gone = Arc::new(AtomicBool::new(false));
    let session = Session::new(SessionOptions::new("test").approver(Withdraws(gone.clone())), Handle::current());
    session.pending().unwrap().push(withdrawable("Rename", &gone)).unwrap();
    assert_eq!(session.resolve(ResolveRequest::apply("r")).await.status, ResolveStatus::Withdrawn);
}
