//! Copies that nobody has used for long go away.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tracing::debug;

/// How long a copy is kept after its last use.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// A use within this time of the last one is not noted.
const NOTED: Duration = Duration::from_secs(24 * 60 * 60);

/// Notes that a copy is used: the time of its directory. That it cannot be noted is no reason not to use it.
pub(super) fn used_now(directory: &Path) {
    let now = SystemTime::now();
    if age(directory, now).is_some_and(|age| age > NOTED)
        && let Ok(open) = fs::File::open(directory)
    {
        let _ = open.set_modified(now);
    }
}

/// Removes the copies that were last used before the time that they are kept for. A process that has one mapped keeps
/// it; one that is about to open it makes it anew.
pub(crate) fn clean(root: &Path) {
    let now = SystemTime::now();
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.filter_map(Result::ok) {
        let directory = entry.path();
        if is_copy(&directory) && age(&directory, now).is_some_and(|age| age > KEPT) {
            match fs::remove_dir_all(&directory) {
                Ok(()) => debug!(directory = %directory.display(), "a copy that was not used for long was removed"),
                Err(error) => debug!(%error, directory = %directory.display(), "an old copy was not removed"),
            }
        }
    }
}

/// Whether it is one of ours: a directory that is named by a hash.
fn is_copy(path: &Path) -> bool {
    let is_hash = |name: &str| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    path.file_name().and_then(|name| name.to_str()).is_some_and(is_hash)
        && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn age(directory: &Path, now: SystemTime) -> Option<Duration> {
    now.duration_since(fs::metadata(directory).ok()?.modified().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_thirty_days_is_removed_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let days = |days: u64| SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        let make = |name: &str, age: u64| {
            let directory = root.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join("p.so"), "plugin").unwrap();
            fs::File::open(&directory).unwrap().set_modified(days(age)).unwrap();
            directory
        };
        let [old, used, recent] = [("a", 31), ("b", 31), ("c", 29)].map(|(digit, age)| make(&digit.repeat(64), age));
        let foreign = make("notes", 99);
        std::os::unix::fs::symlink(&foreign, root.path().join("d".repeat(64))).unwrap();
        used_now(&used);
        clean(root.path());
        assert_eq!([&old, &used, &recent, &foreign].map(|path| path.exists()), [false, true, true, true]);
        assert!(foreign.join("p.so").exists());
        clean(&root.path().join("absent"));
    }
}
