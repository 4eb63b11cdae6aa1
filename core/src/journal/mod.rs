//! The journal: a record, on disk, of what became of each pending action.
//!
//! One file per session, in a directory that the host names, so that a host that was killed in the middle of an apply
//! can say at its next start what it was about to change. A file is only ever appended to. It is text; each line is
//! the CRC-32 of its JSON as eight hexadecimal digits, a space, and the JSON. The first line is a header:
//!
//! ```text
//! c1d4796b {"format":1,"session":"s-1","startedAt":"2026-11-03T10:11:12.123Z","pid":4711}
//! ```
//!
//! Every other line is an event, with the time at which it was written. While its session lives, a file is locked
//! (`flock`), which is how [`read_all`] and [`recover`] tell it from one whose process is gone. The file of a session
//! that ended with nothing left open moves into the directory `ended` beside it, so that the next start looks only
//! through what may need it.
//!
//! # Formats
//!
//! There is one format yet, 1. A kind of event and a field that a reader does not know are passed over, so that adding
//! either needs no new format. A file of a newer format is reported and left alone.

mod ledger;
mod line;
mod lock;
mod read;
mod record;
mod recover;
mod scan;
mod tail;
#[cfg(test)]
mod tests;
mod timestamp;
mod write;

pub use ledger::{Fate, JournalAction};
pub use read::{Problem, SessionJournal, read_all};
pub(crate) use record::{Event, Record};
pub use recover::{Interrupted, recover};
pub use timestamp::Timestamp;
pub use write::Journal;

/// Where the files of sessions lie that ended with nothing open, so that a start need not look through them.
const ENDED: &str = "ended";

/// What a journal's file name ends with, after the dot.
const EXTENSION: &str = "jsonl";

/// The format that this version writes, and the newest that it reads.
const FORMAT: u64 = 1;
