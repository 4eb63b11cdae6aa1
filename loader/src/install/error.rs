use std::io;
use std::path::{Path, PathBuf};

use crate::{LoadErrorKind, StateError};

/// Why a plugin was not installed, or not removed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The record of what is installed cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// Others could put something else into the directory of plugins.
    #[error("nothing can be installed there: {kind}")]
    Place {
        /// What is wrong with it.
        kind: Box<LoadErrorKind>,
    },
    /// In a directory of plugins, a file of this name is not looked at.
    #[error("{} has no name that ends in `{extension}`, so it would not be found", path.display())]
    Name {
        /// The place that it would have.
        path: PathBuf,
        /// The extension of plugins here, with its dot.
        extension: &'static str,
    },
    /// Something else is in its place.
    #[error("{} is {by}", path.display())]
    Taken {
        /// The place.
        path: PathBuf,
        /// What is there, with its article.
        by: String,
    },
    /// A file or directory cannot be written; everything is as it was.
    #[error("{} cannot be written: {reason}", path.display())]
    NotWritten {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// A file cannot be removed.
    #[error("{} cannot be removed: {reason}", path.display())]
    NotRemoved {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// No plugin of this name was installed.
    #[error("no plugin `{name}` was installed{}", known(installed))]
    NotInstalled {
        /// The name.
        name: String,
        /// The names of those that were.
        installed: Vec<String>,
    },
}

impl InstallError {
    /// Something else, which `by` tells of, is in the place of a plugin.
    #[must_use]
    pub fn taken(path: PathBuf, by: String) -> Self {
        Self::Taken { path, by }
    }

    pub(super) fn not_written(path: &Path, error: &io::Error) -> Self {
        Self::NotWritten { path: path.to_owned(), reason: error.to_string() }
    }

    pub(super) fn not_removed(path: &Path, error: &io::Error) -> Self {
        Self::NotRemoved { path: path.to_owned(), reason: error.to_string() }
    }

    /// What to do about it, in one sentence without a full stop.
    #[must_use]
    pub fn fix(&self) -> String {
        match self {
            Self::State(error) => error.fix(),
            Self::Place { kind } => kind.fix().into_owned(),
            Self::Name { extension, .. } => format!("give the file a name that ends in {extension}"),
            Self::Taken { .. } => "give the file another name, or replace what is there with --replace".to_owned(),
            Self::NotWritten { path, .. } | Self::NotRemoved { path, .. } => {
                let directory = path.parent().unwrap_or(path);
                format!("give this user the right to write {}", directory.display())
            }
            Self::NotInstalled { .. } => "name a plugin that `toolhost install` put there".to_owned(),
        }
    }
}

fn known(installed: &[String]) -> String {
    match installed {
        [] => String::new(),
        names => format!(", only `{}`", names.join("`, `")),
    }
}
