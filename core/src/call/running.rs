use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_util::future::{Either, select};
use tokio::sync::{Mutex, OwnedMutexGuard};
use toolhost_protocol::{AgentToolResult, Effect, EventKind, Failure, PARAMETERS, PendingSummary};

use super::{CallContext, CallError, CallState, outcome};
use crate::catch::panicked;
use crate::events::milliseconds;
use crate::session::Session;
use crate::tool::Registered;
use crate::{BoxFuture, Cancellation, InvalidParameters, ResolveFuture, ToolOutcome};

/// What a call ends with.
pub(crate) type Outcome = Result<AgentToolResult, CallError>;

/// A call under way: a future of its outcome that runs as it is polled, on any executor.
///
/// Dropping it stops the tool where it is. A call of `resolve` is the exception: it was claimed when it was made, and
/// goes on by itself.
#[must_use = "a call runs only as it is awaited"]
pub struct Call(Stage);

enum Stage {
    Ended { outcome: Option<Box<Outcome>>, updates: VecDeque<AgentToolResult> },
    Resolving(ResolveFuture),
    Running(Running),
}

impl Call {
    pub(crate) fn failed(error: CallError) -> Self {
        Self(Stage::Ended { outcome: Some(Box::new(Err(error))), updates: VecDeque::new() })
    }

    pub(crate) fn resolving(resolve: ResolveFuture) -> Self {
        Self(Stage::Resolving(resolve))
    }

    pub(crate) fn running(session: Session, state: Arc<CallState>, tool: Arc<Registered>) -> Self {
        Self(Stage::Running(Running { session, state, tool, stops: Vec::new(), progress: Progress::Made }))
    }

    /// The same call, which does not begin once one of these is asked for.
    pub(crate) fn unless(mut self, stops: [Cancellation; 2]) -> Self {
        if let Stage::Running(running) = &mut self.0 {
            running.stops = stops.into();
        }
        self
    }

