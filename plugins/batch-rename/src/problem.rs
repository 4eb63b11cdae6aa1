//! Why a plan is refused.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::{count, show};

/// One reason to refuse a plan. Paths are relative to the session's directory where they are inside it.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The list of files is empty.
    NoFiles,
    /// The session's directory cannot be resolved.
    NoRoot { root: PathBuf, cause: io::Error },
    /// A given path names no entry of a directory (`..`, or nothing at all).
    NoName { given: PathBuf },
    /// A source does not exist.
    Missing { source: PathBuf },
    /// A source is outside the session's directory.
    SourceOutside { source: PathBuf },
    /// The system refused to look at a path.
    Unreadable { path: PathBuf, cause: io::Error },
    /// A source was given before, perhaps in another spelling.
    Twice { source: PathBuf, before: PathBuf },
    /// A new name cannot be the name of a file.
    BadName { source: PathBuf, new: String, flaw: Flaw },
    /// A target's directory does not exist.
    NoDirectory { source: PathBuf, target: PathBuf },
    /// A target is outside the session's directory.
    TargetOutside { source: PathBuf, target: PathBuf },
    /// A target is on another file system than its source.
    OtherFileSystem { source: PathBuf, target: PathBuf },
    /// A target exists and does not move away.
    Occupied { source: PathBuf, target: PathBuf },
    /// Several sources would become one target.
    Shared { target: PathBuf, sources: Vec<PathBuf> },
    /// A source or its target is inside a directory that is renamed too.
    InsideMoving { source: PathBuf, directory: PathBuf },
}

/// What is wrong with a new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Nothing is left.
    Empty,
    /// `.` or `..`.
    Dots,
    /// More bytes than a name can have.
    TooLong(usize),
    /// A NUL character, which no name can hold.
    Nul,
}

/// The most bytes that a name can have on the file systems in use.
const NAME_MAX: usize = 255;

impl Flaw {
    /// What is wrong with `name`, if anything is.
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name {
            "" => Some(Self::Empty),
            "." | ".." => Some(Self::Dots),
            _ if name.len() > NAME_MAX => Some(Self::TooLong(name.len())),
            _ if name.contains('\0') => Some(Self::Nul),
            _ => None,
        }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the new name is empty; change the rules so that something is left"),
            Self::Dots => write!(f, "the new name means a directory itself; choose another name"),
            Self::TooLong(bytes) => {
                write!(f, "the new name has {bytes} bytes, and {NAME_MAX} is the limit; make it shorter")
            }
            Self::Nul => write!(f, "the new name holds a NUL character; take it out of `replace`"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pair = |source: &Path, target: &Path| format!("{} -> {}", show(source), show(target));
        match self {
            Self::NoFiles => write!(f, "no files given; list at least one path in `files`"),
            Self::NoRoot { root, cause } => {
                write!(f, "{}: the session's directory cannot be used; check that it exists: {cause}", show(root))
            }
            Self::NoName { given } => {
                write!(f, "{}: does not name a file; end the path with the name to change", show(given))
            }
            Self::Missing { source } => write!(
                f,
                "{}: does not exist; check the path, which is relative to the session's directory unless absolute",
                show(source)
            ),
            Self::SourceOutside { source } => {
                write!(f, "{}: is outside the session's directory; leave it out", show(source))
            }
            Self::Unreadable { path, cause } => {
                write!(f, "{}: cannot be looked at; correct the path or leave it out: {cause}", show(path))
            }
            Self::Twice { source, before } => {
                write!(f, "{}: is the same file as {}; give it once", show(source), show(before))
            }
            Self::BadName { source, new, flaw } => write!(f, "{}: {flaw}", pair(source, Path::new(new))),
            Self::NoDirectory { source, target } => {
                write!(f, "{}: the new directory does not exist; create it first", pair(source, target))
            }
            Self::TargetOutside { source, target } => write!(
                f,
                "{}: the new directory is outside the session's directory; choose one inside it",
                pair(source, target)
            ),
            Self::OtherFileSystem { source, target } => write!(
                f,
                "{}: the new directory is on another file system; copy the file there instead",
                pair(source, target)
            ),
            Self::Occupied { source, target } => {
                write!(f, "{}: the new name is taken; choose another name", pair(source, target))
            }
            Self::Shared { target, sources } => {
                let sources: Vec<_> = sources.iter().map(|source| show(source)).collect();
                write!(
                    f,
                    "{} -> {}: several files would get one name; make the names differ, for example with `number`",
                    sources.join(", "),
                    show(target)
                )
            }
            Self::InsideMoving { source, directory } => write!(
                f,
                "{}: is or would be inside {}, which is renamed too; rename one of them in a later call",
                show(source),
                show(directory)
            ),
        }
    }
}

/// All the problems of a plan that is refused; at least one.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The problems, in a fixed order.
    pub(crate) problems: Vec<Problem>,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, nothing was staged:", count(self.problems.len(), "problem"))?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for Refusal {}
