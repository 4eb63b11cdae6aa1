use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::events::milliseconds;

/// When the poll of a call began that is under way, for somebody else to read.
#[derive(Debug, Clone)]
pub(super) struct PollClock {
    zero: Instant,
    /// Milliseconds after `zero`, plus one; 0 between polls.
    began: Arc<AtomicU64>,
}

impl PollClock {
    pub(super) fn new() -> Self {
        Self { zero: Instant::now(), began: Arc::default() }
    }

    /// How long the poll under way has taken, and what tells it from others.
    pub(super) fn under_way(&self) -> Option<(Duration, u64)> {
        let began = self.began.load(Ordering::Relaxed);
        let since = Duration::from_millis(began.checked_sub(1)?);
        Some((self.zero.elapsed().saturating_sub(since), began))
    }

    /// The future, its polls timed.
    pub(super) fn time<F: Future + Unpin>(&self, future: F) -> Timed<F> {
        Timed { clock: self.clone(), future }
    }
}

pub(super) struct Timed<F> {
    clock: PollClock,
    future: F,
}

impl<F: Future + Unpin> Future for Timed<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let now = milliseconds(self.clock.zero.elapsed()).saturating_add(1);
        self.clock.began.store(now, Ordering::Relaxed);
        let polled = Pin::new(&mut self.future).poll(cx);
        self.clock.began.store(0, Ordering::Relaxed);
        polled
    }
}
