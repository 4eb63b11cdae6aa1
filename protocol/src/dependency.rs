use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::change::{join, split};
use crate::result::is_false;

/// What a file has to be like for a pending action to be applied; the host verifies it right before.
///
/// A file with the SHA-256 of its content stands as `{"path": .., "hash": ".."}`, one that must not exist as
/// `{"path": .., "absent": true}`, one that must be the very same as `{"path": .., "unchanged": {..}}`. Paths are absolute; one that is not UTF-8 stands as base64 in `pathBytes` instead.
///
/// A later version may know more states than these. It gives them fields of their own and none of these, so that they read as [`DependencyState::Unknown`] here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Dependency {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    absent: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unchanged: Option<FileState>,
}

/// What tells a file from another one, and from itself after a change, without reading it. Of a directory, whose times
/// change with what is in it, only which one it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileState {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its kind, as the system's `st_mode` has it.
    pub kind: u32,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last modified, in nanoseconds since 1970.
    pub modified_ns: i64,
}

impl FileState {
    /// The state of the file that this describes.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        const KIND: u32 = 0o170_000;
        let (device, inode, kind) = (metadata.dev(), metadata.ino(), metadata.mode() & KIND);
        if metadata.is_dir() {
            return Self { device, inode, kind, ..Self::default() };
        }
        let modified_ns = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
        Self { device, inode, kind, size: metadata.size(), modified_ns }
    }
}

/// The state that a [`Dependency`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DependencyState<'a> {
    /// A file whose content has this SHA-256, in 64 lowercase hexadecimal digits.
    Content(&'a str),
    /// The very file that had this state, itself and no link to it.
    Unchanged(FileState),
    /// Nothing has this path, not even a symlink that leads nowhere.
    Absent,
    /// A state that this version does not know, or that contradicts itself. It cannot be verified, so an action that
    /// depends on it must not be applied.
    Unknown,
}

impl Dependency {
    /// A file at this absolute path whose content has this SHA-256, in hexadecimal.
    ///
    /// Anything else than 64 hexadecimal digits makes an [`Unknown`](DependencyState::Unknown) state, which no host
    /// applies.
    pub fn content(path: impl AsRef<Path>, hash: impl Into<String>) -> Self {
        let mut hash = hash.into();
        hash.make_ascii_lowercase();
        Self { hash: Some(hash), ..Self::at(path.as_ref()) }
    }

    /// Nothing at this absolute path.
    pub fn absent(path: impl AsRef<Path>) -> Self {
        Self { absent: true, ..Self::at(path.as_ref()) }
    }

    /// The file at this absolute path is the one that it was, and as it was. Cheaper than its content, and enough where
    /// that does not matter; a link is not followed.
    pub fn unchanged(path: impl AsRef<Path>, state: FileState) -> Self {
        Self { unchanged: Some(state), ..Self::at(path.as_ref()) }
    }

    fn at(path: &Path) -> Self {
        let (path, path_bytes) = split(path);
        Self { path, path_bytes, ..Self::default() }
    }

    /// The path. `None` where neither form can be read; such a dependency cannot be verified either.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        join(self.path.as_deref(), self.path_bytes.as_deref())
    }

    /// What the path has to lead to.
    #[must_use]
    pub fn state(&self) -> DependencyState<'_> {
        match (self.hash.as_deref(), self.absent, self.unchanged) {
            (Some(hash), false, None) if is_sha256(hash) => DependencyState::Content(hash),
            (None, true, None) => DependencyState::Absent,
            (None, false, Some(state)) => DependencyState::Unchanged(state),
            _ => DependencyState::Unknown,
        }
    }
}

fn is_sha256(hash: &str) -> bool {
    hash.len() == 64 && hash.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn read(value: Value) -> Dependency {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn both_states_have_one_form_and_survive() {
        let content = Dependency::content("/a b", HASH.to_ascii_uppercase());
        let value = serde_json::to_value(&content).unwrap();
        assert_eq!(value, json!({"path": "/a b", "hash": HASH}));
        assert_eq!(read(value), content);
        assert_eq!((content.path(), content.state()), (Some("/a b".into()), DependencyState::Content(HASH)));

        let absent = Dependency::absent("/ü");
        let value = serde_json::to_value(&absent).unwrap();
        assert_eq!(value, json!({"path": "/ü", "absent": true}));
        assert_eq!(read(value), absent);
        assert_eq!((absent.path(), absent.state()), (Some("/ü".into()), DependencyState::Absent));
    }

    #[test]
    fn a_path_that_is_not_utf8_survives() {
        let path = Path::new(OsStr::from_bytes(b"/\xff"));
        let value = serde_json::to_value(Dependency::absent(path)).unwrap();
        assert_eq!(value, json!({"pathBytes": "L/8=", "absent": true}));
        assert_eq!(read(value).path().as_deref(), Some(path));
        assert_eq!(read(json!({"pathBytes": "?", "absent": true})).path(), None);
    }

    #[test]
    fn a_state_that_cannot_be_verified_is_recognised() {
        let known = read(json!({"path": "/a", "hash": HASH, "hint": "ignored"}));
        assert_eq!(known.state(), DependencyState::Content(HASH));
        for value in [
            json!({"path": "/a", "symlinkTo": "/b"}),
            json!({"path": "/a", "absent": false}),
            json!({"path": "/a", "hash": HASH, "absent": true}),
            json!({"path": "/a", "hash": "blake3:00"}),
            json!({"path": "/a", "hash": HASH.to_ascii_uppercase()}),
        ] {
            let dependency = read(value);
            assert_eq!((dependency.path(), dependency.state()), (Some("/a".into()), DependencyState::Unknown));
            assert_eq!(read(serde_json::to_value(&dependency).unwrap()).state(), DependencyState::Unknown);
        }
    }
}
