use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::read::{files, open};
use super::scan::{Ending, Scan};
use super::tail::Tail;
use super::{Event, Fate, JournalAction, Record, Timestamp, line, lock};

/// An action whose apply had begun when its process went away. It may have made its change, a part of it, or nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Interrupted {
    /// The id of the session that it was pending in; empty where the journal's first line is damaged.
    pub session: String,
    /// The action's id.
    pub id: String,
    /// Its label; empty where the line that tells it is damaged.
    pub label: String,
    /// The tool that staged it; empty where the line that tells it is damaged.
    pub source_tool_name: String,
    /// What it was about to change, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Why it was to be applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When its apply began.
    pub began_at: Timestamp,
}

/// Looks through the journals of sessions that are gone, cuts off a last line that was not written to its end, and
/// returns every action whose apply had begun and has no outcome, the oldest session first. Each is returned once,
/// also where several processes do this at the same time: it is recorded as unknown. Journals of live sessions, and of
/// newer formats, are left alone. Blocks.
///
/// # Errors
///
/// Where the directory cannot be listed; one that is not there is empty. A file that cannot be read or written is
/// logged, and stops nothing. What could not be recorded is returned now, and again the next time.
pub fn recover(directory: impl AsRef<Path>) -> io::Result<Vec<Interrupted>> {
    let mut interrupted = Vec::new();
    for path in files(directory.as_ref())? {
        match recover_file(&path) {
            Ok(found) => interrupted.extend(found),
            Err(error) => tracing::warn!(path = %path.display(), %error, "a journal cannot be recovered"),
        }
    }
    Ok(interrupted)
}

fn recover_file(path: &Path) -> io::Result<Vec<Interrupted>> {
    let file = open(path, true)?;
    if !lock::take_over(&file)? {
        return Ok(Vec::new());
    }
    let found = recover_taken(path, &file);
    // Closing would not do: a process that another thread starts right now has a copy of the file for a moment.
    let _ = file.unlock();
    found
}

fn recover_taken(path: &Path, file: &File) -> io::Result<Vec<Interrupted>> {
    let mut scan = Scan::default();
    scan.read(file)?;
    let Scan { header, ledger, is_newer, length, ending, .. } = scan;
    let found: Vec<_> = ledger.into_actions().into_iter().filter(|action| action.fate == Fate::Applying).collect();
    // Where the header cannot be read, only lines that this version understands show that the format is its own.
    if is_newer || (header.is_none() && found.is_empty()) {
        return Ok(Vec::new());
    }
    if let Err(error) = file.try_clone().and_then(|file| settle(file, length, ending, &found)) {
        tracing::warn!(path = %path.display(), %error, "a journal cannot be repaired");
    }
    let session = header.map(|header| header.session).unwrap_or_default();
    Ok(found.into_iter().map(|action| interrupted(session.clone(), action)).collect())
}

/// Ends the file in a whole line, then records each of these as unknown.
fn settle(file: File, length: u64, ending: Ending, found: &[JournalAction]) -> io::Result<()> {
    let mut tail = Tail::new(file, length, ending == Ending::Torn);
    tail.repair()?;
    if ending == Ending::NoLineFeed {
        tail.append(b"\n", false)?;
    }
    for action in found {
        let record = Record::now(Event::Unknown { id: action.id.clone() });
        tail.append(&line::encode(&record)?, true)?;
    }
    Ok(())
}

fn interrupted(session: String, action: JournalAction) -> Interrupted {
    let JournalAction { id, label, source_tool_name, details, reason, at, .. } = action;
    Interrupted { session, id, label, source_tool_name, details, reason, began_at: at }
}
