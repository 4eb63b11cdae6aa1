use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::path::{decode, encode};
use crate::result::is_false;

/// One change to one file, as it stands in the `changes` list of an action's details.
///
/// Paths are absolute. A path that is not UTF-8 stands as base64 in `pathBytes` (`oldPathBytes`) instead of `path`
/// (`oldPath`); [`FileChange::path`] and [`FileChange::old_path`] read both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct FileChange {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// What happens to the file.
    pub kind: ChangeKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path_bytes: Option<String>,
    /// SHA-256 of the content before, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_hash: Option<String>,
    /// SHA-256 of the content after, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_hash: Option<String>,
    /// Permission bits before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// Permission bits after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
    /// A unified diff of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The whole text before; left out where it is large, or no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_text: Option<String>,
    /// The whole text after; left out where it is large, or no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_text: Option<String>,
    /// The content is no text.
    #[serde(skip_serializing_if = "is_false")]
    pub binary: bool,
    /// The diff was cut, or left out for its size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ChangeKind {
    /// It appears.
    Create,
    /// Its content changes.
    Modify,
    /// It goes away.
    Delete,
    /// It moves from `oldPath` to `path`.
    Rename,
    /// Only its permission bits change.
    Mode,
    /// A kind that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl FileChange {
    /// A change of this kind to this absolute path.
    pub fn new(kind: ChangeKind, path: impl AsRef<Path>) -> Self {
        let (path, path_bytes) = split(path.as_ref());
        Self { kind, path, path_bytes, ..Self::default() }
    }

    /// A move from one absolute path to another.
    pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Self {
        let (old_path, old_path_bytes) = split(from.as_ref());
        Self { old_path, old_path_bytes, ..Self::new(ChangeKind::Rename, to) }
    }

    /// The path that the change is about; the new one of a rename. `None` where neither form can be read.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        join(self.path.as_deref(), self.path_bytes.as_deref())
    }

    /// The path that a rename moves away from.
    #[must_use]
    pub fn old_path(&self) -> Option<PathBuf> {
        join(self.old_path.as_deref(), self.old_path_bytes.as_deref())
    }
}

pub(crate) fn split(path: &Path) -> (Option<String>, Option<String>) {
    match path.to_str() {
        Some(text) => (Some(text.to_owned()), None),
        None => (None, Some(encode(path))),
    }
}

pub(crate) fn join(text: Option<&str>, bytes: Option<&str>) -> Option<PathBuf> {
    text.map(PathBuf::from).or_else(|| bytes.and_then(|bytes| decode(bytes).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_rename_names_both_paths() {
        let change = FileChange::rename("/a b", "/ü");
        assert_eq!(serde_json::to_value(&change).unwrap(), json!({"path": "/ü", "kind": "rename", "oldPath": "/a b"}));
        assert_eq!(change.old_path(), Some("/a b".into()));
    }

    #[test]
    fn a_path_that_is_not_utf8_survives() {
        let path = Path::new(OsStr::from_bytes(b"/\xff"));
        let change = FileChange::new(ChangeKind::Delete, path);
        let value = serde_json::to_value(&change).unwrap();
        assert_eq!(value, json!({"pathBytes": "L/8=", "kind": "delete"}));
        assert_eq!(serde_json::from_value::<FileChange>(value).unwrap().path().as_deref(), Some(path));
    }
}
