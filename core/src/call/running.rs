use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::{Map, Value, json};
use toolhost_protocol::{AgentToolResult, Failure, PendingSummary};

use super::{CallContext, CallError, CallState};
use crate::catch::panicked;
use crate::session::Session;
use crate::{BoxFuture, Cancellation, ResolveFuture, Tool, ToolOutcome};

/// What a call ends with.
type Outcome = Result<AgentToolResult, CallError>;

/// A call under way: a future of its outcome that runs as it is polled, on any executor.
///
/// Dropping it stops the tool where it is. A call of `resolve` is the exception: it was claimed when it was made, and
/// goes on by itself.
#[must_use = "a call runs only as it is awaited"]
pub struct Call(Stage);

enum Stage {
    Ended(Option<Box<Outcome>>),
    Resolving(ResolveFuture),
    Running(Running),
}

impl Call {
    pub(crate) fn failed(error: CallError) -> Self {
        Self(Stage::Ended(Some(Box::new(Err(error)))))
    }

    pub(crate) fn resolving(resolve: ResolveFuture) -> Self {
        Self(Stage::Resolving(resolve))
    }

    pub(crate) fn running(session: Session, state: Arc<CallState>, tool: &dyn Tool) -> Self {
        let context = CallContext::new(state.clone());
        let entered = session.runtime().enter();
        let work = catch_unwind(AssertUnwindSafe(move || tool.execute(context)));
        drop(entered);
        let work = work.unwrap_or_else(|payload| {
            let failure = panicked(payload);
            Box::pin(async move { Err(failure) })
        });
        Self(Stage::Running(Running { session, state, work: Some(work) }))
    }

    /// The request to stop this call. Asking is soft: the tool decides how it ends.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        match &self.0 {
            Stage::Running(running) => running.state.cancellation().clone(),
            Stage::Ended(_) | Stage::Resolving(_) => Cancellation::new(),
        }
    }

    /// Runs the tool up to its next update. `None` once the call has ended; awaiting it then gives the outcome.
    ///
    /// Updates made before the first call of this method are not kept, and of those that nobody reads in time only
    /// the last 256.
    pub async fn next_update(&mut self) -> Option<AgentToolResult> {
        std::future::poll_fn(|cx| self.poll_update(cx)).await
    }

    fn poll_update(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentToolResult>> {
        let Stage::Running(running) = &self.0 else {
            return Poll::Ready(None);
        };
        let state = running.state.clone();
        if let Some(update) = state.next_update(cx.waker()) {
            return Poll::Ready(Some(update));
        }
        let outcome = self.poll_outcome(cx);
        let update = state.next_update(cx.waker());
        match (update, outcome) {
            (update, Poll::Ready(outcome)) => {
                self.0 = Stage::Ended(Some(Box::new(outcome)));
                Poll::Ready(update)
            }
            (Some(update), Poll::Pending) => Poll::Ready(Some(update)),
            (None, Poll::Pending) => Poll::Pending,
        }
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut self.0 {
            Stage::Running(running) => running.poll(cx),
            Stage::Resolving(resolve) => Pin::new(resolve).poll(cx).map(|resolution| Ok(resolution.result)),
            Stage::Ended(outcome) => match outcome.take() {
                Some(outcome) => Poll::Ready(*outcome),
                // As for any future, polling one that has ended is the caller's mistake.
                None => Poll::Pending,
            },
        }
    }
}

impl Future for Call {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_outcome(cx)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.0 {
            Stage::Ended(_) => "ended",
            Stage::Resolving(_) => "resolving",
            Stage::Running(_) => "running",
        };
        f.debug_tuple("Call").field(&stage).finish()
    }
}

struct Running {
    session: Session,
    state: Arc<CallState>,
    /// Gone once it has ended.
    work: Option<BoxFuture<ToolOutcome>>,
}

impl Running {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let entered = self.session.runtime().enter();
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        drop(entered);
        let outcome = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(payload) => Err(panicked(payload)),
        };
        let staged = self.end();
        Poll::Ready(self.outcome(outcome, staged))
    }

    fn outcome(&self, outcome: ToolOutcome, staged: Vec<PendingSummary>) -> Outcome {
        let name = self.state.tool_name();
        match outcome {
            Ok(result) => Ok(with_staged(result, &staged)),
            Err(_) if self.state.cancellation().is_cancelled() => Err(CallError::Cancelled { tool: name.to_owned() }),
            Err(failure) => Ok(with_staged(failed(name, failure), &staged)),
        }
    }

    fn end(&mut self) -> Vec<PendingSummary> {
        let staged = self.state.end();
        self.session.call_ended(&self.state);
        let work = self.work.take();
        let _entered = self.session.runtime().enter();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(work))) {
            let failure = panicked(payload);
            tracing::error!(tool = self.state.tool_name(), "a tool's call was dropped and {failure}");
        }
        staged
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.work.is_some() {
            self.state.cancellation().cancel();
            self.end();
        }
    }
}

fn failed(tool: &str, failure: Failure) -> AgentToolResult {
    let text = match failure.code.as_deref() {
        Some("panic") => format!("tool `{tool}` {}", failure.message),
        _ => failure.message,
    };
    let mut result = AgentToolResult::error(text);
    result.details = failure.details;
    result
}

/// Lists what a call staged in its result's details, which become an object where they are none.
fn with_staged(mut result: AgentToolResult, staged: &[PendingSummary]) -> AgentToolResult {
    if staged.is_empty() {
        return result;
    }
    let mut details = match result.details.take() {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(other) => Map::from_iter([("details".to_owned(), other)]),
    };
    details.insert("pending".to_owned(), json!(staged));
    result.details = Some(Value::Object(details));
    result
}

/// The ids of cancelled calls, of which late pushes are refused; the oldest are forgotten.
#[derive(Debug, Default)]
pub(crate) struct CancelledCalls(VecDeque<u64>);

impl CancelledCalls {
    const REMEMBERED: usize = 1024;

    pub(crate) fn record(&mut self, call: u64) {
        if self.0.len() == Self::REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(call);
    }

    pub(crate) fn contains(&self, call: u64) -> bool {
        self.0.contains(&call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_staged_joins_whatever_details_there_are() {
        let staged = [PendingSummary::new("1", "Rename", "rename")];
        let pending = json!([{"id": "1", "label": "Rename", "sourceToolName": "rename"}]);
        let details = |before: Option<Value>| {
            let mut result = AgentToolResult::text("x");
            result.details = before;
            with_staged(result, &staged).details
        };
        assert_eq!(details(None), Some(json!({"pending": pending})));
        assert_eq!(details(Some(json!({"n": 1}))), Some(json!({"n": 1, "pending": pending})));
        assert_eq!(details(Some(json!([1]))), Some(json!({"details": [1], "pending": pending})));
        assert_eq!(with_staged("x".into(), &[]).details, None);
    }
}
