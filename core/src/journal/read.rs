use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use toolhost_protocol::JsonPath;

use super::scan::Scan;
use super::{ENDED, EXTENSION, JournalAction, Timestamp, lock};

/// What one file tells.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SessionJournal {
    /// The session's id; empty where the file does not tell.
    pub session: String,
    /// When the session started; `None` where the file does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The file.
    #[serde(serialize_with = "json_path")]
    pub path: PathBuf,
    /// Whether the session was alive just now; false where that cannot be told.
    pub live: bool,
    /// What was staged, in that order.
    pub actions: Vec<JournalAction>,
    /// What cannot be read, in the order of the file. The rest is right all the same.
    pub problems: Vec<Problem>,
}

/// Why a part of a journal cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "problem", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Problem {
    /// There is nothing in the file: its session ended as it began to write.
    Empty,
    /// The last line was not written to its end. [`recover`](super::recover) cuts it off.
    Torn {
        /// The line's number, from 1.
        line: u64,
    },
    /// A line was damaged, or says what no version would.
    BadLine {
        /// The line's number, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
    /// The file was written by a newer version, which alone can read it.
    NewerFormat {
        /// The file's format.
        format: u64,
    },
    /// The system refuses to read the file, or the rest of it.
    Unreadable {
        /// What it says.
        why: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty"),
            Self::Torn { line } => write!(f, "line {line}: it was not written to its end"),
            Self::BadLine { line, why } => write!(f, "line {line}: {why}"),
            Self::NewerFormat { format } => {
                write!(f, "the file has format {format}; this version reads formats up to {}", super::FORMAT)
            }
            Self::Unreadable { why } => write!(f, "the file cannot be read: {why}"),
        }
    }
}

/// Every session's journal in a directory, the oldest first. Files that do not end in `.jsonl` are none; a directory
/// that is not there has none. Changes nothing. Blocks.
///
/// # Errors
///
/// Where the directory cannot be listed. A file that cannot be read is no error: its problems say so.
pub fn read_all(directory: impl AsRef<Path>) -> io::Result<Vec<SessionJournal>> {
    let directory = directory.as_ref();
    let ended = files(&directory.join(ENDED))?;
    let mut journals: Vec<_> = files(directory)?.into_iter().chain(ended).filter_map(read_file).collect();
    // Stable: among equals, and where the time cannot be read, the name decides, which begins with it.
    journals.sort_by_key(|journal| journal.started_at);
    Ok(journals)
}

/// The journals' files, by name.
pub(super) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Opens a journal's file. A pipe or a device of such a name could block whoever opens it.
pub(super) fn open(path: &Path, writable: bool) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::options().read(true).append(writable).open(path)
}

/// `None` where the file is gone.
fn read_file(path: PathBuf) -> Option<SessionJournal> {
    let mut scan = Scan::default();
    let (live, outcome) = match scan_file(&path, &mut scan) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Ok(live) => (live, Ok(())),
        Err(error) => (false, Err(error)),
    };
    if live {
        // The line is being written.
        scan.problems.retain(|problem| !matches!(problem, Problem::Torn { .. } | Problem::Empty));
    }
    if let Err(error) = outcome {
        scan.problems.push(Problem::Unreadable { why: error.to_string() });
    }
    let started_at = scan.header.as_ref().map(|header| header.started_at);
    let session = scan.header.map(|header| header.session).unwrap_or_default();
    let (actions, problems) = (scan.ledger.into_actions(), scan.problems);
    Some(SessionJournal { session, started_at, path, live, actions, problems })
}

fn scan_file(path: &Path, scan: &mut Scan) -> io::Result<bool> {
    let file = open(path, false)?;
    let live = lock::is_held(&file)?;
    scan.read(&file)?;
    Ok(live)
}

fn json_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    JsonPath::from(path).serialize(serializer)
}
