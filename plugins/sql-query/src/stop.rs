//! How a caller stops what runs on another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::problem::Problem;

/// Whether somebody still waits for the work. Connections look at it every few thousand steps of a statement, and
/// while they wait for a lock.
///
/// SQLite's own interrupt has no effect before a statement has begun; this one cannot come too early.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Stop {
    /// One that the work reaches by itself after so many seconds.
    pub(crate) fn after(seconds: u32) -> Self {
        let limit = Duration::from_secs(seconds.into());
        Self { asked: Arc::default(), until: Instant::now().checked_add(limit) }
    }

    /// Whether the work should end.
    pub(crate) fn is_set(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// An error where the work should end.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if self.is_set() { Err(Problem::Stopped) } else { Ok(()) }
    }

    /// Asks the work to end as soon as what this returns is dropped.
    pub(crate) fn on_drop(&self) -> StopOnDrop {
        StopOnDrop(self.clone())
    }
}

/// See [`Stop::on_drop`].
pub(crate) struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }
}
