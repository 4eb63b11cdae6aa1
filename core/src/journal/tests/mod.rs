//! The journal's files, written and read.

mod damage;
mod recovering;
mod soup;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use toolhost_protocol::ResolveAction;

use super::record::Header;
use super::{Event, FORMAT, Journal, Record, SessionJournal, line, read_all};

pub(super) fn pushed(id: &str) -> Record {
    Record::now(Event::Pushed {
        id: id.to_owned(),
        label: format!("label of {id}"),
        source_tool_name: "tool".to_owned(),
        preview_hash: "hash".to_owned(),
        details: Some(json!({"changes": [id]})),
    })
}

pub(super) fn claimed(id: &str) -> Record {
    let (action, reason) = (ResolveAction::Apply, "fits".to_owned());
    Record::now(Event::Claimed { id: id.to_owned(), action, reason, attempt: 1 })
}

pub(super) fn applying(id: &str) -> Record {
    Record::now(Event::Applying { id: id.to_owned() })
}

pub(super) fn applied(id: &str) -> Record {
    Record::now(Event::Applied { id: id.to_owned() })
}

/// What a file of session `s` holds.
pub(super) fn bytes(records: &[Record]) -> Vec<u8> {
    let header =
        Header { format: FORMAT, session: "s".to_owned(), started_at: "2026-11-03T10:11:12.123Z".into(), pid: 1 };
    let mut bytes = line::encode(&header).unwrap();
    bytes.extend(records.iter().flat_map(|record| line::encode(record).unwrap()));
    bytes
}

/// A directory with one file of a session that is gone.
pub(super) fn dead(content: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.jsonl");
    fs::write(&path, content).unwrap();
    (directory, path)
}

pub(super) fn only(directory: &Path) -> SessionJournal {
    let mut journals = read_all(directory).unwrap();
    assert_eq!(journals.len(), 1);
    journals.remove(0)
}

pub(super) fn ids(journal: &SessionJournal) -> Vec<&str> {
    journal.actions.iter().map(|action| action.id.as_str()).collect()
}

pub(super) fn file_of(journal: &Journal) -> PathBuf {
    let mut files = super::read::files(journal.directory()).unwrap();
    assert_eq!(files.len(), 1);
    files.remove(0)
}
