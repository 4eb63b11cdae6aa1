//! The calls of a session: which run, and whose late pushes are refused.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use toolhost_protocol::service::SessionState;

use super::{Session, lock};
use crate::call::{Call, CallState};
use crate::pending::Preview;
use crate::{CallError, Caller, Failure, PendingAction, PushError, ToolSet};

/// Calls of one session; with the session's number above it makes a call's id unique in the process.
const CALL_BITS: u32 = 40;

#[derive(Default)]
pub(super) struct Calls {
    made: u64,
    running: HashMap<u64, Arc<CallState>>,
    cancelled: CancelledCalls,
    pub(super) ended: bool,
}

impl Session {
    pub(super) fn prepare(
        &self,
        tools: &ToolSet,
        name: &str,
        parameters: Value,
        turn: Option<u64>,
    ) -> Result<Call, CallError> {
        let Some(tool) = tools.get(name) else {
            return Err(CallError::unknown_tool(name, tools.similar_names(name)));
        };
        let parameters = tool.validator.accept(name, parameters).map_err(CallError::InvalidParameters)?;
        let mut calls = lock(&self.inner.calls);
        if calls.ended {
            return Err(CallError::SessionEnded { session: self.id().to_owned() });
        }
        calls.made += 1;
        let id = self.inner.number << CALL_BITS | calls.made;
        let state = Arc::new(CallState::new(id, tool, parameters, turn, self));
        calls.running.insert(id, state.clone());
        drop(calls);
        Ok(Call::running(self.clone(), state, tool.clone()))
    }

    pub(crate) fn call_ended(&self, state: &CallState) {
        let mut calls = lock(&self.inner.calls);
        calls.running.remove(&state.id());
        if state.cancellation().is_cancelled() {
            calls.cancelled.record(state.id());
        }
    }

    /// Who asks for a service: a plugin, and the call with this id, where it is running; 0 where none is.
    pub(crate) fn caller(&self, plugin: &str, call: u64) -> Result<Caller, Failure> {
        if self.inner.over.is_cancelled() {
            return Err(Failure::new("the session has ended, so nothing is done for its plugins any more"));
        }
        if call != 0 && call >> CALL_BITS != self.inner.number {
            let text =
                "the tool call belongs to another session; ask through the API that this session's factory was given";
            return Err(Failure::new(text));
        }
        let calls = lock(&self.inner.calls);
        if calls.cancelled.contains(call) {
            return Err(Failure::new("the tool call was cancelled, so nothing is done for it any more"));
        }
        let running = calls.running.get(&call).cloned();
        drop(calls);
        let cancellation = running.as_ref().map(|state| state.cancellation().clone()).unwrap_or_default();
        Ok(Caller {
            plugin: plugin.to_owned(),
            tool: running.as_ref().map(|state| state.tool_name().to_owned()),
            call: running.map(|state| state.id()),
            session: self.id().to_owned(),
            cwd: self.cwd().to_owned(),
            cancellation,
        })
    }

    /// Ends when the session is over; what is done for its plugins then stops.
    pub(crate) fn over(&self) -> impl Future<Output = ()> + Send + use<> {
        self.inner.over.cancelled()
    }

    /// What the session itself knows of what it is doing.
    pub(crate) fn state(&self) -> SessionState {
        let mut state = SessionState::default();
        state.idle = lock(&self.inner.calls).running.is_empty();
        state
    }

    /// Asks the running calls to stop.
    pub fn abort_calls(&self) {
        let running: Vec<_> = lock(&self.inner.calls).running.values().cloned().collect();
        for state in running {
            state.cancellation().cancel();
        }
    }

    /// Makes no call from now on, and asks the running ones to stop. False where that was done before.
    pub(super) fn stop_calls(&self) -> bool {
        if std::mem::replace(&mut lock(&self.inner.calls).ended, true) {
            return false;
        }
        self.abort_calls();
        true
    }

    pub(super) fn push(&self, call: u64, action: PendingAction) -> Result<String, PushError> {
        let Some(resolver) = &self.inner.resolver else {
            return Err(PushError::StoreUnavailable);
        };
        let limits = self.limits();
        let (bytes, limit) = (action.bytes(), limits.action_bytes);
        if bytes > limit {
            return Err(PushError::TooLarge { bytes, limit });
        }
        let pending = match self.pushing_call(call)? {
            Some(state) => state.staging(|| resolver.store.push_previewed(action, state.preview(), limits.pending))?,
            None => resolver.store.push_previewed(action, Preview::UNKNOWN, limits.pending)?,
        };
        if let Some(expiry) = self.inner.options.expiry {
            resolver.expire(pending.id().to_owned(), expiry);
        }
        Ok(pending.id().to_owned())
    }

    /// The running call with this id; `None` for 0 and for a call that ended on its own.
    fn pushing_call(&self, call: u64) -> Result<Option<Arc<CallState>>, PushError> {
        let calls = lock(&self.inner.calls);
        if calls.ended {
            return Err(PushError::SessionEnded);
        }
        if call == 0 {
            return Ok(None);
        }
        if call >> CALL_BITS != self.inner.number {
            return Err(PushError::ForeignCall);
        }
        if calls.cancelled.contains(call) {
            return Err(PushError::CallCancelled);
        }
        Ok(calls.running.get(&call).cloned())
    }
}

/// The ids of cancelled calls, of which late pushes are refused; the oldest are forgotten.
#[derive(Debug, Default)]
struct CancelledCalls(VecDeque<u64>);

impl CancelledCalls {
    const REMEMBERED: usize = 1024;

    fn record(&mut self, call: u64) {
        if self.0.len() == Self::REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    fn contains(&self, call: u64) -> bool {
        self.0.contains(&call)
    }
}
