//! Why a database was not read, or a change neither previewed nor applied.

use std::fmt;
use std::io;

use rusqlite::ffi::{SQLITE_READONLY_CANTINIT, SQLITE_READONLY_RECOVERY, SQLITE_READONLY_ROLLBACK};
use rusqlite::{Error, ErrorCode};
use toolhost_plugin_sdk::ToolError;

use crate::copy::GROWTH;
use crate::database::LOCK_WAIT;
use crate::guard::Refusal;
use crate::params::MAX_SECONDS;
use crate::text::list;

/// Why it did not work, for a model and for people.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Nobody waits for it any more.
    Stopped,
    /// It takes longer than so many seconds.
    TooLong(u32),
    /// Nothing has the path.
    Missing,
    /// The path leads to something else than a file.
    NoFile,
    /// The system refused to look at the path.
    Unreachable(io::Error),
    /// The file is no database, or an encrypted one.
    NoDatabase,
    /// Another program holds a lock for longer than [`LOCK_WAIT`].
    Locked,
    /// The file cannot be written to.
    ReadOnly,
    /// A program that wrote to the database was interrupted; to mend that takes writing.
    Interrupted,
    /// No directory for a private copy could be made.
    NoCopy(io::Error),
    /// There is no statement in the text.
    Empty,
    /// There is more than one statement where one is expected.
    Several,
    /// The text holds a NUL character, at which SQLite stops reading.
    Nul,
    /// A statement that does something which it must not.
    Refused(Refusal),
    /// The parameters do not fit the statements.
    Parameters(String),
    /// All names for the rowid of this table are taken by columns.
    NoRowid(String),
    /// The script ended the transaction that it runs in.
    Ended,
    /// The database is gone since the preview.
    Gone,
    /// The database differs from what the preview saw, here.
    Changed(Vec<String>),
    /// The change came out differently than previewed, here.
    Differs(Vec<String>),
    /// Whatever else SQLite says.
    Sql(Error),
    /// One of these, in this statement of a script, counted from 1.
    At(usize, Box<Problem>),
}

impl Problem {
    /// The failure that a caller gets; `database` is the path as it was given.
    pub(crate) fn into_tool_error(self, database: &str) -> ToolError {
        let message = format!("{database}: {self}");
        if self.is_stale() { ToolError::stale(message) } else { ToolError::new(message) }
    }

    /// Whether the world changed since the preview.
    fn is_stale(&self) -> bool {
        matches!(self, Self::Gone | Self::Changed(_) | Self::Differs(_))
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::NotADatabase) => Self::NoDatabase,
            Some(ErrorCode::OperationInterrupted) => Self::Stopped,
            Some(ErrorCode::ReadOnly) => match extended {
                Some(SQLITE_READONLY_ROLLBACK | SQLITE_READONLY_RECOVERY | SQLITE_READONLY_CANTINIT) => {
                    Self::Interrupted
                }
                _ => Self::ReadOnly,
            },
            _ => match error {
                Error::Empty => Self::Empty,
                Error::MultipleStatement => Self::Several,
                other => Self::Sql(other),
            },
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => write!(f, "stopped before it was done; nothing was changed"),
            Self::TooLong(seconds) => write!(
                f,
                "not done within {seconds} s, and stopped; nothing was changed. Make it do less, or raise `maxSeconds` \
                 (at most {MAX_SECONDS})"
            ),
            Self::Missing => write!(
                f,
                "does not exist; check the path, which is relative to the session's directory unless absolute. To \
                 start a new database, create an empty file there first"
            ),
            Self::NoFile => write!(f, "is not a file; give the path of an SQLite database"),
            Self::Unreachable(cause) => write!(f, "cannot be looked at; check the path: {cause}"),
            Self::NoDatabase => write!(f, "is not an SQLite database, or it is encrypted"),
            Self::Locked => write!(
                f,
                "is locked by another program, which did not let go of it within {} s; nothing was changed, try again",
                LOCK_WAIT.as_secs()
            ),
            Self::ReadOnly => write!(f, "cannot be written to; check the permissions of the file and its directory"),
            Self::Interrupted => write!(
                f,
                "a program that wrote to it was interrupted, and what it left must be cleaned up first; open the \
                 database once in a program that may write to it and its directory"
            ),
            Self::NoCopy(cause) => write!(
                f,
                "a preview works on a private copy, and there is no place for that; set TMPDIR to another \
                 directory: {cause}"
            ),
            Self::Empty => write!(f, "`sql` holds no statement; give one"),
            Self::Several => write!(f, "`sql` holds more than one statement; query them one by one"),
            Self::Nul => write!(f, "`sql` holds a NUL character; take it out"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Parameters(what) => f.write_str(what),
            Self::NoRowid(table) => write!(
                f,
                "the table {table} has columns named rowid, _rowid_ and oid, so that its rows cannot be told apart; \
                 rename one of them with another program"
            ),
            Self::Ended => write!(f, "the statement ended the transaction that it runs in; nothing was changed"),
            Self::Gone => write!(f, "the database is gone since the preview; nothing was changed, discard it"),
            Self::Changed(places) => {
                let places = list(places);
                write!(
                    f,
                    "the database changed since the preview, in {places}; nothing was changed, discard it and preview again"
                )
            }
            Self::Differs(places) => write!(
                f,
                "the change would not come out as previewed, in {}; nothing was changed. Name what it should write \
                 instead of leaving that to chance, and preview again",
                list(places)
            ),
            Self::Sql(error) => sql(error, f),
            Self::At(statement, problem) => write!(f, "statement {statement}: {problem}"),
        }
    }
}

/// What SQLite said, without the whole statement, and with what to do where that is not plain.
fn sql(error: &Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match error {
        Error::SqlInputError { msg, .. } => f.write_str(msg),
        Error::FromSqlConversionFailure(..) | Error::Utf8Error(..) => {
            write!(f, "a name or a statement of its schema is not UTF-8; rename it with another program")
        }
        other => write!(f, "{other}"),
    }?;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            let growth = GROWTH >> 20;
            write!(
                f,
                "; a change can add at most {growth} MiB, and needs room where the database is and where temporary \
                 files are (TMPDIR)"
            )
        }
        Some(ErrorCode::DatabaseCorrupt) => write!(f, "; `PRAGMA integrity_check` says more"),
        Some(ErrorCode::CannotOpen) => write!(f, "; check the permissions of the file and its directory"),
        _ => Ok(()),
    }
}

impl std::error::Error for Problem {}
