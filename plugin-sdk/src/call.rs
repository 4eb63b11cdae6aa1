use toolhost_protocol::AgentToolResult;

use crate::ToolError;
use crate::adapter::{CallLink, HostLink};
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
}
