use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use toolhost_protocol::{Actor, EventKind, RESOLVE};

use super::outbox::Outbox;
use super::watch::PollClock;
use super::{CallRequest, Resolving, RunOptions};
use crate::call::{CallState, Outcome};
use crate::events::milliseconds;
use crate::session::resolve_request;
use crate::tool::Registered;
use crate::{Call, CallError, Cancellation, Session, ToolSet};

/// A poll that takes longer is reported.
const SLOW_POLL: Duration = Duration::from_millis(100);

/// One call of a turn, with what bounds it.
pub(super) struct Supervised {
    pub(super) tools: ToolSet,
    pub(super) session: Session,
    pub(super) turn: u64,
    pub(super) options: RunOptions,
    pub(super) stop: Cancellation,
    pub(super) outbox: Outbox,
}

/// A `resolve` of a turn: claimed now, its outcome later.
pub(super) fn resolve(session: &Session, parameters: &Value, turn: u64) -> Resolving {
    match resolve_request(parameters) {
        Ok(request) => {
            let resolving = session.resolve_in_turn(request.by(Actor::Model), Some(turn));
            Box::pin(async move { Ok(resolving.await.result) })
        }
        Err(error) => Box::pin(std::future::ready(Err(error))),
    }
}

impl Supervised {
    /// Runs the call to its outcome, whatever the tool does.
    pub(super) async fn run(self, call: CallRequest) {
        if call.name == RESOLVE {
            if self.options.cancel.is_cancelled() || self.stop.is_cancelled() {
                return self.outbox.done(Err(CallError::Cancelled { tool: call.name }));
            }
            let outcome = resolve(&self.session, &call.parameters, self.turn).await;
            self.outbox.done(outcome);
            return;
        }
        let running = self.session.call_in_turn(&self.tools, &call.name, call.parameters, Some(self.turn));
        let running = running.unless([self.options.cancel.clone(), self.stop.clone()]);
        let (Some(tool), Some(state)) = (self.tools.get(&call.name), running.state().cloned()) else {
            self.outbox.done(running.await);
            return;
        };
        let clock = PollClock::new();
        let blocks = tool.blocks.load(Ordering::Relaxed);
        let mut worker = self.start(running, &clock, blocks);
        let outcome = tokio::select! {
            outcome = &mut worker => joined(outcome, tool),
            error = self.stopped(tool) => self.stop_softly(worker, &state, error).await,
            never = self.watch(&clock, &state, tool) => match never {},
        };
        self.outbox.done(outcome);
    }

    /// The call in a task of its own, on a thread for blocking where the tool is known to block.
    fn start(&self, call: Call, clock: &PollClock, blocks: bool) -> JoinHandle<Outcome> {
        let outbox = self.outbox.clone();
        let work = clock.time(Box::pin(async move {
            let mut call = call;
            while let Some(update) = call.next_update().await {
                outbox.update(update);
            }
            call.await
        }));
        let runtime = self.session.runtime().clone();
        if blocks {
            let inner = runtime.clone();
            return runtime.spawn_blocking(move || inner.block_on(work));
        }
        runtime.spawn(work)
    }

    /// Ends when the call has to stop, with the reason.
    async fn stopped(&self, tool: &Registered) -> CallError {
        let name = || tool.definition.name.clone();
        let deadline = async {
            match self.options.deadline {
                Some(limit) => {
                    sleep(limit).await;
                    CallError::Deadline { tool: name(), limit }
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.options.cancel.cancelled() => CallError::Cancelled { tool: name() },
            () = self.stop.cancelled() => CallError::Cancelled { tool: name() },
            error = deadline => error,
        }
    }

    /// Asks the tool to stop; what it still returns in time is not what was asked for any more.
    async fn stop_softly(&self, mut worker: JoinHandle<Outcome>, state: &Arc<CallState>, error: CallError) -> Outcome {
        state.cancellation().cancel();
        if timeout(self.session.limits().grace, &mut worker).await.is_err() {
            // From here on nothing of it is streamed, wherever it is.
            state.end();
            worker.abort();
            let abandoned = self.session.count_abandoned();
            self.session.runtime().spawn(async move {
                let _ = worker.await;
                drop(abandoned);
            });
        }
        Err(error)
    }

    /// Reports polls that do not end; ends never itself.
    async fn watch(&self, clock: &PollClock, state: &CallState, tool: &Registered) -> Infallible {
        let mut ticks = interval(SLOW_POLL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut reported = 0;
        loop {
            ticks.tick().await;
            if let Some((taken, poll)) = clock.under_way()
                && taken >= SLOW_POLL
                && poll != reported
            {
                reported = poll;
                tool.blocks.store(true, Ordering::Relaxed);
                let (call, name, duration_ms) = (state.id(), state.tool_name(), milliseconds(taken));
                tracing::warn!(tool = name, duration_ms, "a tool holds up a thread: it blocks without awaiting");
                self.session.events_hub().emit(|| EventKind::SlowPoll { call, tool: name.to_owned(), duration_ms });
            }
        }
    }
}

fn joined(outcome: Result<Outcome, tokio::task::JoinError>, tool: &Registered) -> Outcome {
    // A panic is caught below; what is left is a runtime that shuts down.
    outcome.unwrap_or_else(|_| Err(CallError::Cancelled { tool: tool.definition.name.clone() }))
}
