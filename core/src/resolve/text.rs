//! What a resolve says, apart from what an action's own callbacks say.

use toolhost_protocol::{AgentToolResult, ResolveAction, ResolveDetails};

use super::{Resolution, ResolveStatus};
use crate::pending::{Claim, Pending, Refusal};

/// The result of a resolve that had an action; the details that the result came with move into the resolve's own.
pub(super) fn of_action(claim: &Claim, status: ResolveStatus, mut result: AgentToolResult) -> Resolution {
    let mut details = ResolveDetails::new(claim.action, &claim.reason);
    details.source_tool_name = Some(claim.pending.source_tool_name().to_owned());
    details.label = Some(claim.pending.label().to_owned());
    details.id = Some(claim.pending.id().to_owned());
    details.source_result_details = result.details.take();
    result.details = serde_json::to_value(details).ok();
    Resolution { result, status, pending: Some(claim.pending.clone()) }
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
        Refusal::UnknownId => format!("No pending action has the id {id}. Leave the id out to resolve the topmost."),
        Refusal::BeingResolved => format!("Pending action {id} is being resolved right now."),
        Refusal::Ended(outcome) => format!("Pending action {id} {outcome}."),
    };
    without_action(action, reason, ResolveStatus::UnknownId, text)
}

/// For a resolve that waited behind one that failed.
pub(super) fn held(claim: &Claim, failed: &Pending) -> Resolution {
    let text = format!(
        "Not resolved: {} ({}), since the resolve of {} ({}) before it failed. It is pending again, at its place.",
        claim.pending.label(),
        claim.pending.source_tool_name(),
        failed.label(),
        failed.source_tool_name(),
    );
    of_action(claim, ResolveStatus::Held, AgentToolResult::error(text))
}

fn without_action(action: ResolveAction, reason: &str, status: ResolveStatus, text: String) -> Resolution {
    let mut result = AgentToolResult::error(text);
    result.details = serde_json::to_value(ResolveDetails::new(action, reason)).ok();
    Resolution { result, status, pending: None }
}
