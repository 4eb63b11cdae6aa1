//! What a resolve says, apart from what an action's own callbacks say.

use std::sync::Arc;

use toolhost_protocol::{AgentToolResult, ResolveAction, ResolveDetails};

use super::{Resolution, ResolveStatus};
use crate::pending::{Claim, Pending, Refusal, RunEnd};

pub(super) const ABORTED: &str = "The decision was to stop. Nothing was applied, and the action is still pending.";

/// What the result of a resolve is about.
pub(super) struct About {
    pending: Arc<Pending>,
    details: ResolveDetails,
}

pub(super) fn about(claim: &Claim, action: ResolveAction, reason: &str, resolved_by: Option<String>) -> About {
    let mut details = ResolveDetails::new(action, reason);
    details.source_tool_name = Some(claim.pending.source_tool_name().to_owned());
    details.label = Some(claim.pending.label().to_owned());
    details.id = Some(claim.pending.id().to_owned());
    details.resolved_by = resolved_by;
    About { pending: claim.pending.clone(), details }
}

impl About {
    /// The details that the result came with move into the resolve's own.
    pub(super) fn resolution(mut self, status: ResolveStatus, mut result: AgentToolResult) -> Resolution {
        self.details.source_result_details = result.details.take();
        result.details = serde_json::to_value(self.details).ok();
        Resolution { result, status, pending: Some(self.pending) }
    }

    /// The session has given the action up before its turn came.
    pub(super) fn lost(self) -> (Resolution, RunEnd) {
        let message = "the session ended before it could run".to_owned();
        let result = AgentToolResult::error(format!("Nothing was done: {message}."));
        (self.resolution(ResolveStatus::Lost, result), RunEnd::NotRun { message })
    }
}

pub(super) fn nothing_pending(action: ResolveAction, reason: &str) -> Resolution {
    without_action(
        action,
        reason,
        ResolveStatus::NothingPending,
        "No pending action to resolve. Nothing to apply or discard.".to_owned(),
    )
}

pub(super) fn nested(action: ResolveAction, reason: &str) -> Resolution {
    let text = "resolve cannot be called from inside an apply or a reject. Stage what should follow as a pending \
                action of its own.";
    without_action(action, reason, ResolveStatus::Nested, text.to_owned())
}

pub(super) fn lost(action: ResolveAction, reason: &str) -> Resolution {
    let text = format!("The session went away before its {action} was seen to end. Check what it changed.");
    without_action(action, reason, ResolveStatus::Lost, text)
}

pub(super) fn refused(action: ResolveAction, reason: &str, id: &str, refusal: &Refusal) -> Resolution {
    let text = match refusal {
        Refusal::NothingPending => return nothing_pending(action, reason),
        Refusal::SameTurn(pending) => return same_turn(action, reason, pending),
        Refusal::UnknownId => format!("No pending action has the id {id}. Leave the id out to resolve the topmost."),
        Refusal::BeingResolved => format!("Pending action {id} is being resolved right now."),
        Refusal::Ended(outcome) => format!("Pending action {id} {outcome}."),
    };
    without_action(action, reason, ResolveStatus::UnknownId, text)
}

fn same_turn(action: ResolveAction, reason: &str, pending: &Pending) -> Resolution {
    let text = format!(
        "Not resolved: {} ({}) was staged in this very turn, and nobody has read its preview yet. Read it, then call \
         resolve in your next turn.",
        pending.label(),
        pending.source_tool_name(),
    );
    without_action(action, reason, ResolveStatus::SameTurn, text)
}

/// For a resolve that waited behind one that failed.
pub(super) fn held(claim: &Claim, failed: &Pending, resolved_by: Option<String>) -> Resolution {
    let text = format!(
        "Not resolved: {} ({}), since the resolve of {} ({}) before it failed. It is pending again, at its place.",
        claim.pending.label(),
        claim.pending.source_tool_name(),
        failed.label(),
        failed.source_tool_name(),
    );
    about(claim, claim.request.action, &claim.request.reason, resolved_by)
        .resolution(ResolveStatus::Held, AgentToolResult::error(text))
}

fn without_action(action: ResolveAction, reason: &str, status: ResolveStatus, text: String) -> Resolution {
    let mut result = AgentToolResult::error(text);
    result.details = serde_json::to_value(ResolveDetails::new(action, reason)).ok();
    Resolution { result, status, pending: None }
}
