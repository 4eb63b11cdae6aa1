use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use toolhost_protocol::{Event, EventKind};

/// How many events wait for a slow subscriber; then it misses the oldest.
const KEPT: usize = 1024;

/// Where a session's events go. Clones are the same.
#[derive(Clone)]
pub(crate) struct Events {
    shared: Arc<Shared>,
}

struct Shared {
    last: AtomicU64,
    sender: broadcast::Sender<Event>,
}

impl Default for Events {
    fn default() -> Self {
        Self { shared: Arc::new(Shared { last: AtomicU64::new(0), sender: broadcast::Sender::new(KEPT) }) }
    }
}

impl Events {
    /// Numbers an event and hands it to whoever listens. Never blocks; costs next to nothing where nobody does.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        let number = self.shared.last.fetch_add(1, Ordering::Relaxed) + 1;
        if self.shared.sender.receiver_count() > 0 {
            // It fails only where the last listener has just gone.
            let _ = self.shared.sender.send(Event::new(number, kind()));
        }
    }

    pub(crate) fn subscribe(&self) -> EventStream {
        EventStream(self.shared.sender.subscribe())
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Events").field(&self.shared.last).finish()
    }
}

/// A session's events from the moment when it was asked for, in order.
#[derive(Debug)]
pub struct EventStream(broadcast::Receiver<Event>);

/// What an [`EventStream`] gives.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NextEvent {
    /// The next event.
    Event(Event),
    /// So many events were missed, since they came faster than they were read. What is pending now is to be read from
    /// the session.
    Lagged(u64),
}

impl EventStream {
    /// The next event; `None` once the session is gone.
    pub async fn next(&mut self) -> Option<NextEvent> {
        match self.0.recv().await {
            Ok(event) => Some(NextEvent::Event(event)),
            Err(RecvError::Lagged(missed)) => Some(NextEvent::Lagged(missed)),
            Err(RecvError::Closed) => None,
        }
    }

    /// The next of the events that have happened already; `None` where there is none.
    pub fn try_next(&mut self) -> Option<NextEvent> {
        match self.0.try_recv() {
            Ok(event) => Some(NextEvent::Event(event)),
            Err(TryRecvError::Lagged(missed)) => Some(NextEvent::Lagged(missed)),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(call: u64) -> EventKind {
        EventKind::ToolStart { call, tool: "t".into() }
    }

    #[tokio::test]
    async fn what_has_happened_can_be_read_without_waiting() {
        let events = Events::default();
        let mut stream = events.subscribe();
        assert_eq!(stream.try_next(), None);
        events.emit(|| start(7));
        assert_eq!(stream.try_next(), Some(NextEvent::Event(Event::new(1, start(7)))));
        assert_eq!(stream.try_next(), None);
    }

    #[tokio::test]
    async fn a_slow_subscriber_is_told_what_it_missed_and_nobody_waits_for_it() {
        let events = Events::default();
        events.emit(|| start(0));
        let mut stream = events.subscribe();
        for call in 1..=KEPT as u64 + 3 {
            events.emit(|| start(call));
        }
        assert_eq!(stream.next().await, Some(NextEvent::Lagged(3)));
        assert_eq!(stream.next().await, Some(NextEvent::Event(Event::new(5, start(4)))));
        drop(events);
        let mut left = 0;
        while stream.next().await.is_some() {
            left += 1;
        }
        assert_eq!(left, KEPT - 1);
    }
}
