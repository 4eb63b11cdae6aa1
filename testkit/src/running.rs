use std::sync::{Arc, Mutex, PoisonError};

use toolhost_core::{AgentToolResult, CallError, Cancellation, Turn, TurnEvent};

use crate::script::Script;

type Updates = Arc<Mutex<Vec<AgentToolResult>>>;

/// A call under way. It runs by itself; dropping it stops the tool at its next `await`.
#[derive(Debug)]
pub struct RunningCall {
    tool: String,
    turn: Turn,
    cancel: Cancellation,
    updates: Updates,
    outcome: Option<Result<AgentToolResult, CallError>>,
    /// Where to complain of what it stages, if it must not.
    only_reads: Option<Script>,
}

impl RunningCall {
    pub(crate) fn new(
        tool: &str,
        turn: Turn,
        cancel: Cancellation,
        updates: Updates,
        only_reads: Option<Script>,
    ) -> Self {
        Self { tool: tool.to_owned(), turn, cancel, updates, outcome: None, only_reads }
    }

    /// The tool's next update, waiting for it; `None` once the call has ended.
    pub async fn next_update(&mut self) -> Option<AgentToolResult> {
        if self.outcome.is_some() {
            return None;
        }
        match self.turn.next().await {
            Some(TurnEvent::Update { update, .. }) => {
                self.updates.lock().unwrap_or_else(PoisonError::into_inner).push(update.clone());
                Some(update)
            }
            Some(TurnEvent::Done { outcome, .. }) => {
                if let (Some(script), Ok(result)) = (&self.only_reads, &outcome) {
                    script.complain_of_staged(&self.tool, result);
                }
                self.outcome = Some(outcome);
                None
            }
            _ => None,
        }
    }

    /// Asks the tool to stop, as a person does who interrupts. What it still returns is not its outcome any more.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// How the call ends.
    ///
    /// # Errors
    ///
    /// Where the tool did not run to its end: parameters that its schema refuses, an unknown name, a cancellation. A
    /// tool that failed is a result with `is_error`.
    pub async fn outcome(mut self) -> Result<AgentToolResult, CallError> {
        while self.next_update().await.is_some() {}
        self.outcome.unwrap_or(Err(CallError::Cancelled { tool: self.tool }))
    }
}
