use toolhost_protocol::AgentToolResult;
use toolhost_protocol::service::{SESSION_ABORT, SESSION_STATE, SessionState};

use crate::ToolError;
use crate::adapter::{CallLink, HostLink};
use crate::context::Scoped;
use crate::pending::{PendingActionId, StagedChange};

/// One running call of a tool. Cheap to clone, usable from any thread and any task.
#[derive(Debug, Clone)]
pub struct ToolCall {
    host: HostLink,
    call: CallLink,
}

impl ToolCall {
    pub(crate) fn new(host: HostLink, call: CallLink) -> Self {
        Self { host, call }
    }

    /// The call's id, unique within the host's process.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.call.id()
    }

    /// Streams a partial result, such as progress, to whoever watches the call.
    ///
    /// Returns false once the call's result was taken; nothing was streamed then. Never blocks.
    pub fn update(&self, partial: impl Into<AgentToolResult>) -> bool {
        self.call.update(&partial.into())
    }

    /// Whether the caller asks the tool to stop. Cheap enough for a loop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Ends when the caller asks the tool to stop; never, where it does not. Made for `select!`.
    ///
    /// A tool that does not stop in time is dropped at its next `await`.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Stages a change as part of this call, from any task; see
    /// [`CustomToolApi::push_pending_action`](crate::CustomToolApi::push_pending_action).
    ///
    /// # Errors
    ///
    /// As there.
    pub fn push_pending_action(&self, change: impl StagedChange) -> Result<PendingActionId, ToolError> {
        Ok(PendingActionId(self.host.push(self.id(), change)?))
    }

    /// Makes a future part of this call, whatever task polls it: what it stages, runs or asks through
    /// [`CustomToolApi`](crate::CustomToolApi) then belongs to the call, and ends with its cancellation.
    ///
    /// ```
    /// # use toolhost_plugin_sdk::prelude::*;
    /// # async fn execute(pi: CustomToolApi, call: ToolCall) -> ToolResult {
    /// let work = call.scope(async move { pi.exec("make", ["-j2"], ExecOptions::new()).await });
    /// tokio::spawn(work).await??.require_success()?;
    /// # Ok("".into()) }
    /// ```
    pub fn scope<F: Future>(&self, future: F) -> Scoped<F> {
        Scoped::new(self.id(), future)
    }

    /// What the session is doing besides: whether it is idle, and how many of a person's messages wait for the model.
    ///
    /// # Errors
    ///
    /// Where the host is too old to say, and where the session is gone.
    pub async fn session_state(&self) -> Result<SessionState, ToolError> {
        Ok(self.host.ask(self.id(), SESSION_STATE, &()).await?)
    }

    /// Asks the host to stop what the session is doing, this call included: the model gets no further turn. Meant for a
    /// tool that finds that going on would do harm. Nothing follows from it where the host is too old.
    pub fn abort(&self) {
        // It was taken as it was asked.
        drop(self.host.ask::<(), _>(self.id(), SESSION_ABORT, &()));
    }
}
