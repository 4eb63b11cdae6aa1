//! The calls of one turn of a model: in parallel, with updates, deadlines and a hard stop.

mod outbox;
mod supervise;
mod watch;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use toolhost_protocol::{AgentToolResult, RESOLVE};

use crate::call::Outcome;
use crate::{CallError, Cancellation, Session, ToolSet};
use outbox::{Outbox, Queued};
use supervise::Supervised;

/// One call, as a model asks for it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallRequest {
    /// The model's id of the call; the events of the turn carry it.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The parameters.
    pub parameters: Value,
}

impl CallRequest {
    /// A call of this tool with these parameters.
    pub fn new(id: impl Into<String>, name: impl Into<String>, parameters: Value) -> Self {
        Self { id: id.into(), name: name.into(), parameters }
    }
}

/// How the calls of a turn are bounded.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RunOptions {
    /// The request to stop them all.
    pub cancel: Cancellation,
    /// How long each may take; `None` for ever.
    pub deadline: Option<Duration>,
}

impl RunOptions {
    /// The calls stop when this is asked to.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancellation) -> Self {
        self.cancel = cancel;
        self
    }

    /// Each call may take so long.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }
}

/// What happens in a turn.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A tool streamed a partial result.
    Update {
        /// The model's id of the call.
        call_id: String,
        /// The partial result.
        update: AgentToolResult,
    },
    /// A call ended; nothing more comes of it.
    Done {
        /// The model's id of the call.
        call_id: String,
        /// How it ended.
        outcome: Result<AgentToolResult, CallError>,
    },
}

/// A turn under way. Every call has exactly one `Done`, after all of its updates; calls do not wait for each other.
///
/// Dropping it stops the calls that still run. A resolve that has claimed its action is the exception: it goes on by
/// itself.
#[derive(Debug)]
#[must_use = "a turn that is dropped stops its calls"]
pub struct Turn {
    events: mpsc::UnboundedReceiver<Queued>,
    stop: Cancellation,
}

impl Turn {
    /// The next event; `None` once every call is done.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await.map(Queued::into_event)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl ToolSet {
    /// Runs the calls of one turn of a model, all at once, on the session's runtime.
    ///
    /// A call that is asked to stop may end by itself within [`Limits::grace`](crate::Limits::grace); then it is
    /// abandoned, and stops at its next `await`. A poll that does not end is reported after 100 ms; it cannot be
    /// interrupted, and holds one thread of the runtime. Later calls of that tool run on threads made for blocking.
    ///
    /// A `resolve` without an id comes after the turn's other calls, and never takes what they staged: the model has
    /// not seen those previews yet.
    pub fn run(&self, calls: Vec<CallRequest>, options: RunOptions) -> Turn {
        let (sender, events) = mpsc::unbounded_channel();
        let stop = Cancellation::new();
        let Some(session) = self.session().upgrade() else {
            for call in calls {
                let error = CallError::SessionEnded { session: String::new() };
                Outbox::new(call.id, sender.clone()).done(Err(error));
            }
            return Turn { events, stop };
        };
        let turn = session.next_turn();
        let (topmost, others): (Vec<_>, Vec<_>) = calls.into_iter().partition(takes_topmost);
        let last = Arc::new(Last::new(others.len()));
        for call in others {
            let outbox = Outbox::new(call.id.clone(), sender.clone());
            let supervised = Supervised {
                tools: self.clone(),
                session: session.clone(),
                turn,
                options: options.clone(),
                stop: stop.clone(),
                outbox,
            };
            let last = last.clone();
            session.runtime().spawn(async move {
                supervised.run(call).await;
                last.one_ended();
            });
        }
        let stops = [options.cancel, stop.clone()];
        session.runtime().clone().spawn(resolve_topmost(session, turn, topmost, last, stops, sender));
        Turn { events, stop }
    }
}

fn takes_topmost(call: &CallRequest) -> bool {
    call.name == RESOLVE && call.parameters.get("id").is_none_or(Value::is_null)
}

/// Resolves in the order of the calls, once the others have ended. Nothing is resolved for a turn that was stopped.
async fn resolve_topmost(
    session: Session,
    turn: u64,
    calls: Vec<CallRequest>,
    last: Arc<Last>,
    stops: [Cancellation; 2],
    sender: mpsc::UnboundedSender<Queued>,
) {
    last.wait().await;
    if stops.iter().any(Cancellation::is_cancelled) {
        for call in calls {
            Outbox::new(call.id, sender.clone()).done(Err(CallError::Cancelled { tool: RESOLVE.to_owned() }));
        }
        return;
    }
    let resolving: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let outbox = Outbox::new(call.id, sender.clone());
            // Claims in order, before the first is awaited.
            (outbox, supervise::resolve(&session, &call.parameters, turn))
        })
        .collect();
    for (outbox, resolving) in resolving {
        outbox.done(resolving.await);
    }
}

/// Lets those wait who come after all others.
struct Last {
    running: AtomicUsize,
    none: Cancellation,
}

impl Last {
    fn new(running: usize) -> Self {
        let last = Self { running: AtomicUsize::new(running), none: Cancellation::new() };
        if running == 0 {
            last.none.cancel();
        }
        last
    }

    fn one_ended(&self) {
        if self.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none.cancel();
        }
    }

    async fn wait(&self) {
        self.none.cancelled().await;
    }
}

type Resolving = crate::BoxFuture<Outcome>;

#[cfg(test)]
mod tests;
