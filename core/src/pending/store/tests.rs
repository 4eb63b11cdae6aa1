use super::*;
use crate::pending::claim::Claim;

fn store(labels: &[&str]) -> (PendingActionStore, Vec<String>) {
    let store = PendingActionStore::new();
    let ids = labels.iter().map(|label| push(&store, label)).collect();
    (store, ids)
}

fn push(store: &PendingActionStore, label: &str) -> String {
    store.push(PendingAction::new(label, |_| async { Ok("".into()) })).unwrap().id().to_owned()
}

fn claim(store: &PendingActionStore) {
    drop(store.claim(ResolveRequest::apply("r"), None).map_err(drop).unwrap());
}

fn refusal(store: &PendingActionStore, id: &str) -> String {
    let refused = store.claim(ResolveRequest::apply("r").with_id(id), None).err().unwrap();
    format!("{refused:?}")
}

fn failed() -> RunEnd {
    RunEnd::ApplyFailed { message: "no".into() }
}

fn finish(store: &PendingActionStore, claim: &Claim, end: RunEnd) -> Vec<Claim> {
    store.finish(claim, &end, Duration::ZERO)
}

fn labels(store: &PendingActionStore) -> Vec<String> {
    store.list().iter().map(|pending| pending.label().to_owned()).collect()
}

#[test]
fn it_is_a_stack() {
    let (store, _) = store(&["a", "b"]);
    assert!(store.has_pending());
    assert_eq!(store.peek().unwrap().label(), "b");
    assert_eq!(store.pop().unwrap().label(), "b");
    assert_eq!(store.pop().unwrap().label(), "a");
    assert!(store.pop().is_none());
    assert!(!store.has_pending());
}

#[test]
fn ids_are_32_hexadecimal_digits_and_differ() {
    let (_, ids) = store(&["a", "b"]);
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_failed_apply_returns_below_what_was_pushed_meanwhile() {
    let (store, ids) = store(&["a", "b", "c"]);
    assert!(store.claim(ResolveRequest::apply("r").with_id(&ids[1]), None).unwrap().start);
    let claim = store.next_claim().unwrap();
    assert_eq!(labels(&store), ["c", "a"]);
    push(&store, "d");
    assert!(finish(&store, &claim, failed()).is_empty());
    assert_eq!(labels(&store), ["d", "c", "b", "a"]);
    assert_eq!(claim.pending.attempts(), 1);
}

#[test]
fn claims_behind_a_failure_go_back_without_running() {
    let (store, _) = store(&["a", "b", "c"]);
    for _ in 0..3 {
        claim(&store);
    }
    assert_eq!(labels(&store), Vec::<String>::new());
    let claim = store.next_claim().unwrap();
    let held = finish(&store, &claim, failed());
    assert_eq!(held.iter().map(|claim| claim.pending.label()).collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(labels(&store), ["c", "b", "a"]);
    assert!(store.next_claim().is_none());
    assert_eq!(held[0].pending.attempts(), 0);
}

#[test]
fn an_id_is_refused_with_what_became_of_it() {
    let (store, ids) = store(&["a", "b"]);
    let by_id = |id: &str| refusal(&store, id);
    assert_eq!(by_id("nope"), "UnknownId");
    claim(&store);
    assert_eq!(by_id(&ids[1]), "BeingResolved");
    let claim = store.next_claim().unwrap();
    assert_eq!(by_id(&ids[1]), "BeingResolved");
    finish(&store, &claim, RunEnd::Applied);
    assert_eq!(by_id(&ids[1]), "Ended(Applied)");
    drop(store.pop());
    assert_eq!(by_id(&ids[0]), "Ended(Removed)");
}

#[test]
fn an_ending_store_takes_nothing_new_and_holds_nothing_back() {
    let (store, _) = store(&["a", "b", "c"]);
    claim(&store);
    let running = store.next_claim().unwrap();
    store.close();
    assert_eq!(store.claim_all("over").len(), 2);
    assert_eq!(
        store.push(PendingAction::new("late", |_| async { Ok("".into()) })).unwrap_err(),
        PushError::SessionEnded
    );
    assert!(finish(&store, &running, failed()).is_empty());
    assert_eq!(store.next_claim().unwrap().pending.label(), "b");
    assert_eq!(labels(&store), ["c"]);
}

#[test]
fn what_was_given_up_is_known_by_its_outcome() {
    let (store, ids) = store(&["a", "b"]);
    claim(&store);
    let running = store.next_claim().unwrap();
    assert!(store.begin());
    let (unknown, dropped) = store.abandon();
    assert_eq!(unknown.unwrap().label(), "b");
    assert_eq!(dropped[0].label(), "a");
    let outcome = |id: &str| refusal(&store, id);
    assert_eq!(outcome(&ids[1]), "Ended(Unknown)");
    assert_eq!(outcome(&ids[0]), "Ended(Discarded)");
    finish(&store, &running, RunEnd::Applied);
    assert_eq!(outcome(&ids[1]), "Ended(Applied)");
}

#[test]
fn what_had_not_begun_is_dropped_rather_than_unknown() {
    let (store, ids) = store(&["a"]);
    claim(&store);
    store.next_claim().unwrap();
    let (unknown, dropped) = store.abandon();
    assert!(unknown.is_none());
    assert_eq!(dropped[0].id(), ids[0]);
    assert!(!store.begin());
}

#[test]
fn a_turn_cannot_take_what_it_staged_itself_but_by_its_id() {
    let store = PendingActionStore::new();
    let action = PendingAction::new("a", |_| async { Ok("".into()) });
    let preview = Preview { turn: Some(7), ..Preview::UNKNOWN };
    let id = store.push_previewed(action, preview, usize::MAX).unwrap().id().to_owned();
    let refused = store.claim(ResolveRequest::apply("r"), Some(7)).err().unwrap();
    assert!(matches!(refused, Refusal::SameTurn(pending) if pending.id() == id));
    assert_eq!(labels(&store), ["a"]);
    assert!(store.claim(ResolveRequest::apply("r").with_id(&id), Some(7)).is_ok());
}

#[test]
fn an_action_expires_only_where_it_is_still_pending() {
    let (store, ids) = store(&["a", "b"]);
    claim(&store);
    assert!(store.claim_expired(&ids[1]).is_none());
    assert!(store.claim_expired(&ids[0]).is_some());
    let running = store.next_claim().unwrap();
    assert_eq!(finish(&store, &running, failed()).len(), 0);
    let expired = store.next_claim().unwrap();
    finish(&store, &expired, RunEnd::Discarded { cleanup_failure: None });
    assert_eq!(refusal(&store, &ids[0]), "Ended(Expired)");
}
