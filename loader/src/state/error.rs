use std::path::PathBuf;

use crate::trust::PlaceProblem;

/// Why what was decided about plugins cannot be read, or cannot be put on record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The system does not let it be read.
    #[error("{what} {} cannot be read: {reason}", path.display())]
    NotRead {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The system does not let it be written; it is as it was.
    #[error("{what} {} cannot be written: {reason}", path.display())]
    NotWritten {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// It is not what this program writes; it is left alone.
    #[error("{what} {} is damaged: {reason}", path.display())]
    Damaged {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A later version of this program wrote it; it is left alone.
    #[error("{what} {} has format {found}, and this program knows formats up to {known}", path.display())]
    Newer {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The file's.
        found: u64,
        /// The newest that this program knows.
        known: u64,
    },
    /// Somebody else may have written it.
    #[error("{what} {} {problem}", path.display())]
    Unsafe {
        /// What the file is.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Whose it is, or who may write it.
        problem: PlaceProblem,
    },
}

impl StateError {
    /// What to do about it, in one sentence without a full stop.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::NotRead { path, .. } => format!("give this user the right to read {}", path.display()),
            Self::NotWritten { path, .. } => format!("give this user the right to write {}", path.display()),
            Self::Damaged { path, .. } => format!("mend {}, or move it away and decide anew", path.display()),
            Self::Newer { .. } => "update this program".to_owned(),
            Self::Unsafe { path, problem, .. } => problem.fix(path),
        }
    }
}
