mod unified;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolhost_protocol::{ChangeKind, Dependency, FileChange};

use crate::ToolError;
use unified::{Headers, unified};

/// How long one change's diff may be.
const DIFF_BYTES: usize = 64 * 1024;
/// How long a text may be that stands whole beside the diff.
const TEXT_BYTES: usize = 16 * 1024;
/// How long all diffs and texts of one list may be together.
const ALL_BYTES: usize = 4 * 1024 * 1024;

/// The changes that a pending action makes to files, with hashes, diffs and what they depend on.
///
/// It fills the standard `changes` list, which hosts show as diffs, and says what must still be as it was when the
/// action is applied. [`PendingAction::changes`](crate::PendingAction::changes) takes both; a
/// [`StagedChange`](crate::StagedChange) returns [`Changes::into_details`] and [`Changes::dependencies`].
///
/// ```
/// # use toolhost_plugin_sdk::prelude::*;
/// # let path = std::path::Path::new("/home/me/notes.txt");
/// let (old, new) = ("one\ntwo\n", "one\nthree\n");
/// PendingAction::new("Edit notes.txt", async |_reason| Ok("Edited notes.txt".into()))
///     .changes(Changes::new().modify(path, old, new));
/// ```
///
/// - Paths are absolute: join a relative one to [`cwd`](crate::CustomToolApi::cwd).
/// - Every change speaks of the files as they are before any of them is made: a rename's target may be the source of
///   another, as in a swap. Only a file that moves and changes is modified under its new path.
/// - Content is text where it is UTF-8 without NUL; otherwise the change is `binary`, and has hashes alone.
/// - A diff is unified, with three lines of context, and names absolute paths, since those of the list are; it says
///   `/dev/null` where there is no file. It depends on the contents alone, never on the time that making it takes, so
///   that equal previews have equal hashes. Where more than 20,000 lines lie between the first and the last
///   difference, they are not compared: the diff replaces all of them.
/// - A diff is cut at 64 KiB, the whole list at 4 MiB; `truncated` says so. A text stands beside its diff where it is
///   whole and at most 16 KiB long. Hashes are always of the exact bytes.
#[derive(Debug, Clone)]
#[must_use = "changes take effect in a pending action"]
pub struct Changes {
    list: Vec<FileChange>,
    /// How many bytes of diffs and texts are left.
    room: usize,
}

impl Default for Changes {
    fn default() -> Self {
        Self::new()
    }
}

impl Changes {
    /// No change yet.
    pub fn new() -> Self {
        Self { list: Vec::new(), room: ALL_BYTES }
    }

