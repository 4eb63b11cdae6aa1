use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use toolhost_protocol::{Actor, Dependency, Effect, STALE};

use super::*;
use crate::{
    ApprovalRequest, Approver, BoxFuture, Decision, EndReason, Limits, PendingAction, PersonDecides, Rules, Session,
    SessionOptions,
};

fn session(approver: impl Approver) -> Session {
    Session::new(SessionOptions::new("test").approver(approver), Handle::current())
}

fn push(session: &Session, label: &str) -> String {
    let action = PendingAction::new(label, |_| async { Ok("ran".into()) }).source_tool_name("source");
    session.pending().unwrap().push(action).unwrap().id().to_owned()
}

/// Gives its answers one after the other; after the last, none at all.
struct Scripted(Mutex<Vec<Decision>>);

impl Scripted {
    fn new(mut decisions: Vec<Decision>) -> Self {
        decisions.reverse();
        Self(Mutex::new(decisions))
    }
}

impl Approver for Scripted {
    fn decide(&self, _pending: Arc<Pending>, _request: ApprovalRequest) -> BoxFuture<Decision> {
        match self.0.lock().unwrap().pop() {
            Some(decision) => Box::pin(std::future::ready(decision)),
            None => Box::pin(std::future::pending()),
        }
    }

    fn name(&self) -> &str {
        "script"
    }
}

