//! The `resolve` tool.

#[cfg(test)]
mod approval_tests;
mod driver;
mod record;
mod run;
#[cfg(test)]
mod tests;
mod text;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use toolhost_protocol::{AgentToolResult, Effect, RESOLVE, ResolveAction, ResolveRequest, ToolDefinition};

use crate::{Pending, PendingActionStore};
use driver::spawn;
pub(crate) use run::Approval;

/// The definition of `resolve`, for a model. It is hidden: no list for people shows it.
#[must_use]
pub fn resolve_definition() -> ToolDefinition {
    let mut definition = ToolDefinition::new(RESOLVE);
    definition.label = "Resolve".to_owned();
    definition.description = "Applies or discards the pending action that a preview staged; without an id, the one \
                              staged last. Call it once you have read the preview."
        .to_owned();
    definition.parameters = json!({
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["apply", "discard"],
                "description": "apply makes the previewed change; discard drops it."
            },
            "reason": {"type": "string", "description": "Why, in one sentence."},
            "id": {"type": "string", "description": "The pending action's id; left out, the one staged last."}
        },
        "required": ["action", "reason"]
    });
    definition.effect = Effect::Changes;
    definition.hidden = true;
    definition
}

/// How a resolve ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Resolution {
    /// What the model gets.
    pub result: AgentToolResult,
    /// The same for a program.
    pub status: ResolveStatus,
    /// The action that it was about, where there was one.
    pub pending: Option<Arc<Pending>>,
}

/// How a resolve ended, for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResolveStatus {
    /// The change was made.
    Applied,
    /// The action was dropped.
    Discarded,
    /// The apply failed; the action is pending again, at its place.
    ApplyFailed {
        /// The code of the failure, such as [`STALE`](crate::STALE).
        code: Option<String>,
    },
    /// The action was dropped, and cleaning up after it failed.
    CleanupFailed,
    /// There was nothing to resolve.
    NothingPending,
    /// No pending action has the id that was asked for.
    UnknownId,
    /// A resolve before this one failed, so this one did not run; its action is back in its place.
    Held,
    /// Its source must not be run any more; the action was dropped, and nothing of it ran.
    Withdrawn,
    /// Whoever has the last word refused it, or nobody decided in time; the action is pending.
    Refused,
    /// Whoever has the last word wants the host to stop; the action is pending.
    Aborted,
    /// It would have taken what its own turn staged, which nobody has seen yet.
    SameTurn,
    /// It was asked for from inside an apply or a reject.
    Nested,
    /// The session ended before its turn came, or its runtime went away; nobody saw how it went.
    Lost,
}

impl ResolveStatus {
    /// Whether it did what was asked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Applied | Self::Discarded)
    }
}

/// A resolve under way. It goes on, and its outcome is recorded, also where this is dropped.
#[derive(Debug)]
#[must_use = "a resolve that nobody awaits goes on, but its outcome is not seen"]
pub struct ResolveFuture(Stage);

impl ResolveFuture {
    fn ready(resolution: Resolution) -> Self {
        Self(Stage::Ready(Some(Box::new(resolution))))
    }

    /// Where there is nothing to resolve, ever.
    pub(crate) fn nothing_pending(request: &ResolveRequest) -> Self {
        Self::ready(text::nothing_pending(request.action, &request.reason))
    }
}

#[derive(Debug)]
enum Stage {
    Ready(Option<Box<Resolution>>),
    Waiting { reply: oneshot::Receiver<Resolution>, action: ResolveAction, reason: String },
}

impl Future for ResolveFuture {
    type Output = Resolution;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Resolution> {
        match &mut self.0 {
            Stage::Ready(resolution) => match resolution.take() {
                Some(resolution) => Poll::Ready(*resolution),
                // As for any future, polling one that has ended is the caller's mistake.
                None => Poll::Pending,
            },
            Stage::Waiting { reply, action, reason } => {
                Pin::new(reply).poll(cx).map(|answer| answer.unwrap_or_else(|_| text::lost(*action, reason)))
            }
        }
    }
}

/// Resolves the actions of one store.
#[derive(Clone)]
pub(crate) struct Resolver {
    pub(crate) store: PendingActionStore,
    pub(crate) runtime: Handle,
    pub(crate) approval: Approval,
}

impl Resolver {
    /// Claims now, and runs when its turn comes.
    pub(crate) fn resolve(&self, request: ResolveRequest, turn: Option<u64>) -> ResolveFuture {
        let (action, reason) = (request.action, request.reason.clone());
        if run::is_running_here() {
            return ResolveFuture::ready(text::nested(action, &reason));
        }
        let id = request.id.clone().unwrap_or_default();
        match self.store.claim(request, turn) {
            Ok(claimed) => {
                self.start(claimed.start);
                ResolveFuture(Stage::Waiting { reply: claimed.reply, action, reason })
            }
            Err(refusal) => ResolveFuture::ready(text::refused(action, &reason, &id, &refusal)),
        }
    }

    /// Discards what is pending, the topmost first, after what is running, and hands over each outcome as it comes.
    pub(crate) async fn discard_all(&self, reason: &str, mut discarded: impl FnMut(Resolution)) {
        loop {
            let claimed = self.store.claim_all(reason);
            self.start(claimed.iter().any(|claimed| claimed.start));
            // An apply that was running may fail, and then its action is left to discard.
            self.store.idle().await;
            if claimed.is_empty() && !self.store.has_pending() {
                return;
            }
            for claimed in claimed {
                if let Ok(resolution) = claimed.reply.await {
                    discarded(resolution);
                }
            }
        }
    }

    /// Discards the action with this id after this time, if it is still pending then.
    pub(crate) fn expire(&self, id: String, after: Duration) {
        let (store, runtime, approval) = (self.store.downgrade(), self.runtime.clone(), self.approval.clone());
        self.runtime.spawn(async move {
            tokio::time::sleep(after).await;
            let Some(store) = store.upgrade() else {
                return;
            };
            let resolver = Self { store, runtime, approval };
            if let Some(claimed) = resolver.store.claim_expired(&id) {
                resolver.start(claimed.start);
            }
        });
    }

    fn start(&self, needed: bool) {
        if needed {
            spawn(self.store.clone(), self.approval.clone(), &self.runtime);
        }
    }
}