    /// The content of the file at `path` changes. Depends on the old content.
    pub fn modify(self, path: impl AsRef<Path>, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> Self {
        self.content(ChangeKind::Modify, path.as_ref(), Some(old.as_ref()), Some(new.as_ref()))
    }

    /// A file appears at `path`. Depends on nothing being there.
    pub fn create(self, path: impl AsRef<Path>, new: impl AsRef<[u8]>) -> Self {
        self.content(ChangeKind::Create, path.as_ref(), None, Some(new.as_ref()))
    }

    /// The file at `path` goes away. Depends on its content.
    pub fn delete(self, path: impl AsRef<Path>, old: impl AsRef<[u8]>) -> Self {
        self.content(ChangeKind::Delete, path.as_ref(), Some(old.as_ref()), None)
    }

    /// A file or a directory moves. Depends on nothing being at `to`, unless that moves or goes away as well.
    ///
    /// It does not depend on the content of `from`: to hash it can cost minutes, and a file that was edited meanwhile
    /// may well be renamed. Where it may not, add [`file_dependency`] of it.
    pub fn rename(mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Self {
        self.list.push(FileChange::rename(from, to));
        self
    }

    /// The permission bits of the file at `path` change, from `old` to `new`, such as `0o644` and `0o755`. Depends on
    /// nothing, since a dependency speaks of content.
    pub fn mode(mut self, path: impl AsRef<Path>, old: u32, new: u32) -> Self {
        let mut change = FileChange::new(ChangeKind::Mode, path);
        (change.old_mode, change.new_mode) = (Some(old), Some(new));
        self.list.push(change);
        self
    }

    /// The changes, in the order in which they were added.
    #[must_use]
    pub fn as_slice(&self) -> &[FileChange] {
        &self.list
    }

    /// What has to be as it is now for these changes to be right.
    #[must_use]
    pub fn dependencies(&self) -> Vec<Dependency> {
        let vacated: HashSet<PathBuf> = self.list.iter().filter_map(vacates).collect();
        let moved: HashMap<PathBuf, PathBuf> =
            self.list.iter().filter_map(|change| Some((change.path()?, change.old_path()?))).collect();
        let dependency = |change: &FileChange| {
            let path = change.path()?;
            match change.kind {
                ChangeKind::Create | ChangeKind::Rename if !vacated.contains(&path) => Some(Dependency::absent(path)),
                ChangeKind::Modify => {
                    Some(Dependency::content(moved.get(&path).unwrap_or(&path), change.old_hash.clone()?))
                }
                ChangeKind::Delete => Some(Dependency::content(path, change.old_hash.clone()?)),
                _ => None,
            }
        };
        self.list.iter().filter_map(dependency).collect()
    }

    /// Details with the list, as [`StagedChange::details`](crate::StagedChange::details) returns them:
    /// `{"changes": [..]}`.
    #[must_use]
    pub fn into_details(self) -> Value {
        json!({ "changes": self.list })
    }

    pub(crate) fn into_list(self) -> Vec<FileChange> {
        self.list
    }

    fn content(mut self, kind: ChangeKind, path: &Path, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let mut change = FileChange::new(kind, path);
        change.old_hash = old.map(sha256);
        change.new_hash = new.map(sha256);
        match (old.map_or(Some(""), text), new.map_or(Some(""), text)) {
            (Some(old_text), Some(new_text)) => {
                let headers = Headers { old: old.map(|_| path), new: new.map(|_| path) };
                let diff = unified(headers, old_text, new_text, self.room.min(DIFF_BYTES));
                self.room -= diff.text.len();
                change.truncated = diff.cut;
                change.diff = Some(diff.text).filter(|text| !text.is_empty());
                change.old_text = old.and_then(|_| self.whole(old_text));
                change.new_text = new.and_then(|_| self.whole(new_text));
            }
            _ => change.binary = true,
        }
        self.list.push(change);
        self
    }

    /// The text, where there is room for it.
    fn whole(&mut self, text: &str) -> Option<String> {
        if text.len() > self.room.min(TEXT_BYTES) {
            return None;
        }
        self.room -= text.len();
        Some(text.to_owned())
    }
}

/// The path that a change takes a file away from.
fn vacates(change: &FileChange) -> Option<PathBuf> {
    if change.kind == ChangeKind::Delete { change.path() } else { change.old_path() }
}

fn text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

fn sha256(content: &[u8]) -> String {
    hex::encode(Sha256::digest(content))
}

/// Depends on the file at this absolute path being as it is now: on its content, or on its absence.
///
/// Reads all of it, at once. Where that may take long, call it on `tokio::task::spawn_blocking`.
///
/// # Errors
///
/// When the path is relative, when it leads to something else than a file, and when that cannot be read.
pub fn file_dependency(path: impl AsRef<Path>) -> Result<Dependency, ToolError> {
    let path = path.as_ref();
    let refuse = |reason: &dyn std::fmt::Display| ToolError::new(format!("cannot depend on {path:?}: {reason}"));
    if !path.is_absolute() {
        return Err(refuse(&"the path is not absolute"));
    }
    match hash_of_file(path) {
        Ok(hash) => Ok(Dependency::content(path, hash)),
        // A symlink that leads nowhere is no absence: nothing can be created in its place.
        Err(error) if is_absence(&error) && fs::symlink_metadata(path).is_err_and(|error| is_absence(&error)) => {
            Ok(Dependency::absent(path))
        }
        Err(error) => Err(refuse(&error)),
    }
}

fn hash_of_file(path: &Path) -> io::Result<String> {
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut hash = HashWriter(Sha256::new());
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex::encode(hash.0.finalize()))
}

struct HashWriter(Sha256);

impl io::Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_absence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

#[cfg(test)]
mod tests;
