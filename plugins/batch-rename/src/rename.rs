//! One rename that never overwrites.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, fstat, linkat, open, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use crate::dirs::{Directory, Place};
use crate::fingerprint::{Fingerprint, Identity};

/// Renames in one directory to a name in another, in one act that fails with `EXIST` if the new name is taken.
pub(crate) type AtomicRename = fn(&OwnedFd, &str, &OwnedFd, &str) -> Result<(), Errno>;

/// The system's own [`AtomicRename`].
pub(crate) fn noreplace(from_dir: &OwnedFd, from: &str, to_dir: &OwnedFd, to: &str) -> Result<(), Errno> {
    renameat_with(from_dir, from, to_dir, to, RenameFlags::NOREPLACE)
}

/// What moves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// Which file it is.
    pub(crate) identity: Identity,
    /// Whether it is a directory.
    pub(crate) is_directory: bool,
}

/// Renames `from` to `to`, if it is what `moved` says and nothing has the name `to`. Where `atomic` is not supported, the
/// file gets its new name as a second one and then loses the first. Returns its identity afterwards: a layered file
/// system may copy a file when it is renamed.
///
/// # Errors
///
/// Nothing has moved then; only with [`RenameError::TwoNames`] the file has its new name too.
pub(crate) fn rename(from: &Place, to: &Place, moved: Moved, atomic: AtomicRename) -> Result<Identity, RenameError> {
    let from_dir = open_directory(&from.directory)?;
    let other_dir =
        if Arc::ptr_eq(&from.directory, &to.directory) { None } else { Some(open_directory(&to.directory)?) };
    let to_dir = other_dir.as_ref().unwrap_or(&from_dir);
    let before = fingerprint_at(&from_dir, &from.name)?.filter(|before| before.identity == moved.identity);
    let before = before.ok_or(RenameError::NotThere)?;
    match atomic(&from_dir, &from.name, to_dir, &to.name) {
        Ok(()) => {}
        Err(errno) if !is_unsupported(errno) => return Err(errno.into()),
        Err(_) if moved.is_directory => return Err(RenameError::UnsafeDirectory),
        Err(_) => link_and_unlink(&from_dir, &from.name, to_dir, &to.name, moved.identity)?,
    }
    match fingerprint_at(to_dir, &to.name) {
        Ok(Some(now)) if now.identity != moved.identity && !now.looks_like(&before) => {
            // Somebody put another file under the old name in between: it goes back to where it was.
            match atomic(to_dir, &to.name, &from_dir, &from.name) {
                Ok(()) => Err(RenameError::NotThere),
                Err(_) => Err(RenameError::Stranger),
            }
        }
        Ok(Some(now)) => Ok(now.identity),
        _ => Ok(moved.identity),
    }
}

/// Whether the system or the file system lacks what was asked of it.
fn is_unsupported(errno: Errno) -> bool {
    [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&errno)
}

fn link_and_unlink(
    from_dir: &OwnedFd,
    from: &str,
    to_dir: &OwnedFd,
    to: &str,
    identity: Identity,
) -> Result<(), RenameError> {
    linkat(from_dir, from, to_dir, to, AtFlags::empty()).map_err(|errno| match errno {
        errno if is_unsupported(errno) => RenameError::NeitherWay(errno.into()),
        Errno::PERM | Errno::MLINK => RenameError::NeitherWay(errno.into()),
        errno => errno.into(),
    })?;
    // Whoever replaced the old name in between has put a file there that is not ours to remove.
    let removed = match identity_at(from_dir, from) {
        Ok(Some(found)) if found == identity => unlinkat(from_dir, from, AtFlags::empty()).map_err(RenameError::from),
        Ok(_) => Err(RenameError::NotThere),
        Err(error) => Err(error),
    };
    removed.map_err(|error| match unlinkat(to_dir, to, AtFlags::empty()) {
        Ok(()) => error,
        Err(_) => RenameError::TwoNames,
    })
}

/// Opens the directory that the plan knew. Names inside it mean the same then, whatever becomes of the path to it.
fn open_directory(directory: &Directory) -> Result<OwnedFd, RenameError> {
    #[cfg(target_os = "linux")]
    const ACCESS: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const ACCESS: OFlags = OFlags::RDONLY;
    let flags = ACCESS.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
    let opened = match open(directory.path(), flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(RenameError::DirectoryChanged),
        opened => opened?,
    };
    if Identity::of(&fstat(&opened)?) == directory.identity() { Ok(opened) } else { Err(RenameError::DirectoryChanged) }
}

fn identity_at(directory: &OwnedFd, name: &str) -> Result<Option<Identity>, RenameError> {
    Ok(fingerprint_at(directory, name)?.map(|found| found.identity))
}

fn fingerprint_at(directory: &OwnedFd, name: &str) -> Result<Option<Fingerprint>, RenameError> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Fingerprint::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Why a rename was not done.
#[derive(Debug)]
pub(crate) enum RenameError {
    /// The old name is gone, or another file has it now.
    NotThere,
    /// The new name is taken.
    Taken,
    /// One of the directories is gone, or another one is in its place.
    DirectoryChanged,
    /// The new directory is on another file system.
    OtherFileSystem,
    /// A directory, where the system offers no rename that cannot overwrite.
    UnsafeDirectory,
    /// The system offers neither a rename that cannot overwrite, nor a link.
    NeitherWay(io::Error),
    /// The file has its new name, and its old one could not be removed, nor the new one again.
    TwoNames,
    /// Another file was put under the old name in between; it has the new name now, and its old one is taken.
    Stranger,
    /// Anything else.
    Io(io::Error),
}

impl From<Errno> for RenameError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::EXIST => Self::Taken,
            Errno::XDEV => Self::OtherFileSystem,
            errno => Self::Io(errno.into()),
        }
    }
}

impl fmt::Display for RenameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere => write!(f, "the file is gone or was replaced"),
            Self::Taken => write!(f, "the name is taken"),
            Self::DirectoryChanged => write!(f, "its directory is gone or was replaced"),
            Self::OtherFileSystem => write!(f, "the new directory is on another file system"),
            Self::UnsafeDirectory => {
                write!(f, "this file system cannot rename a directory without the risk of overwriting something")
            }
            Self::NeitherWay(cause) => write!(
                f,
                "this file system cannot rename without the risk of overwriting something, nor link instead: {cause}"
            ),
            Self::TwoNames => write!(f, "the file now has both names, and neither could be removed"),
            Self::Stranger => {
                write!(
                    f,
                    "another file was put in its place meanwhile; that has the new name now, for its own is taken"
                )
            }
            Self::Io(cause) => write!(f, "{cause}"),
        }
    }
}

#[cfg(test)]
mod tests;
