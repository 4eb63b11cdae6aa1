use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use serde_json::Value;
use tokio::sync::OwnedMutexGuard;
use toolhost_protocol::{AgentToolResult, EventKind, Failure, PendingSummary, ToolDefinition};

use super::outcome::cut;
use crate::events::Events;
use crate::pending::Preview;
use crate::session::{Session, WeakSession};
use crate::tool::Registered;
use crate::{Cancellation, Pending, PendingAction, PushError};

/// How many updates wait for a slow reader; then the oldest go.
const KEPT_UPDATES: usize = 256;

/// One running call, as its tool sees it. Clones are the same call.
#[derive(Debug, Clone)]
pub struct CallContext {
    state: Arc<CallState>,
}

pub(crate) struct CallState {
    id: u64,
    // Not the tool: a plugin may keep the call inside its tool, which would then keep itself.
    definition: Arc<ToolDefinition>,
    fingerprint: Option<Arc<str>>,
    parameters: Value,
    turn: Option<u64>,
    session: WeakSession,
    cancellation: Cancellation,
    events: Events,
    /// The most that an update may have.
    result_bytes: usize,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The result was taken: nothing may follow it.
    ended: bool,
    /// Absent until somebody reads updates.
    updates: Option<VecDeque<AgentToolResult>>,
    reader: Option<Waker>,
    staged: Vec<PendingSummary>,
    /// Held while it runs, where calls of its tool wait for each other.
    turn: Option<OwnedMutexGuard<()>>,
}

impl CallContext {
    pub(crate) fn new(state: Arc<CallState>) -> Self {
        Self { state }
    }

    /// The call's id, unique in the process and never 0.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.state.id
    }

    /// The parameters, which satisfy the tool's schema.
    #[must_use]
    pub fn parameters(&self) -> &Value {
        &self.state.parameters
    }

    /// Streams a partial result. False once the call's result was taken; nothing was streamed then. Never blocks:
    /// where nobody reads, it is dropped.
    pub fn update(&self, partial: AgentToolResult) -> bool {
        self.state.update(partial)
    }

    /// The request to stop this call.
    #[must_use]
    pub fn cancellation(&self) -> &Cancellation {
        &self.state.cancellation
    }

    /// Stages a change as part of this call. Returns the action's id.
    ///
    /// # Errors
    ///
    /// A failure made of the [`PushError`]; nothing was staged then.
    pub fn push_pending_action(&self, action: PendingAction) -> Result<String, Failure> {
        self.state.session.push_pending_action(self.state.id, action).map_err(|error| Failure::new(error.to_string()))
    }
}

impl CallState {
    pub(crate) fn new(id: u64, tool: &Registered, parameters: Value, turn: Option<u64>, session: &Session) -> Self {
        Self {
            id,
            definition: tool.definition.clone(),
            fingerprint: tool.fingerprint.clone(),
            parameters,
            turn,
            session: session.downgrade(),
            cancellation: Cancellation::new(),
            events: session.events_hub().clone(),
            result_bytes: session.limits().result_bytes,
            progress: Mutex::default(),
        }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn parameters(&self) -> &Value {
        &self.parameters
    }

    pub(crate) fn tool_name(&self) -> &str {
        &self.definition.name
    }

    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    pub(crate) fn preview(&self) -> Preview<'_> {
        Preview {
            tool: Some(self.tool_name()),
            parameters: &self.parameters,
            plugin: self.fingerprint.as_deref(),
            effect: self.definition.effect,
            turn: self.turn,
        }
    }

    /// Notes what the call staged. Refused once the call was cancelled.
    pub(crate) fn staging(
        &self,
        push: impl FnOnce() -> Result<Arc<Pending>, PushError>,
    ) -> Result<Arc<Pending>, PushError> {
        if self.cancellation.is_cancelled() {
            return Err(PushError::CallCancelled);
        }
        let pending = push()?;
        self.lock().staged.push(pending.summary());
        Ok(pending)
    }

    fn update(&self, partial: AgentToolResult) -> bool {
        let partial = cut(partial, self.result_bytes);
        let mut progress = self.lock();
        if progress.ended {
            return false;
        }
        self.events.emit(|| EventKind::ToolUpdate { call: self.id, update: partial.clone() });
        let Some(updates) = &mut progress.updates else {
            return true;
        };
        if updates.len() == KEPT_UPDATES {
            updates.pop_front();
        }
        updates.push_back(partial);
        let reader = progress.reader.take();
        drop(progress);
        if let Some(reader) = reader {
            reader.wake();
        }
        true
    }

    /// Keeps updates from now on, and wakes this task for the next one. Returns the oldest that is there.
    pub(crate) fn next_update(&self, reader: &Waker) -> Option<AgentToolResult> {
        let mut progress = self.lock();
        progress.reader = Some(reader.clone());
        progress.updates.get_or_insert_default().pop_front()
    }

    /// The updates that nobody has read.
    pub(crate) fn take_updates(&self) -> VecDeque<AgentToolResult> {
        self.lock().updates.take().unwrap_or_default()
    }

    /// Takes the result: from here on nothing is streamed. Returns what the call staged.
    pub(crate) fn end(&self) -> Vec<PendingSummary> {
        let mut progress = self.lock();
        progress.ended = true;
        // Also a call that is left behind while it runs lets the next one begin.
        progress.turn = None;
        std::mem::take(&mut progress.staged)
    }

    /// Keeps others of its tool waiting until it ends.
    pub(crate) fn hold(&self, turn: Option<OwnedMutexGuard<()>>) {
        self.lock().turn = turn;
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CallState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallState").field("id", &self.id).field("tool", &self.tool_name()).finish()
    }
}