    /// The request to stop this call. Asking is soft: the tool decides how it ends.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        match &self.0 {
            Stage::Running(running) => running.state.cancellation().clone(),
            Stage::Ended { .. } | Stage::Resolving(_) => Cancellation::new(),
        }
    }

    /// The call's own side, while it runs.
    pub(crate) fn state(&self) -> Option<&Arc<CallState>> {
        match &self.0 {
            Stage::Running(running) => Some(&running.state),
            Stage::Ended { .. } | Stage::Resolving(_) => None,
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
        let state = match &mut self.0 {
            Stage::Running(running) => running.state.clone(),
            Stage::Ended { updates, .. } => return Poll::Ready(updates.pop_front()),
            Stage::Resolving(_) => return Poll::Ready(None),
        };
        if let Some(update) = state.next_update(cx.waker()) {
            return Poll::Ready(Some(update));
        }
        if let Poll::Ready(outcome) = self.poll_outcome(cx) {
            // What the last poll streamed comes before its result.
            let mut updates = state.take_updates();
            let next = updates.pop_front();
            self.0 = Stage::Ended { outcome: Some(Box::new(outcome)), updates };
            return Poll::Ready(next);
        }
        match state.next_update(cx.waker()) {
            Some(update) => Poll::Ready(Some(update)),
            None => Poll::Pending,
        }
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        match &mut self.0 {
            Stage::Running(running) => running.poll(cx),
            Stage::Resolving(resolve) => Pin::new(resolve).poll(cx).map(|resolution| Ok(resolution.result)),
            Stage::Ended { outcome, .. } => match outcome.take() {
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
            Stage::Ended { .. } => "ended",
            Stage::Resolving(_) => "resolving",
            Stage::Running(_) => "running",
        };
        f.debug_tuple("Call").field(&stage).finish()
    }
}

struct Running {
    session: Session,
    state: Arc<CallState>,
    tool: Arc<Registered>,
    /// What stops the turn that it is part of, besides its own request to stop.
    stops: Vec<Cancellation>,
    progress: Progress,
}

type Turn = OwnedMutexGuard<()>;

/// The turn of a call that waits for others; `None` where it is asked to stop before.
async fn turn(turnstile: Arc<Mutex<()>>, cancellation: Cancellation) -> Option<Turn> {
    match select(Box::pin(cancellation.cancelled()), Box::pin(turnstile.lock_owned())).await {
        Either::Left(_) => None,
        Either::Right((turn, _)) => Some(turn),
    }
}

enum Progress {
    Made,
    /// Another call of the tool runs.
    Waiting(BoxFuture<Option<Turn>>),
    Working {
        work: BoxFuture<ToolOutcome>,
        started: Instant,
    },
    Ended,
}

impl Running {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Outcome> {
        if let Progress::Made = self.progress {
            if let Some(outcome) = self.barred() {
                return Poll::Ready(outcome);
            }
            match self.tool.turnstile.clone().map(|turnstile| (turnstile.clone().try_lock_owned(), turnstile)) {
                None => self.start(None),
                Some((Ok(turn), _)) => self.start(Some(turn)),
                Some((Err(_), turnstile)) => {
                    let cancellation = self.state.cancellation().clone();
                    self.progress = Progress::Waiting(Box::pin(turn(turnstile, cancellation)));
                }
            }
        }
        if let Progress::Waiting(waiting) = &mut self.progress {
            match waiting.as_mut().poll(cx) {
                Poll::Ready(Some(turn)) => match self.barred() {
                    Some(outcome) => return Poll::Ready(outcome),
                    None => self.start(Some(turn)),
                },
                Poll::Ready(None) => return Poll::Ready(self.never_began()),
                Poll::Pending => return Poll::Pending,
            }
        }
        let Progress::Working { work, .. } = &mut self.progress else {
            return Poll::Pending;
        };
        let entered = self.session.runtime().enter();
        let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
        drop(entered);
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(outcome)) => Poll::Ready(self.ended(outcome)),
            Err(payload) => Poll::Ready(self.ended(Err(panicked(payload)))),
        }
    }

    fn start(&mut self, turn: Option<Turn>) {
        self.state.hold(turn);
        let (call, tool) = (self.state.id(), self.state.tool_name());
        self.session.events_hub().emit(|| EventKind::ToolStart { call, tool: tool.to_owned() });
        let context = CallContext::new(self.state.clone());
        let entered = self.session.runtime().enter();
        let work = catch_unwind(AssertUnwindSafe(|| self.tool.tool.execute(context)));
        drop(entered);
        let work = work.unwrap_or_else(|payload| {
            let failure = panicked(payload);
            Box::pin(async move { Err(failure) })
        });
        self.progress = Progress::Working { work, started: Instant::now() };
    }

    /// How the call ends where it must not begin.
    fn barred(&mut self) -> Option<Outcome> {
        if self.is_stopped() {
            return Some(self.never_began());
        }
        let refusal = catch_unwind(AssertUnwindSafe(|| self.tool.tool.refusal()));
        let reason = refusal.unwrap_or_else(|payload| Some(panicked(payload).message))?;
        self.end(true);
        Some(Err(CallError::Refused { tool: self.state.tool_name().to_owned(), reason }))
    }

    fn is_stopped(&self) -> bool {
        self.state.cancellation().is_cancelled() || self.stops.iter().any(Cancellation::is_cancelled)
    }

    /// Nothing of the tool has run, and nothing will: a call that is asked to stop does not begin.
    fn never_began(&mut self) -> Outcome {
        self.state.cancellation().cancel();
        self.ended(Err(Failure::new("the call was cancelled before it began")))
    }

    fn ended(&mut self, outcome: ToolOutcome) -> Outcome {
        let staged = self.end(outcome.as_ref().map_or(true, |result| result.is_error));
        let name = self.state.tool_name();
        match outcome {
            Err(_) if self.state.cancellation().is_cancelled() => Err(CallError::Cancelled { tool: name.to_owned() }),
            Err(failure) if failure.code.as_deref() == Some(PARAMETERS) => Err(CallError::InvalidParameters(
                InvalidParameters::new(name, &failure.message, self.state.parameters()),
            )),
            outcome => Ok(outcome::result(&self.tool, outcome, &staged, self.session.limits().result_bytes)),
        }
    }

    fn end(&mut self, is_error: bool) -> Vec<PendingSummary> {
        let staged = self.state.end();
        self.session.call_ended(&self.state);
        if self.tool.definition.effect == Effect::ReadOnly && !staged.is_empty() {
            tracing::warn!(
                plugin = self.tool.plugin(),
                tool = self.state.tool_name(),
                staged = staged.len(),
                "a tool whose effect is `readOnly` has staged a pending action; its effect should be `stages`"
            );
        }
        let progress = std::mem::replace(&mut self.progress, Progress::Ended);
        let started = match &progress {
            Progress::Working { started, .. } => Some(*started),
            _ => None,
        };
        let _entered = self.session.runtime().enter();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(progress))) {
            let failure: Failure = panicked(payload);
            tracing::error!(tool = self.state.tool_name(), "a tool's call was dropped and {failure}");
        }
        if let Some(started) = started {
            let (call, tool) = (self.state.id(), self.state.tool_name());
            let duration_ms = milliseconds(started.elapsed());
            self.session.events_hub().emit(|| EventKind::ToolEnd {
                call,
                tool: tool.to_owned(),
                is_error,
                duration_ms,
            });
        }
        staged
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.progress, Progress::Ended) {
            self.state.cancellation().cancel();
            self.end(true);
        }
    }
}
