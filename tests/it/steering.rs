//! The pull towards `resolve`, sentence by sentence: once with a plugin's tool, once with one of the host's own.

use serde_json::{Value, json};
use toolhost_core::{
    CallRequest, ChoiceSupport, EventKind, EventStream, ModelCapabilities, RunOptions, Session, Steering, ToolChoice,
    TurnEvent,
};

use crate::in_process::sessions;
use crate::support::{bounded, fail, labels, next_event, resolve, text, top};

fn action(label: &str) -> Value {
    json!({"label": label, "source": "source", "apply": [text("applied")]})
}

async fn stage(session: &Session, action: Value) -> String {
    let result = session.call("stage", json!({"actions": [action]})).await.unwrap();
    result.details.unwrap()["pending"][0]["id"].as_str().unwrap().to_owned()
}

fn steer(session: &Session) -> Steering {
    session.steering(&ModelCapabilities::new(ChoiceSupport::Named))
}

fn is_forced(session: &Session) -> bool {
    let steering = steer(session);
    assert!(steering.reminder.is_some());
    steering.choice == ToolChoice::Named("resolve")
}

#[tokio::test(flavor = "multi_thread")]
async fn while_something_is_pending_the_tool_is_preferred_and_the_reminder_names_it() {
    for session in sessions().await {
        assert_eq!((steer(&session).choice, steer(&session).reminder), (ToolChoice::Free, None));
        stage(&session, action("Rename 2 files")).await;
        let id = stage(&session, action("Erase")).await;
        let reminder = format!(
            "Pending: Erase (source), id {id}. Nothing has been changed yet. Read its preview, then call resolve with \
             action \"apply\" or \"discard\" and a reason. One more is pending below it; the last staged comes first."
        );
        let steering = steer(&session);
        assert_eq!((steering.choice, steering.reminder), (ToolChoice::Named("resolve"), Some(reminder)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mapping_works_from_capabilities() {
    for session in sessions().await {
        stage(&session, action("a")).await;
        let choice = |support| session.steering(&ModelCapabilities::new(support)).choice;
        assert_eq!(choice(ChoiceSupport::AnyOf), ToolChoice::AnyOf("resolve"));
        assert_eq!(choice(ChoiceSupport::Any), ToolChoice::OfferOnly("resolve"));
        let thinks = ModelCapabilities::new(ChoiceSupport::Named).thinking(true);
        assert_eq!(session.steering(&thinks).choice, ToolChoice::Free);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_forcing_there_is_the_reminder_and_the_action_can_be_applied() {
    for session in sessions().await {
        stage(&session, action("a")).await;
        let steering = session.steering(&ModelCapabilities::new(ChoiceSupport::None));
        assert_eq!((steering.choice, steering.reminder.is_some()), (ToolChoice::Free, true));
        let applied = resolve(&session, json!({"action": "apply", "reason": "r"})).await;
        assert_eq!(applied["content"][0]["text"], "applied");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_a_refused_and_an_invalid_resolve_count_and_then_forcing_stops() {
    for session in sessions().await {
        let id = stage(&session, json!({"label": "a", "source": "source", "apply": [fail("no disk")]})).await;
        assert!(is_forced(&session));
        let failed = resolve(&session, json!({"action": "apply", "reason": "r"})).await;
        assert_eq!(failed["content"][0]["text"], "Apply failed: no disk");
        assert!(is_forced(&session));
        let refused = resolve(&session, json!({"action": "apply", "reason": "r", "id": "none"})).await;
        assert_eq!(refused["isError"], true);
        assert!(is_forced(&session));
        session.call("resolve", json!({"action": "maybe"})).await.unwrap_err();
        assert!(!is_forced(&session));
        assert!(!is_forced(&session), "the reminder alone stays");
        // Steering never drops an action, and never runs one.
        assert_eq!((top(&session).id(), top(&session).attempts()), (id.as_str(), 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_push_forces_again() {
    for session in sessions().await {
        stage(&session, action("a")).await;
        (0..4).for_each(|_| drop(steer(&session)));
        assert!(!is_forced(&session));
        stage(&session, action("b")).await;
        assert!(is_forced(&session));
        resolve(&session, json!({"action": "discard", "reason": "r"})).await;
        assert!(!is_forced(&session), "what was let go stays so");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_tools_that_stage_in_one_turn_all_run_and_steering_comes_between_turns() {
    for session in sessions().await {
        let call = |id: &str, label: &str| CallRequest::new(id, "stage", json!({"actions": [action(label)]}));
        let mut turn = session.tools().run(vec![call("1", "a"), call("2", "b")], RunOptions::default());
        let mut previews = 0;
        while let Some(event) = bounded(turn.next()).await {
            if let TurnEvent::Done { outcome, .. } = event {
                assert_eq!(outcome.unwrap().to_text(), "staged");
                previews += 1;
            }
        }
        let mut staged = labels(&session);
        staged.sort();
        assert_eq!((previews, staged), (2, vec!["a".to_owned(), "b".to_owned()]));
        assert!(is_forced(&session));
    }
}

async fn next_of(events: &mut EventStream) -> String {
    loop {
        match next_event(events).await.kind {
            EventKind::Steering { forced, .. } => return format!("steering, forced: {forced}"),
            EventKind::LetGo { pending } => return format!("let go of {}", pending.label),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_can_watch_the_pull_and_its_end() {
    for session in sessions().await {
        let mut events = session.events();
        stage(&session, action("a")).await;
        (0..4).for_each(|_| drop(steer(&session)));
        for _ in 0..3 {
            assert_eq!(next_of(&mut events).await, "steering, forced: true");
        }
        assert_eq!(next_of(&mut events).await, "let go of a");
        assert_eq!(next_of(&mut events).await, "steering, forced: false");
    }
}
