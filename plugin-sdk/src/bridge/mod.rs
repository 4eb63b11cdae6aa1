//! From what a plugin's code logs, and where it panics, to the host.
//!
//! Only for a plugin in a library of its own, whose copies of `tracing`, `log` and the standard library's panic hook
//! are nobody else's. A linked plugin shares the host's.

mod logger;
mod panics;
mod spans;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use log::LevelFilter as LogFilter;
use toolhost_abi::abi_stable::std_types::RSlice;
use toolhost_abi::host::HostObject;
use toolhost_protocol::LogRecord;
use tracing::level_filters::LevelFilter;

use crate::context;
pub(crate) use panics::{keep_place_of_panic, place_of_panic};

/// A level as it crosses: 0 nothing, 1 error, to 5 trace.
pub(crate) const ERROR: u8 = 1;
const UNKNOWN: u8 = u8::MAX;

/// A plugin's way to the host's log.
pub(crate) struct Bridge {
    name: &'static str,
    /// Of the plugin's first session; it keeps none alive, and records say which call they belong to.
    host: HostObject,
    /// The level that was last seen.
    level: AtomicU8,
    changing: Mutex<()>,
}

impl Bridge {
    /// Takes over the plugin's log and panics. Where its code has set up its own, that stays.
    pub(crate) fn connect(name: &'static str, host: HostObject) -> Self {
        let bridge = Self { name, host, level: AtomicU8::new(UNKNOWN), changing: Mutex::new(()) };
        spans::install(bridge.sender());
        logger::install(bridge.sender());
        panics::install(name, bridge.sender());
        bridge.follow_level();
        bridge
    }

    /// Makes the plugin's log as verbose as the host wants it, where that has changed.
    pub(crate) fn follow_level(&self) {
        if self.host.log_level() == self.level.load(Ordering::Relaxed) {
            return;
        }
        let _one_at_a_time = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // Until it stays: the host may change it once more meanwhile.
        loop {
            let level = self.host.log_level();
            if self.level.swap(level, Ordering::Relaxed) == level {
                return;
            }
            set_level(level);
        }
    }

    fn sender(&self) -> Sender {
        Sender { host: self.host.clone() }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("name", &self.name).finish_non_exhaustive()
    }
}

fn set_level(level: u8) {
    spans::set_level(match level {
        0 => LevelFilter::OFF,
        1 => LevelFilter::ERROR,
        2 => LevelFilter::WARN,
        3 => LevelFilter::INFO,
        4 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    });
    log::set_max_level(match level {
        0 => LogFilter::Off,
        1 => LogFilter::Error,
        2 => LogFilter::Warn,
        3 => LogFilter::Info,
        4 => LogFilter::Debug,
        _ => LogFilter::Trace,
    });
}

/// Hands records to the host.
#[derive(Clone)]
struct Sender {
    host: HostObject,
}

impl Sender {
    fn send(&self, level: u8, record: LogRecord) {
        send(&self.host, level, record);
    }

    fn wants(&self, level: u8) -> bool {
        self.host.log_level() >= level
    }
}

/// Hands a record to the host.
///
/// What a value logs as it is written crosses before it, as a record of its own: records are complete when they come
/// here. Left out is only what this thread logs while the host takes one, which might otherwise never end.
pub(crate) fn send(host: &HostObject, level: u8, mut record: LogRecord) {
    thread_local! {
        static SENDING: Cell<bool> = const { Cell::new(false) };
    }
    // The destructors of a thread may log after its locals are gone.
    let busy = SENDING.try_with(|sending| sending.replace(true)).unwrap_or(true);
    if busy {
        return;
    }
    record.call = Some(context::current_call()).filter(|&call| call != 0);
    if let Ok(json) = serde_json::to_vec(&record) {
        host.log(level, RSlice::from_slice(&json));
    }
    let _ = SENDING.try_with(|sending| sending.set(false));
}