#[tokio::test]
async fn each_decision_has_its_effect() {
    let session = session(Scripted::new(vec![
        Decision::Refuse("not on Fridays".into()),
        Decision::Abort,
        Decision::Apply,
        Decision::Discard("never".into()),
    ]));
    let store = session.pending().unwrap();
    push(&session, "a");
    let resolve = || session.resolve(ResolveRequest::apply("r").by(Actor::Model));

    let refused = resolve().await;
    assert_eq!((refused.status, refused.result.to_text()), (ResolveStatus::Refused, "not on Fridays".into()));
    assert_eq!(store.peek().unwrap().attempts(), 0);

    let aborted = resolve().await;
    assert_eq!(aborted.status, ResolveStatus::Aborted);
    assert!(aborted.result.is_error && store.has_pending());

    let applied = resolve().await;
    assert_eq!((applied.status, applied.result.to_text()), (ResolveStatus::Applied, "ran".into()));
    assert_eq!(applied.result.details.unwrap()["resolvedBy"], "script");

    push(&session, "b");
    let discarded = resolve().await;
    assert_eq!(discarded.status, ResolveStatus::Discarded);
    assert_eq!(discarded.result.to_text(), "Discarded: b. Reason: never");
    assert_eq!(discarded.result.details.unwrap()["action"], "discard");
    assert!(!store.has_pending());
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_does_not_come_in_time_leaves_the_action_pending() {
    let options = SessionOptions::new("test")
        .approver(Scripted::new(Vec::new()))
        .limits(Limits::default().with_approve(Duration::from_secs(60)));
    let session = Session::new(options, Handle::current());
    push(&session, "a");
    let late = session.resolve(ResolveRequest::apply("r")).await;
    assert_eq!(late.status, ResolveStatus::Refused);
    assert_eq!(late.result.to_text(), "Nobody decided within 60 s. It is still pending.");
    assert!(session.pending().unwrap().has_pending());
}

#[tokio::test]
async fn the_end_of_a_session_does_not_wait_for_a_decision() {
    let session = session(Scripted::new(Vec::new()));
    push(&session, "a");
    let waiting = session.resolve(ResolveRequest::apply("r"));
    let report = session.end(EndReason::Shutdown).await;
    assert_eq!(waiting.await.status, ResolveStatus::Refused);
    assert_eq!(report.discarded[0].result.to_text(), "Discarded: a. Reason: the session ended");
    assert!(report.unknown.is_none());
}

#[tokio::test]
async fn a_discard_is_never_asked_about() {
    let session = session(Scripted::new(Vec::new()));
    push(&session, "a");
    assert_eq!(session.resolve(ResolveRequest::discard("r")).await.status, ResolveStatus::Discarded);
}

#[tokio::test]
async fn an_approver_that_panics_refuses() {
    struct Panics;
    impl Approver for Panics {
        fn decide(&self, _pending: Arc<Pending>, _request: ApprovalRequest) -> BoxFuture<Decision> {
            panic!("no idea")
        }
        fn name(&self) -> &str {
            "panics"
        }
    }
    let session = session(Panics);
    push(&session, "a");
    let refused = session.resolve(ResolveRequest::apply("r")).await;
    let text = "Nobody could decide: the approver panicked: no idea. It is still pending.";
    assert_eq!((refused.status, refused.result.to_text().as_str()), (ResolveStatus::Refused, text));
}

#[tokio::test]
async fn only_a_person_applies_where_a_person_has_to_decide() {
    let session = session(PersonDecides);
    push(&session, "a");
    let model = session.call("resolve", json!({"action": "apply", "reason": "sure"})).await.unwrap();
    assert!(model.is_error && model.to_text().starts_with("A person has to decide"), "{model:?}");
    let person = session.resolve(ResolveRequest::apply("r").by(Actor::Human)).await;
    assert_eq!(person.status, ResolveStatus::Applied);
    assert_eq!(person.result.details.unwrap()["resolvedBy"], "human");
}

#[tokio::test]
async fn a_model_cannot_say_that_it_is_a_person() {
    let session = session(PersonDecides);
    push(&session, "a");
    let parameters = json!({"action": "apply", "reason": "sure", "by": "human", "resolvedBy": "human"});
    assert!(session.call("resolve", parameters).await.unwrap().is_error);
    assert!(session.pending().unwrap().has_pending());
}

#[tokio::test]
async fn rules_decide_by_tool_effect_and_path() {
    let rules = || {
        Rules::otherwise(PersonDecides)
            .tool("trusted", Decision::Apply)
            .effect(Effect::ReadOnly, Decision::Apply)
            .within("/tmp/scratch", Decision::Apply)
    };
    let decided = async |source: &str, details: serde_json::Value| {
        let session = session(rules());
        let action = PendingAction::new("x", |_| async { Ok("ran".into()) }).source_tool_name(source).details(details);
        session.pending().unwrap().push(action).unwrap();
        session.resolve(ResolveRequest::apply("r").by(Actor::Model)).await.status
    };
    let changes = |paths: &[&str]| {
        let changes: Vec<_> = paths.iter().map(|path| json!({"path": path, "kind": "modify"})).collect();
        json!({"changes": changes})
    };
    assert_eq!(decided("trusted", json!({})).await, ResolveStatus::Applied);
    assert_eq!(decided("other", json!({})).await, ResolveStatus::Refused);
    assert_eq!(decided("other", changes(&["/tmp/scratch/a"])).await, ResolveStatus::Applied);
    assert_eq!(decided("other", changes(&["/tmp/scratch/a", "/etc/passwd"])).await, ResolveStatus::Refused);
    assert_eq!(decided("other", changes(&["/tmp/scratch/../x"])).await, ResolveStatus::Refused);
    assert_eq!(decided("other", changes(&[])).await, ResolveStatus::Refused);
}

#[tokio::test]
async fn what_changed_while_somebody_thought_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("target");
    struct Meanwhile(std::path::PathBuf);
    impl Approver for Meanwhile {
        fn decide(&self, _pending: Arc<Pending>, _request: ApprovalRequest) -> BoxFuture<Decision> {
            std::fs::write(&self.0, "appeared").unwrap();
            Box::pin(std::future::ready(Decision::Apply))
        }
        fn name(&self) -> &str {
            "meanwhile"
        }
    }
    let session = session(Meanwhile(path.clone()));
    let action = PendingAction::new("a", |_| async { panic!("must not run") }).depends_on([Dependency::absent(&path)]);
    session.pending().unwrap().push(action).unwrap();
    let stale = session.resolve(ResolveRequest::apply("r")).await;
    assert_eq!(stale.status, ResolveStatus::ApplyFailed { code: Some(STALE.into()) });
    assert!(stale.result.to_text().ends_with(&format!("- {path:?} exists now")), "{}", stale.result.to_text());
    assert!(session.pending().unwrap().has_pending());
}
