use toolhost_protocol::{AgentToolResult, Failure, ResolveAction};

use super::{Resolution, ResolveStatus, text};
use crate::catch::caught;
use crate::pending::{Claim, Pending, RunEnd};

tokio::task_local! {
    /// Set while an apply or a reject runs in this task.
    static RUNNING: ();
}

/// Whether the code that asks is part of an apply or a reject.
pub(super) fn is_running_here() -> bool {
    RUNNING.try_with(|()| ()).is_ok()
}

/// Runs a claim to its end.
pub(super) async fn run(claim: &Claim) -> (Resolution, RunEnd) {
    RUNNING
        .scope((), async {
            match claim.action {
                ResolveAction::Apply => apply(claim).await,
                ResolveAction::Discard => discard(claim).await,
            }
        })
        .await
}

async fn apply(claim: &Claim) -> (Resolution, RunEnd) {
    let outcome = caught(|| (claim.pending.callbacks().apply)(claim.reason.clone())).await;
    match outcome.and_then(failed_if_error) {
        Ok(result) => {
            let result = or_text(result, || format!("Applied: {}.", claim.pending.label()));
            (text::of_action(claim, ResolveStatus::Applied, result), RunEnd::Applied)
        }
        Err(failure) => {
            let status = ResolveStatus::ApplyFailed { code: failure.code.clone() };
            let result = error(format!("Apply failed: {}", failure.message), failure);
            (text::of_action(claim, status, result), RunEnd::ApplyFailed)
        }
    }
}

async fn discard(claim: &Claim) -> (Resolution, RunEnd) {
    let label = claim.pending.label();
    match cleaned_up(&claim.pending, &claim.reason).await {
        Ok(returned) => {
            let returned = returned.filter(|result| !result.content.is_empty()).unwrap_or_default();
            let result = or_text(returned, || format!("Discarded: {label}. Reason: {}", claim.reason));
            (text::of_action(claim, ResolveStatus::Discarded, result), RunEnd::Discarded)
        }
        Err(failure) => {
            let result = error(format!("Discarded: {label}. Cleanup failed: {}", failure.message), failure);
            (text::of_action(claim, ResolveStatus::CleanupFailed, result), RunEnd::CleanupFailed)
        }
    }
}

async fn cleaned_up(pending: &Pending, reason: &str) -> Result<Option<AgentToolResult>, Failure> {
    let Some(reject) = &pending.callbacks().reject else {
        return Ok(None);
    };
    match caught(|| reject(reason.to_owned())).await? {
        Some(result) => failed_if_error(result).map(Some),
        None => Ok(None),
    }
}

/// A result that reports a failure is one, whatever its type says.
fn failed_if_error(result: AgentToolResult) -> Result<AgentToolResult, Failure> {
    if !result.is_error {
        return Ok(result);
    }
    let text = result.to_text();
    let mut failure = Failure::new(if text.is_empty() { "no message was given".to_owned() } else { text });
    failure.details = result.details;
    Err(failure)
}

fn or_text(result: AgentToolResult, text: impl FnOnce() -> String) -> AgentToolResult {
    if result.content.is_empty() {
        let mut replaced = AgentToolResult::text(text());
        replaced.details = result.details;
        return replaced;
    }
    result
}

fn error(text: String, failure: Failure) -> AgentToolResult {
    let mut result = AgentToolResult::error(text);
    result.details = failure.details;
    result
}
