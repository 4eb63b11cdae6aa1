use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use toolhost_protocol::{ResolveAction, ResolveRequest};

use super::outcomes::Outcomes;
use super::{DEFAULT_SOURCE, Outcome, Pending, PendingAction, Preview};
use crate::Resolution;

/// A session's stack of pending actions; last in, first out. Clones are the same stack.
///
/// An action that a `resolve` has claimed is off the stack until it is known to have failed; only then is it back, at
/// its old place. No lock is held while a callback runs or while an action is dropped.
#[derive(Debug, Clone, Default)]
pub struct PendingActionStore {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    idle: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Ordered by position; the top is the end.
    stack: Vec<Arc<Pending>>,
    next_position: u64,
    /// Claims that wait for their turn, in order of arrival.
    queue: VecDeque<Claim>,
    running: Option<Arc<Pending>>,
    /// Whether somebody works through the queue.
    driven: bool,
    life: Life,
    outcomes: Outcomes,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Life {
    #[default]
    Open,
    /// Takes nothing new; what it holds is being discarded.
    Ending,
    /// Whatever comes back now is dropped.
    Ended,
}

/// An action that is off the stack because a resolve wants it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) pending: Arc<Pending>,
    pub(crate) action: ResolveAction,
    pub(crate) reason: String,
    /// Made by the end of the session, so that no failure before it holds it back.
    closing: bool,
    reply: oneshot::Sender<Resolution>,
}

impl Claim {
    /// Tells whoever waits; nobody may.
    pub(crate) fn answer(self, resolution: Resolution) {
        let _ = self.reply.send(resolution);
    }
}

/// A claim that was made.
pub(crate) struct Claimed {
    pub(crate) reply: oneshot::Receiver<Resolution>,
    /// Whether the caller has to start working through the queue.
    pub(crate) start: bool,
}

/// Why nothing was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    NothingPending,
    UnknownId,
    BeingResolved,
    Ended(Outcome),
}

/// How the run of a claim went, as far as the stack is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Applied,
    ApplyFailed,
    Discarded,
    CleanupFailed,
}

/// Why an action was not staged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The host keeps no pending actions.
    #[error("Pending action store unavailable for custom tools in this runtime.")]
    StoreUnavailable,
    /// The session has ended.
    #[error("the session has ended, so nothing can be staged in it any more")]
    SessionEnded,
    /// The tool call that would stage it was cancelled.
    #[error("the tool call was cancelled, so nothing can be staged for it any more")]
    CallCancelled,
    /// The tool call that would stage it is not one of this session's.
    #[error("the tool call belongs to another session; stage through the API that this session's factory was given")]
    ForeignCall,
}

impl PendingActionStore {
    /// An empty stack.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an action on top.
    ///
    /// # Errors
    ///
    /// [`PushError::SessionEnded`] where the session that the store belongs to has ended.
    pub fn push(&self, action: PendingAction) -> Result<Arc<Pending>, PushError> {
        self.push_previewed(action, Preview::UNKNOWN)
    }

    pub(crate) fn push_previewed(
        &self,
        action: PendingAction,
        preview: Preview<'_>,
    ) -> Result<Arc<Pending>, PushError> {
        let preview_hash = preview.hash(&action);
        let mut pending = Pending {
            id: format!("{:032x}", rand::random::<u128>()),
            position: 0,
            label: action.label,
            source_tool_name: action.source_tool_name.unwrap_or_else(|| DEFAULT_SOURCE.to_owned()),
            details: action.details,
            preview_hash,
            attempts: AtomicU32::new(0),
            callbacks: action.callbacks,
        };
        let mut state = self.lock();
        if state.life != Life::Open {
            // Before the action is dropped, which runs its author's code.
            drop(state);
            return Err(PushError::SessionEnded);
        }
        pending.position = state.next_position;
        state.next_position += 1;
        let pending = Arc::new(pending);
        state.stack.push(pending.clone());
        Ok(pending)
    }

    /// The topmost action, left where it is.
    #[must_use]
    pub fn peek(&self) -> Option<Arc<Pending>> {
        self.lock().stack.last().cloned()
    }

    /// Takes the topmost action off for good; neither of its callbacks runs.
    #[must_use = "the action is gone from the stack"]
    pub fn pop(&self) -> Option<Arc<Pending>> {
        let mut state = self.lock();
        let pending = state.stack.pop()?;
        state.outcomes.record(&pending.id, Outcome::Removed);
        Some(pending)
    }

