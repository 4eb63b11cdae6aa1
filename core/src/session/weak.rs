use std::fmt;
use std::sync::{Arc, Weak};

use super::{Inner, Session};
use crate::{PendingAction, PushError};

/// A handle to a session that does not keep it alive; what a tool's own side of things holds.
#[derive(Clone)]
pub struct WeakSession {
    inner: Weak<Inner>,
    number: u64,
}

impl WeakSession {
    pub(super) fn new(inner: &Arc<Inner>) -> Self {
        Self { inner: Arc::downgrade(inner), number: inner.number }
    }

    /// The session; `None` once its last handle was dropped.
    #[must_use]
    pub fn upgrade(&self) -> Option<Session> {
        Some(Session { inner: self.inner.upgrade()? })
    }

    /// Puts an action on the session's stack. `call` is the id of the tool call that stages it, 0 for none.
    /// Returns the action's id.
    ///
    /// # Errors
    ///
    /// Where the session keeps no pending actions or has ended, and where the call was cancelled or is another
    /// session's. Nothing was staged then; the action was dropped outside of every lock.
    pub fn push_pending_action(&self, call: u64, action: PendingAction) -> Result<String, PushError> {
        self.upgrade().ok_or(PushError::SessionEnded)?.push(call, action)
    }
}

impl fmt::Debug for WeakSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakSession").field(&self.number).finish()
    }
}
