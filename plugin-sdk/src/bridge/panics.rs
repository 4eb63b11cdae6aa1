//! Where a plugin panics.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::Cell;
use std::fmt;
use std::panic::{self, Location, PanicHookInfo};

use toolhost_protocol::LogRecord;

use super::{ERROR, Sender};

thread_local! {
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

/// A place in the plugin's sources.
#[derive(Debug)]
pub(crate) struct Place {
    file: String,
    line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Forgets where this thread last panicked, and returns it.
pub(crate) fn place_of_panic() -> Option<Place> {
    PLACE.try_with(Cell::take).ok().flatten()
}

/// Puts back what [`place_of_panic`] took.
pub(crate) fn keep_place_of_panic(place: Option<Place>) {
    let _ = PLACE.try_with(|last| last.set(place));
}

/// Instead of the standard library's text on the host's standard error, a panic is a record in the host's log.
pub(super) fn install(name: &'static str, sender: Sender) {
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(Place::of);
        let _ = PLACE.try_with(|last| last.set(place));
        if sender.wants(ERROR) {
            sender.send(ERROR, record(name, info));
        }
    }));
}

impl Place {
    fn of(location: &Location<'_>) -> Self {
        Self { file: location.file().to_owned(), line: location.line() }
    }
}

fn record(name: &'static str, info: &PanicHookInfo<'_>) -> LogRecord {
    let mut record = LogRecord::default();
    record.target = name.to_owned();
    let what = info.payload_as_str().unwrap_or("(the panic has no message)");
    record.message = format!("panicked: {what}");
    if let Some(location) = info.location() {
        record.message = format!("panicked at {}:{}: {what}", location.file(), location.line());
        record.file = Some(location.file().to_owned());
        record.line = Some(location.line());
    }
    let thread = std::thread::current();
    record.fields.push(("thread".to_owned(), thread.name().unwrap_or("unnamed").into()));
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        record.fields.push(("backtrace".to_owned(), backtrace.to_string().into()));
    }
    record
}
