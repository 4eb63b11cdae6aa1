use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::UnboundedSender;
use toolhost_protocol::AgentToolResult;

use super::TurnEvent;
use crate::call::Outcome;

/// How many updates of one call wait for a slow reader; then the newest are left out.
const WAITING_UPDATES: usize = 256;

/// One call's way out: updates, then its outcome, then nothing. Clones are the same.
#[derive(Clone)]
pub(super) struct Outbox {
    call_id: Arc<str>,
    sender: Arc<Mutex<Option<UnboundedSender<Queued>>>>,
    waiting: Arc<AtomicUsize>,
}

/// An event on its way to the reader.
#[derive(Debug)]
pub(super) struct Queued {
    event: TurnEvent,
    /// Counts the updates of the call that nobody has read.
    waiting: Option<Arc<AtomicUsize>>,
}

impl Queued {
    pub(super) fn into_event(self) -> TurnEvent {
        if let Some(waiting) = self.waiting {
            waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.event
    }
}

impl Outbox {
    pub(super) fn new(call_id: String, sender: UnboundedSender<Queued>) -> Self {
        Self { call_id: call_id.into(), sender: Arc::new(Mutex::new(Some(sender))), waiting: Arc::default() }
    }

    pub(super) fn update(&self, update: AgentToolResult) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = &*sender else {
            return;
        };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= WAITING_UPDATES {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let event = TurnEvent::Update { call_id: self.call_id.to_string(), update };
        // Where nobody reads any more, nobody misses it.
        let _ = sender.send(Queued { event, waiting: Some(self.waiting.clone()) });
    }

    pub(super) fn done(&self, outcome: Outcome) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(sender) = sender {
            let event = TurnEvent::Done { call_id: self.call_id.to_string(), outcome };
            let _ = sender.send(Queued { event, waiting: None });
        }
    }
}
