use std::sync::Arc;

use tokio::sync::oneshot;
use toolhost_protocol::{EventKind, ResolveRequest};

use super::{Outcome, Pending};
use crate::Resolution;

/// An action that is off the stack because a resolve wants it.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) pending: Arc<Pending>,
    pub(crate) request: ResolveRequest,
    pub(crate) cause: Cause,
    reply: oneshot::Sender<Resolution>,
}

/// Where a claim comes from. Only what was asked for is held back by a failure before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Asked,
    /// The session ends, or turns to something else.
    Closing,
    Expired,
}

/// A claim that was made.
pub(crate) struct Claimed {
    pub(crate) reply: oneshot::Receiver<Resolution>,
    /// Whether the caller has to start working through the queue.
    pub(crate) start: bool,
}

/// Why nothing was claimed.
#[derive(Debug, Clone)]
pub(crate) enum Refusal {
    NothingPending,
    UnknownId,
    BeingResolved,
    Ended(Outcome),
    /// The turn that asks has itself staged what it would take.
    SameTurn(Arc<Pending>),
}

/// How the run of a claim went, as far as the stack is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunEnd {
    Applied,
    ApplyFailed {
        message: String,
    },
    Discarded {
        cleanup_failure: Option<String>,
    },
    /// It was not allowed to run.
    NotRun {
        message: String,
    },
}

impl Claim {
    pub(super) fn new(
        pending: Arc<Pending>,
        request: ResolveRequest,
        cause: Cause,
        reply: oneshot::Sender<Resolution>,
    ) -> Self {
        Self { pending, request, cause, reply }
    }

    /// Tells whoever waits; nobody may.
    pub(crate) fn answer(self, resolution: Resolution) {
        let _ = self.reply.send(resolution);
    }

    /// Whether nobody asked for it, but its time is over.
    pub(crate) fn expires(&self) -> bool {
        self.cause == Cause::Expired
    }

    pub(super) fn discarded_as(&self) -> Outcome {
        if self.cause == Cause::Expired { Outcome::Expired } else { Outcome::Discarded }
    }
}

impl RunEnd {
    /// Whether the claims behind it must not run.
    pub(super) fn holds_back(&self) -> bool {
        !matches!(self, Self::Applied | Self::Discarded { cleanup_failure: None })
    }

    pub(super) fn event(&self, claim: &Claim, duration_ms: u64) -> EventKind {
        let (pending, reason) = (claim.pending.summary(), claim.request.reason.clone());
        match self.clone() {
            Self::Applied => EventKind::Applied { pending, reason, duration_ms },
            Self::ApplyFailed { message } => EventKind::Failed { pending, reason, message, duration_ms },
            Self::Discarded { .. } if claim.cause == Cause::Expired => EventKind::Expired { pending },
            Self::Discarded { cleanup_failure } => {
                EventKind::Discarded { pending, reason, cleanup_failure, duration_ms }
            }
            Self::NotRun { message } => EventKind::Returned { pending, message },
        }
    }

    /// For an action that was dropped without its clean-up.
    pub(super) fn dropped(pending: &Pending) -> EventKind {
        EventKind::Discarded {
            pending: pending.summary(),
            reason: "the session ended".to_owned(),
            cleanup_failure: Some("there was no time left for it".to_owned()),
            duration_ms: 0,
        }
    }
}