    /// Whether anything is on the stack.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        !self.lock().stack.is_empty()
    }

    /// All pending actions, the topmost first.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Pending>> {
        self.lock().stack.iter().rev().cloned().collect()
    }

    /// Claims the action with the request's id, or the topmost, at this moment.
    pub(crate) fn claim(&self, request: ResolveRequest) -> Result<Claimed, Refusal> {
        let mut state = self.lock();
        let pending = match &request.id {
            None => state.stack.pop().ok_or(Refusal::NothingPending)?,
            Some(id) => match state.stack.iter().rposition(|pending| pending.id == *id) {
                Some(at) => state.stack.remove(at),
                None => return Err(state.refusal(id)),
            },
        };
        Ok(state.enqueue(pending, request.action, request.reason, false))
    }

    /// Refuses what is new, and claims all that is left, the topmost first, to be discarded.
    pub(crate) fn claim_all(&self, reason: &str) -> Vec<Claimed> {
        let mut state = self.lock();
        if state.life == Life::Open {
            state.life = Life::Ending;
        }
        let mut claimed = Vec::with_capacity(state.stack.len());
        while let Some(pending) = state.stack.pop() {
            claimed.push(state.enqueue(pending, ResolveAction::Discard, reason.to_owned(), true));
        }
        claimed
    }

    /// The next claim to run; `None` ends the work on the queue.
    pub(crate) fn next_claim(&self) -> Option<Claim> {
        let mut state = self.lock();
        let claim = state.queue.pop_front();
        state.running = claim.as_ref().map(|claim| claim.pending.clone());
        state.driven = claim.is_some();
        drop(state);
        if claim.is_none() {
            self.shared.idle.notify_waiters();
        }
        claim
    }

    /// Records how a claim went. Returns the claims that waited behind it and must not run now; their actions are back
    /// in their places.
    pub(crate) fn finish(&self, pending: &Arc<Pending>, end: RunEnd) -> Vec<Claim> {
        let mut state = self.lock();
        state.running = None;
        match end {
            RunEnd::Applied => state.outcomes.record(&pending.id, Outcome::Applied),
            RunEnd::Discarded | RunEnd::CleanupFailed => state.outcomes.record(&pending.id, Outcome::Discarded),
            RunEnd::ApplyFailed => {
                pending.attempts.fetch_add(1, Ordering::Relaxed);
                state.put_back(pending.clone());
            }
        }
        if matches!(end, RunEnd::Applied | RunEnd::Discarded) {
            return Vec::new();
        }
        let (closing, held): (Vec<_>, Vec<_>) = state.queue.drain(..).partition(|claim| claim.closing);
        state.queue.extend(closing);
        for claim in &held {
            state.put_back(claim.pending.clone());
        }
        held
    }

    /// Ends when nothing is claimed any more.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.shared.idle.notified();
            if !self.lock().driven {
                return;
            }
            idle.await;
        }
    }

    /// Gives up on whatever still runs or waits. Returns what was being resolved, and what was dropped without a
    /// clean-up.
    pub(crate) fn abandon(&self) -> (Option<Arc<Pending>>, Vec<Arc<Pending>>) {
        let mut state = self.lock();
        state.life = Life::Ended;
        let running = state.running.take();
        if let Some(pending) = &running {
            state.outcomes.record(&pending.id, Outcome::Unknown);
        }
        let queue = std::mem::take(&mut state.queue);
        let stack = std::mem::take(&mut state.stack);
        let dropped: Vec<_> = queue.iter().map(|claim| claim.pending.clone()).chain(stack).collect();
        for pending in &dropped {
            state.outcomes.record(&pending.id, Outcome::Discarded);
        }
        drop(state);
        drop(queue);
        (running, dropped)
    }

    /// The task that worked through the queue is gone, with its runtime.
    pub(crate) fn driver_lost(&self) {
        let mut state = self.lock();
        state.driven = false;
        let running = state.running.take();
        if let Some(pending) = &running {
            state.outcomes.record(&pending.id, Outcome::Unknown);
        }
        let queue = std::mem::take(&mut state.queue);
        for claim in &queue {
            state.put_back(claim.pending.clone());
        }
        // What is dropped now may run its author's code.
        drop(state);
        drop((running, queue));
        self.shared.idle.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn enqueue(&mut self, pending: Arc<Pending>, action: ResolveAction, reason: String, closing: bool) -> Claimed {
        let (reply, receiver) = oneshot::channel();
        self.queue.push_back(Claim { pending, action, reason, closing, reply });
        let start = !std::mem::replace(&mut self.driven, true);
        Claimed { reply: receiver, start }
    }

    fn put_back(&mut self, pending: Arc<Pending>) {
        if self.life == Life::Ended {
            self.outcomes.record(&pending.id, Outcome::Discarded);
            return;
        }
        let at = self.stack.partition_point(|other| other.position < pending.position);
        self.stack.insert(at, pending);
    }

    fn refusal(&self, id: &str) -> Refusal {
        let claimed = self.queue.iter().map(|claim| &claim.pending).chain(&self.running);
        if claimed.into_iter().any(|pending| pending.id == id) {
            return Refusal::BeingResolved;
        }
        self.outcomes.get(id).map_or(Refusal::UnknownId, Refusal::Ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(labels: &[&str]) -> (PendingActionStore, Vec<String>) {
        let store = PendingActionStore::new();
        let ids = labels.iter().map(|label| push(&store, label)).collect();
        (store, ids)
    }

    fn push(store: &PendingActionStore, label: &str) -> String {
        store.push(PendingAction::new(label, |_| async { Ok("".into()) })).unwrap().id().to_owned()
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
        assert!(store.claim(ResolveRequest::apply("r").with_id(&ids[1])).unwrap().start);
        let claim = store.next_claim().unwrap();
        assert_eq!(labels(&store), ["c", "a"]);
        push(&store, "d");
        assert!(store.finish(&claim.pending, RunEnd::ApplyFailed).is_empty());
        assert_eq!(labels(&store), ["d", "c", "b", "a"]);
        assert_eq!(claim.pending.attempts(), 1);
    }

    #[test]
    fn claims_behind_a_failure_go_back_without_running() {
        let (store, _) = store(&["a", "b", "c"]);
        for _ in 0..3 {
            drop(store.claim(ResolveRequest::apply("r")).unwrap());
        }
        assert_eq!(labels(&store), Vec::<String>::new());
        let claim = store.next_claim().unwrap();
        let held = store.finish(&claim.pending, RunEnd::ApplyFailed);
        assert_eq!(held.iter().map(|claim| claim.pending.label()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(labels(&store), ["c", "b", "a"]);
        assert!(store.next_claim().is_none());
        assert_eq!(held[0].pending.attempts(), 0);
    }

    #[test]
    fn an_id_is_refused_with_what_became_of_it() {
        let (store, ids) = store(&["a", "b"]);
        let by_id = |id: &str| store.claim(ResolveRequest::apply("r").with_id(id)).map(|_| ()).unwrap_err();
        assert_eq!(by_id("nope"), Refusal::UnknownId);
        drop(store.claim(ResolveRequest::apply("r")).unwrap());
        assert_eq!(by_id(&ids[1]), Refusal::BeingResolved);
        let claim = store.next_claim().unwrap();
        assert_eq!(by_id(&ids[1]), Refusal::BeingResolved);
        store.finish(&claim.pending, RunEnd::Applied);
        assert_eq!(by_id(&ids[1]), Refusal::Ended(Outcome::Applied));
        drop(store.pop());
        assert_eq!(by_id(&ids[0]), Refusal::Ended(Outcome::Removed));
    }

    #[test]
    fn an_ending_store_takes_nothing_new_and_holds_nothing_back() {
        let (store, _) = store(&["a", "b", "c"]);
        drop(store.claim(ResolveRequest::apply("r")).unwrap());
        let running = store.next_claim().unwrap();
        assert_eq!(store.claim_all("over").len(), 2);
        assert_eq!(
            store.push(PendingAction::new("late", |_| async { Ok("".into()) })).unwrap_err(),
            PushError::SessionEnded
        );
        assert!(store.finish(&running.pending, RunEnd::ApplyFailed).is_empty());
        assert_eq!(store.next_claim().unwrap().pending.label(), "b");
        assert_eq!(labels(&store), ["c"]);
    }

    #[test]
    fn what_was_given_up_is_known_by_its_outcome() {
        let (store, ids) = store(&["a", "b"]);
        drop(store.claim(ResolveRequest::apply("r")).unwrap());
        let running = store.next_claim().unwrap();
        let (unknown, dropped) = store.abandon();
        assert_eq!(unknown.unwrap().label(), "b");
        assert_eq!(dropped[0].label(), "a");
        let outcome = |id: &str| store.claim(ResolveRequest::apply("r").with_id(id)).map(|_| ()).unwrap_err();
        assert_eq!(outcome(&ids[1]), Refusal::Ended(Outcome::Unknown));
        assert_eq!(outcome(&ids[0]), Refusal::Ended(Outcome::Discarded));
        store.finish(&running.pending, RunEnd::Applied);
        assert_eq!(outcome(&ids[1]), Refusal::Ended(Outcome::Applied));
    }
}
