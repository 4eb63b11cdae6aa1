//! What a file looked like when it was previewed.

use rustix::fs::{FileType, Stat};

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The file that `stat` describes.
    // The fields' types differ between systems.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev as u64, inode: stat.st_ino as u64 }
    }

    /// Whether both are on one file system.
    pub(crate) fn same_device(self, other: Self) -> bool {
        self.device == other.device
    }
}

/// Enough to tell that a file was neither replaced nor changed. The time of its last status change is no part of it:
/// a rename changes that too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    /// Which file it is.
    pub(crate) identity: Identity,
    kind: FileType,
    size: i128,
    modified: (i128, i128),
}

impl Fingerprint {
    /// The file that `stat` describes.
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            identity: Identity::of(stat),
            kind: FileType::from_raw_mode(stat.st_mode),
            size: i128::from(stat.st_size),
            modified: (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec)),
        }
    }

    /// Whether it is a directory itself, not a link to one.
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == FileType::Directory
    }

    /// Whether `other` could be a copy of this file that a layered file system made when it was renamed.
    pub(crate) fn looks_like(&self, other: &Self) -> bool {
        (self.kind, self.size, self.modified) == (other.kind, other.size, other.modified)
    }

    /// Whether `other` is the same file, of the same kind; its content may differ.
    pub(crate) fn same_file(&self, other: &Self) -> bool {
        self.identity == other.identity && self.kind == other.kind
    }
}
