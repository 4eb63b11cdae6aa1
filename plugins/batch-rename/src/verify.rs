//! Whether everything is still as it was at the preview.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::lstat;
use rustix::io::Errno;

use crate::dirs::{self, DirError, Directory};
use crate::fingerprint::Fingerprint;
use crate::plan::{Entry, Plan, exists};
use crate::text::{relative, show};

/// One way in which the files differ from the preview. Paths are relative to the session's directory where they are
/// inside it.
#[derive(Debug)]
pub(crate) enum Difference {
    /// A source is gone.
    Gone(PathBuf),
    /// Another file has a source's name.
    Replaced(PathBuf),
    /// A source's size or time of modification changed.
    Modified(PathBuf),
    /// Something has a target's name now.
    Appeared(PathBuf),
    /// A path leads to another directory, or to none.
    Redirected(PathBuf),
    /// The system refused to look.
    Unreadable(PathBuf, io::Error),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(path) => write!(f, "{}: is gone", show(path)),
            Self::Replaced(path) => write!(f, "{}: is another file now", show(path)),
            Self::Modified(path) => write!(f, "{}: was modified", show(path)),
            Self::Appeared(path) => write!(f, "{}: exists now", show(path)),
            Self::Redirected(path) => write!(f, "{}: is not the same directory any more", show(path)),
            Self::Unreadable(path, cause) => write!(f, "{}: cannot be looked at: {cause}", show(path)),
        }
    }
}

/// All differences between the plan's preview and now; none if it can be applied.
pub(crate) fn differences(plan: &Plan) -> Vec<Difference> {
    let shown = |path: PathBuf| relative(plan.root(), &path).to_owned();
    let directories = plan
        .spellings()
        .iter()
        .filter_map(|(spelled, directory)| directory_difference(spelled, directory, shown(spelled.clone())));
    let sources = plan.entries().iter().filter_map(|entry| source_difference(entry, shown(entry.from.path())));
    let targets = plan.entries().iter().filter_map(|entry| target_difference(entry, shown(entry.to.path())));
    directories.chain(sources).chain(targets).collect()
}

fn directory_difference(spelled: &Path, expected: &Directory, shown: PathBuf) -> Option<Difference> {
    match dirs::resolve(spelled) {
        Ok((path, identity)) if path == expected.path() && identity == expected.identity() => None,
        Ok(_) | Err(DirError::Missing | DirError::Outside) => Some(Difference::Redirected(shown)),
        Err(DirError::Unreadable(cause)) => Some(Difference::Unreadable(shown, cause)),
    }
}

fn source_difference(entry: &Entry, shown: PathBuf) -> Option<Difference> {
    match lstat(entry.from.path()) {
        Ok(stat) => {
            let now = Fingerprint::of(&stat);
            if !now.same_file(&entry.fingerprint) {
                Some(Difference::Replaced(shown))
            } else if now != entry.fingerprint {
                Some(Difference::Modified(shown))
            } else {
                None
            }
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Some(Difference::Gone(shown)),
        Err(cause) => Some(Difference::Unreadable(shown, cause.into())),
    }
}

fn target_difference(entry: &Entry, shown: PathBuf) -> Option<Difference> {
    if entry.target_moves_away {
        return None;
    }
    match exists(&entry.to.path()) {
        Ok(false) => None,
        Ok(true) => Some(Difference::Appeared(shown)),
        Err(cause) => Some(Difference::Unreadable(shown, cause)),
    }
}
