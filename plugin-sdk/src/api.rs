use std::path::Path;
use std::sync::Arc;

use toolhost_protocol::CreateRequest;

use crate::ToolError;
use crate::adapter::HostLink;
use crate::context;
use crate::pending::{PendingActionId, StagedChange};

/// What a factory is given: the session that its tools are made for, and the host behind it.
///
/// Cheap to clone; a tool keeps one and may use it from any thread and any task.
#[derive(Debug, Clone)]
pub struct CustomToolApi {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    host: HostLink,
    session: CreateRequest,
}

impl CustomToolApi {
    pub(crate) fn new(host: HostLink, session: CreateRequest) -> Self {
        Self { inner: Arc::new(Inner { host, session }) }
    }

    /// The session's working directory, absolute. A plugin resolves relative paths against it, never against the
    /// process's own directory, which belongs to the host.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.inner.session.cwd.0
    }

    /// The directory in which the plugin's file was found, absolute.
    #[must_use]
    pub fn plugin_dir(&self) -> &Path {
        &self.inner.session.plugin_dir.0
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.inner.session.session_id
    }

    /// Stages a change: it waits on top of the session's stack until `resolve` applies or discards it.
    ///
    /// Called while a tool call runs, the action belongs to that call, and the call's result lists it. From a task
    /// that the tool spawned use [`ToolCall::push_pending_action`](crate::ToolCall::push_pending_action), so that it
    /// still does.
    ///
    /// # Errors
    ///
    /// The host refuses where it has no store for pending actions, where the session has ended, and where the tool
    /// call was cancelled; the message says which. Nothing was staged then.
    pub fn push_pending_action(&self, change: impl StagedChange) -> Result<PendingActionId, ToolError> {
        Ok(PendingActionId(self.inner.host.push(context::current_call(), change)?))
    }
}
