use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A file system that keeps fractions of a second tells changes apart that are this far from each other.
const FINE: Duration = Duration::from_millis(100);
/// One that keeps whole seconds, or two.
const COARSE: Duration = Duration::from_secs(3);

/// What changes when a file's content, owner or mode does. The time of the last change of the inode cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatKey {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl StatKey {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether any change from now on would show. A change right after another one may have the same time.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let fine = nanoseconds % 1_000_000_000 != 0;
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else {
            return false;
        };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        now.duration_since(changed).is_ok_and(|age| age >= if fine { FINE } else { COARSE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn changed_at(seconds: i64, nanoseconds: i64) -> StatKey {
        StatKey { device: 1, inode: 2, size: 3, modified: (0, 0), changed: (seconds, nanoseconds) }
    }

    #[test]
    fn a_file_is_settled_once_its_file_system_would_show_another_change() {
        let now = UNIX_EPOCH + Duration::new(1_000, 500_000_000);
        for (seconds, nanoseconds, settled) in [
            (1_000, 400_000_000, true),
            (1_000, 400_000_001, false),
            (1_000, 0, false),
            (998, 0, false),
            (997, 0, true),
            (1_001, 1, false),
            (-5, 1, false),
        ] {
            assert_eq!(changed_at(seconds, nanoseconds).is_settled(now), settled, "{seconds}.{nanoseconds:09}");
        }
    }

    #[test]
    fn a_new_file_under_an_old_name_has_another_key() {
        let directory = tempfile::tempdir().unwrap();
        let (path, other) = (directory.path().join("a"), directory.path().join("b"));
        let key = || StatKey::of(&fs::metadata(&path).unwrap());
        fs::write(&path, "one").unwrap();
        let first = key();
        assert_eq!(key(), first);
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(key(), first);
    }
}
