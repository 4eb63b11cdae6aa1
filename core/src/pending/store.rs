use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use toolhost_protocol::{EventKind, ResolveAction, ResolveRequest};

use super::claim::{Cause, Claim, Claimed, Refusal, RunEnd};
use super::outcomes::Outcomes;
use super::{DEFAULT_SOURCE, Outcome, Pending, PendingAction, Preview, PushError};
use crate::Cancellation;
use crate::events::{Events, milliseconds};
use crate::journal::{Event, Journal, Record};
use crate::sync::{Mutex, MutexGuard};

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
    /// Set once nothing new is taken, so that whoever waits for a decision stops waiting.
    ending: Cancellation,
    events: Events,
    journal: Option<Journal>,
}

#[derive(Debug, Default)]
struct State {
    /// Ordered by position; the top is the end.
    stack: Vec<Arc<Pending>>,
    next_position: u64,
    /// Claims that wait for their turn, in order of arrival.
    queue: VecDeque<Claim>,
    running: Option<Running>,
    /// Whether somebody works through the queue.
    driven: bool,
    life: Life,
    outcomes: Outcomes,
}

impl State {
    fn takes_one_more(&self, most: usize) -> Result<(), PushError> {
        if self.life != Life::Open {
            return Err(PushError::SessionEnded);
        }
        if self.stack.len() >= most {
            return Err(PushError::TooMany { limit: most });
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Running {
    pending: Arc<Pending>,
    /// Whether its callback has begun.
    begun: bool,
    /// Whether that applies it, so that giving it up leaves an unknown end; a discard always gets rid of it.
    applies: bool,
}

impl Running {
    fn is_applying(&self) -> bool {
        self.begun && self.applies
    }
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

impl PendingActionStore {
    /// An empty stack.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty stack that puts on record what becomes of its actions.
    pub(crate) fn with_journal(journal: Option<Journal>) -> Self {
        Self { shared: Arc::new(Shared { journal, ..Shared::default() }) }
    }

    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.shared.journal.as_ref()
    }

    pub(crate) fn events(&self) -> &Events {
        &self.shared.events
    }

    /// The request to stop waiting for decisions.
    pub(crate) fn ending(&self) -> &Cancellation {
        &self.shared.ending
    }

    fn record_push(&self, pending: &Pending) -> Result<(), PushError> {
        let Some(journal) = &self.shared.journal else {
            return Ok(());
        };
        let event = Event::Pushed {
            id: pending.id.clone(),
            label: pending.label.clone(),
            source_tool_name: pending.source_tool_name.clone(),
            preview_hash: pending.preview_hash.clone(),
            details: pending.details.clone(),
        };
        journal.append(&Record::now(event)).map_err(|error| PushError::NotRecorded {
            directory: journal.directory().to_owned(),
            reason: error.to_string(),
        })
    }

    /// Puts on record what has happened already; where that fails it is logged.
    fn record(&self, event: Event) {
        if let Some(journal) = &self.shared.journal
            && let Err(error) = journal.append(&Record::now(event))
        {
            tracing::error!(%error, "what became of a pending action could not be put on record");
        }
    }

    /// Puts an action on top.
    ///
    /// # Errors
    ///
    /// [`PushError::SessionEnded`] where the session that the store belongs to has ended.
    pub fn push(&self, action: PendingAction) -> Result<Arc<Pending>, PushError> {
        self.push_previewed(action, Preview::UNKNOWN, usize::MAX)
    }

    /// Stages an action, unless there are as many already as `most`.
    pub(crate) fn push_previewed(
        &self,
        action: PendingAction,
        preview: Preview<'_>,
        most: usize,
    ) -> Result<Arc<Pending>, PushError> {
        let preview_hash = preview.hash(&action);
        let mut pending = Pending {
            id: format!("{:032x}", rand::random::<u128>()),
            position: 0,
            label: shortened(action.label),
            source_tool_name: action.source_tool_name.unwrap_or_else(|| DEFAULT_SOURCE.to_owned()),
            details: action.details,
            depends_on: action.depends_on,
            effect: preview.effect,
            turn: preview.turn,
            preview_hash,
            attempts: AtomicU32::new(0),
            callbacks: action.callbacks,
        };
        self.lock().takes_one_more(most)?;
        self.record_push(&pending)?;
        let mut state = self.lock();
        // Others may have pushed meanwhile, or ended the session.
        if let Err(refused) = state.takes_one_more(most) {
            // Before the action is dropped, which runs its author's code.
            drop(state);
            self.record(Event::Removed { id: pending.id });
            return Err(refused);
        }
        pending.position = state.next_position;
        state.next_position += 1;
        let pending = Arc::new(pending);
        state.stack.push(pending.clone());
        self.shared.events.emit(|| EventKind::Pushed { pending: pending.summary() });
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
        self.shared.events.emit(|| EventKind::Removed { pending: pending.summary() });
        drop(state);
        self.record(Event::Removed { id: pending.id.clone() });
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

    /// The action that a resolve with this id is about. Without an id it is the topmost, unless one is being resolved,
    /// which may be the one that is meant.
    pub(crate) fn about(&self, id: Option<&str>) -> Option<Arc<Pending>> {
        let state = self.lock();
        let claimed = state.running.iter().map(|running| &running.pending);
        let claimed: Vec<_> = claimed.chain(state.queue.iter().map(|claim| &claim.pending)).collect();
        let found = match id {
            Some(id) => state.stack.iter().chain(claimed).find(|pending| pending.id == id),
            None => state.stack.last().filter(|_| claimed.is_empty()),
        };
        found.cloned()
    }

    /// Claims the action with the request's id, or the topmost, at this moment. `turn` is the turn that asks, where
    /// the host knows turns: without an id it cannot take what was staged in itself.
    pub(crate) fn claim(&self, request: ResolveRequest, turn: Option<u64>) -> Result<Claimed, Refusal> {
        let mut state = self.lock();
        let pending = match &request.id {
            Some(id) => match state.stack.iter().rposition(|pending| pending.id == *id) {
                Some(at) => state.stack.remove(at),
                None => return Err(state.refusal(id)),
            },
            None => match state.stack.last() {
                None => return Err(Refusal::NothingPending),
                Some(top) if turn.is_some() && top.turn() == turn => return Err(Refusal::SameTurn(top.clone())),
                Some(_) => state.stack.pop().ok_or(Refusal::NothingPending)?,
            },
        };
        Ok(self.enqueue(&mut state, pending, request, Cause::Asked))
    }

    /// Claims all that is pending, the topmost first, to be discarded for this reason.
    pub(crate) fn claim_all(&self, reason: &str) -> Vec<Claimed> {
        let mut state = self.lock();
        let mut claimed = Vec::with_capacity(state.stack.len());
        while let Some(pending) = state.stack.pop() {
            claimed.push(self.enqueue(&mut state, pending, ResolveRequest::discard(reason), Cause::Closing));
        }
        claimed
    }

    /// Takes nothing new from now on.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        if state.life == Life::Open {
            state.life = Life::Ending;
        }
        drop(state);
        self.shared.ending.cancel();
    }

    /// Claims the action with this id to let it expire; `None` where it is not pending any more.
    pub(crate) fn claim_expired(&self, id: &str) -> Option<Claimed> {
        let mut state = self.lock();
        let at = state.stack.iter().position(|pending| pending.id == id)?;
        let pending = state.stack.remove(at);
        Some(self.enqueue(&mut state, pending, ResolveRequest::discard("expired"), Cause::Expired))
    }

    fn enqueue(&self, state: &mut State, pending: Arc<Pending>, request: ResolveRequest, cause: Cause) -> Claimed {
        let (reply, receiver) = oneshot::channel();
        let (action, reason) = (request.action, request.reason.clone());
        self.shared.events.emit(|| EventKind::Claimed { pending: pending.summary(), action, reason });
        state.queue.push_back(Claim::new(pending, request, cause, reply));
        let start = !std::mem::replace(&mut state.driven, true);
        Claimed { reply: receiver, start }
    }

    /// The next claim to run; `None` ends the work on the queue.
    pub(crate) fn next_claim(&self) -> Option<Claim> {
        let mut state = self.lock();
        let claim = state.queue.pop_front();
        state.running = claim.as_ref().map(|claim| {
            let applies = claim.request.action == ResolveAction::Apply;
            Running { pending: claim.pending.clone(), begun: false, applies }
        });
        state.driven = claim.is_some();
        drop(state);
        if claim.is_none() {
            self.shared.idle.notify_waiters();
        }
        claim
    }

    /// The callback of the running claim begins now. False where the session has given it up meanwhile.
    pub(crate) fn begin(&self) -> bool {
        let mut state = self.lock();
        match &mut state.running {
            Some(running) => {
                running.begun = true;
                true
            }
            None => false,
        }
    }

    /// Records how a claim went. Returns the claims that waited behind it and must not run now; their actions are back
    /// in their places.
    pub(crate) fn finish(&self, claim: &Claim, end: &RunEnd, duration: Duration) -> Vec<Claim> {
        let mut state = self.lock();
        let running = state.running.take();
        let pending = &claim.pending;
        match end {
            RunEnd::Applied => state.outcomes.record(&pending.id, Outcome::Applied),
            RunEnd::Discarded { .. } => state.outcomes.record(&pending.id, claim.discarded_as()),
            RunEnd::ApplyFailed { .. } => {
                pending.attempts.fetch_add(1, Ordering::Relaxed);
                match state.life {
                    Life::Ended => state.outcomes.record(&pending.id, Outcome::Failed),
                    _ => state.put_back(pending.clone()),
                }
            }
            RunEnd::NotRun { .. } => state.put_back(pending.clone()),
        }
        self.shared.events.emit(|| end.event(claim, milliseconds(duration)));
        let held = if end.holds_back() { self.hold(&mut state, pending) } else { Vec::new() };
        // What is dropped now may run its author's code.
        drop(state);
        drop(running);
        held
    }

    /// Takes the claims that wait behind a failure out of the queue and puts their actions back.
    fn hold(&self, state: &mut State, failed: &Pending) -> Vec<Claim> {
        let (closing, held): (Vec<_>, Vec<_>) = state.queue.drain(..).partition(|claim| claim.cause != Cause::Asked);
        state.queue.extend(closing);
        for claim in &held {
            state.put_back(claim.pending.clone());
            let message = format!("the resolve of {} before it failed", failed.label);
            self.shared.events.emit(|| EventKind::Returned { pending: claim.pending.summary(), message });
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

    /// Gives up on whatever still runs or waits. Returns what was being applied or cleaned up, and what was dropped
    /// without a clean-up.
    pub(crate) fn abandon(&self) -> (Option<Arc<Pending>>, Vec<Arc<Pending>>) {
        let mut state = self.lock();
        state.life = Life::Ended;
        let (mut unknown, mut dropped) = (None, Vec::new());
        match state.running.take() {
            Some(running) if running.is_applying() => unknown = Some(running.pending),
            Some(running) => dropped.push(running.pending),
            None => {}
        }
        let queue = std::mem::take(&mut state.queue);
        dropped.extend(queue.iter().map(|claim| claim.pending.clone()));
        dropped.extend(std::mem::take(&mut state.stack));
        if let Some(pending) = &unknown {
            state.outcomes.record(&pending.id, Outcome::Unknown);
            self.shared.events.emit(|| EventKind::Unknown { pending: pending.summary() });
        }
        for pending in &dropped {
            state.outcomes.record(&pending.id, Outcome::Discarded);
            self.shared.events.emit(|| RunEnd::dropped(pending));
        }
        drop(state);
        drop(queue);
        if let Some(pending) = &unknown {
            self.record(Event::Unknown { id: pending.id.clone() });
        }
        for pending in &dropped {
            let cleanup_failure = Some("there was no time left for it".to_owned());
            let reason = "the session ended".to_owned();
            self.record(Event::Discarded { id: pending.id.clone(), reason, cleanup_failure });
        }
        (unknown, dropped)
    }

    /// The task that worked through the queue is gone, with its runtime.
    pub(crate) fn driver_lost(&self) {
        let mut state = self.lock();
        state.driven = false;
        let running = state.running.take();
        match &running {
            Some(running) if running.is_applying() => {
                let pending = &running.pending;
                state.outcomes.record(&pending.id, Outcome::Unknown);
                self.shared.events.emit(|| EventKind::Unknown { pending: pending.summary() });
            }
            // A clean-up that has begun is not begun again.
            Some(running) if running.begun => state.outcomes.record(&running.pending.id, Outcome::Discarded),
            Some(running) => state.put_back(running.pending.clone()),
            None => {}
        }
        let queue = std::mem::take(&mut state.queue);
        for claim in &queue {
            state.put_back(claim.pending.clone());
        }
        drop(state);
        if let Some(running) = running.as_ref().filter(|running| running.is_applying()) {
            self.record(Event::Unknown { id: running.pending.id.clone() });
        }
        // What is dropped now may run its author's code.
        drop((running, queue));
        self.shared.idle.notify_waiters();
    }

    pub(crate) fn downgrade(&self) -> WeakStore {
        WeakStore(Arc::downgrade(&self.shared))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A label is for a line; what is longer would drown whatever shows it.
fn shortened(mut label: String) -> String {
    const MOST_BYTES: usize = 500;
    if label.len() > MOST_BYTES {
        label.truncate(label.floor_char_boundary(MOST_BYTES));
        label.push_str(" ...");
    }
    label
}

/// A handle that does not keep the stack alive.
pub(crate) struct WeakStore(Weak<Shared>);

impl WeakStore {
    pub(crate) fn upgrade(&self) -> Option<PendingActionStore> {
        Some(PendingActionStore { shared: self.0.upgrade()? })
    }
}

impl State {
    fn put_back(&mut self, pending: Arc<Pending>) {
        if self.life == Life::Ended {
            self.outcomes.record(&pending.id, Outcome::Discarded);
            return;
        }
        let at = self.stack.partition_point(|other| other.position < pending.position);
        self.stack.insert(at, pending);
    }

    fn refusal(&self, id: &str) -> Refusal {
        let running = self.running.iter().map(|running| &running.pending);
        let mut claimed = self.queue.iter().map(|claim| &claim.pending).chain(running);
        if claimed.any(|pending| pending.id == id) {
            return Refusal::BeingResolved;
        }
        self.outcomes.get(id).map_or(Refusal::UnknownId, Refusal::Ended)
    }
}

#[cfg(all(test, shuttle))]
mod interleavings;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
