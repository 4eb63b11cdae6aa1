use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use toolhost_protocol::{Actor, AgentToolResult, Failure, ResolveAction};

use super::{Resolution, ResolveStatus, record, text};
use crate::approver::{ApprovalRequest, Approver, Decision};
use crate::catch::caught;
use crate::pending::{Claim, RunEnd, verify};
use crate::{Cancellation, PendingActionStore};

tokio::task_local! {
    /// Set while an apply or a reject runs in this task.
    static RUNNING: ();
}

/// Whether the code that asks is part of an apply or a reject.
pub(super) fn is_running_here() -> bool {
    RUNNING.try_with(|()| ()).is_ok()
}

/// Who decides, and how long that may take.
#[derive(Clone)]
pub(crate) struct Approval {
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) limit: Duration,
}

/// A claim that has run, or was not allowed to.
pub(super) struct Ran {
    pub(super) resolution: Resolution,
    pub(super) end: RunEnd,
    pub(super) duration: Duration,
}

/// What an apply is allowed to do.
enum Verdict {
    Apply,
    Discard(String),
    /// Nothing of it may run.
    Withdraw(String),
    Not {
        status: ResolveStatus,
        message: String,
    },
}

/// Runs a claim to its end.
pub(super) async fn run(store: &PendingActionStore, approval: &Approval, claim: &Claim) -> Ran {
    let started = Instant::now();
    let resolved_by = approval.resolved_by(claim.request.by);
    let verdict = verdict(store, approval, claim).await;
    let reason = match &verdict {
        Verdict::Discard(reason) | Verdict::Withdraw(reason) => reason.clone(),
        _ => claim.request.reason.clone(),
    };
    let (resolution, end) = match verdict {
        Verdict::Apply => apply(store, claim, resolved_by).await,
        Verdict::Discard(reason) => discard(store, claim, reason, resolved_by).await,
        Verdict::Withdraw(why) => withdraw(store, claim, why, resolved_by).await,
        Verdict::Not { status, message } => {
            let action = text::about(claim, ResolveAction::Apply, &claim.request.reason, resolved_by);
            (action.resolution(status, AgentToolResult::error(&message)), RunEnd::NotRun { message })
        }
    };
    record::ended(store, claim, &end, &reason).await;
    Ran { resolution, end, duration: started.elapsed() }
}

/// What is to become of a claim. Whether anything of it may run is asked before somebody decides, and again after that,
/// which may have taken long.
async fn verdict(store: &PendingActionStore, approval: &Approval, claim: &Claim) -> Verdict {
    let withdrawn = || claim.pending.withdrawn().map(Verdict::Withdraw);
    if let Some(withdrawn) = withdrawn() {
        return withdrawn;
    }
    match claim.request.action {
        ResolveAction::Discard => Verdict::Discard(claim.request.reason.clone()),
        ResolveAction::Apply => match approval.decide(claim, store.ending()).await {
            verdict @ Verdict::Not { .. } => verdict,
            verdict => withdrawn().unwrap_or(verdict),
        },
    }
}

impl Approval {
    /// What the result says of who decided: nothing, where that is whoever asked.
    fn resolved_by(&self, by: Actor) -> Option<String> {
        match (&self.approver, by) {
            (_, Actor::Human) => Some("human".to_owned()),
            (Some(approver), _) => Some(approver.name().to_owned()),
            (None, _) => None,
        }
    }

    async fn decide(&self, claim: &Claim, ending: &Cancellation) -> Verdict {
        let Some(approver) = &self.approver else {
            return Verdict::Apply;
        };
        let request = ApprovalRequest {
            action: claim.request.action,
            reason: claim.request.reason.clone(),
            by: claim.request.by,
            effect: claim.pending.effect(),
        };
        let not = |status, message: String| Verdict::Not { status, message };
        let asked = caught(|| {
            let decision = approver.decide(claim.pending.clone(), request);
            async { Ok(decision.await) }
        });
        let bounded = tokio::time::timeout(self.limit, asked);
        match select(Box::pin(bounded), Box::pin(ending.cancelled())).await {
            Either::Left((Ok(Ok(Decision::Apply)), _)) => Verdict::Apply,
            Either::Left((Ok(Ok(Decision::Discard(reason))), _)) => Verdict::Discard(reason),
            Either::Left((Ok(Ok(Decision::Refuse(message))), _)) => not(ResolveStatus::Refused, message),
            Either::Left((Ok(Ok(Decision::Abort)), _)) => not(ResolveStatus::Aborted, text::ABORTED.to_owned()),
            Either::Left((Ok(Err(failure)), _)) => not(
                ResolveStatus::Refused,
                format!("Nobody could decide: the approver {failure}. It is still pending."),
            ),
            Either::Left((Err(_elapsed), _)) => {
                let limit = self.limit.as_secs_f64();
                not(ResolveStatus::Refused, format!("Nobody decided within {limit} s. It is still pending."))
            }
            Either::Right(_) => not(ResolveStatus::Refused, "The session ends; nobody decides any more.".to_owned()),
        }
    }
}

async fn apply(store: &PendingActionStore, claim: &Claim, resolved_by: Option<String>) -> (Resolution, RunEnd) {
    let about = text::about(claim, ResolveAction::Apply, &claim.request.reason, resolved_by);
    record::claimed(store, claim, ResolveAction::Apply).await;
    let outcome = match verified(claim).await {
        Ok(()) if !store.begin() => return about.lost(),
        Ok(()) => recorded_apply(store, claim).await,
        Err(failure) => Err(failure),
    };
    match outcome.and_then(failed_if_error) {
        Ok(result) => {
            let result = or_text(result, || format!("Applied: {}.", claim.pending.label()));
            (about.resolution(ResolveStatus::Applied, result), RunEnd::Applied)
        }
        Err(failure) => {
            let status = ResolveStatus::ApplyFailed { code: failure.code.clone() };
            let message = failure.message.clone();
            let result = error(format!("Apply failed: {message}"), failure);
            (about.resolution(status, result), RunEnd::ApplyFailed { message })
        }
    }
}

async fn recorded_apply(store: &PendingActionStore, claim: &Claim) -> Result<AgentToolResult, Failure> {
    record::applying(store, claim).await.map_err(|error| {
        Failure::new(format!("the journal cannot be written, so nothing was applied: {error}")).with_code("journal")
    })?;
    RUNNING.scope((), caught(|| (claim.pending.callbacks().apply)(claim.request.reason.clone()))).await
}

async fn verified(claim: &Claim) -> Result<(), Failure> {
    let dependencies = claim.pending.dependencies().to_vec();
    if dependencies.is_empty() {
        return Ok(());
    }
    let checked = tokio::task::spawn_blocking(move || verify(&dependencies)).await;
    checked.unwrap_or_else(|error| Err(Failure::new(format!("what it depends on could not be verified: {error}"))))
}

async fn discard(
    store: &PendingActionStore,
    claim: &Claim,
    reason: String,
    resolved_by: Option<String>,
) -> (Resolution, RunEnd) {
    let label = claim.pending.label();
    let about = text::about(claim, ResolveAction::Discard, &reason, resolved_by);
    record::claimed(store, claim, ResolveAction::Discard).await;
    if !store.begin() {
        return about.lost();
    }
    match RUNNING.scope((), cleaned_up(claim, &reason)).await {
        Ok(returned) => {
            let returned = returned.filter(|result| !result.content.is_empty()).unwrap_or_default();
            let result = or_text(returned, || format!("Discarded: {label}. Reason: {reason}"));
            (about.resolution(ResolveStatus::Discarded, result), RunEnd::Discarded { cleanup_failure: None })
        }
        Err(failure) => {
            let message = failure.message.clone();
            let result = error(format!("Discarded: {label}. Cleanup failed: {message}"), failure);
            let end = RunEnd::Discarded { cleanup_failure: Some(message) };
            (about.resolution(ResolveStatus::CleanupFailed, result), end)
        }
    }
}

/// Drops an action of which nothing may run. That is no success, also where a discard was asked for: what its `reject`
/// would have cleaned up is still there.
async fn withdraw(
    store: &PendingActionStore,
    claim: &Claim,
    why: String,
    resolved_by: Option<String>,
) -> (Resolution, RunEnd) {
    let about = text::about(claim, ResolveAction::Discard, &claim.request.reason, resolved_by);
    record::claimed(store, claim, ResolveAction::Discard).await;
    if !store.begin() {
        return about.lost();
    }
    let result = AgentToolResult::error(format!("Discarded: {}. {why}", claim.pending.label()));
    (about.resolution(ResolveStatus::Withdrawn, result), RunEnd::Discarded { cleanup_failure: Some(why) })
}

async fn cleaned_up(claim: &Claim, reason: &str) -> Result<Option<AgentToolResult>, Failure> {
    let Some(reject) = &claim.pending.callbacks().reject else {
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
