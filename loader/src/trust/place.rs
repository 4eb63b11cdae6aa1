//! Who could put other bytes in the place of a file: its owner, the owners of the directories on the way to it, and
//! whoever may write any of them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::LoadErrorKind;
use crate::discover::unreadable;

/// As many links as the system follows.
const MOST_LINKS: usize = 40;
const ROOT: u32 = 0;
const STICKY: u32 = 0o1000;
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;

/// What is wrong with a place from which something is to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlaceProblem {
    /// It belongs neither to this user nor to root.
    Foreign {
        /// The number of the user that it belongs to.
        owner: u32,
    },
    /// Others than its owner may write it.
    Writable {
        /// The number of the user that it belongs to.
        owner: u32,
        /// Its mode, without its type.
        mode: u32,
    },
}

impl PlaceProblem {
    pub(crate) fn fix(&self, place: &Path) -> String {
        let place = place.to_string_lossy();
        let place = shlex::try_quote(&place).unwrap_or_default();
        match self {
            Self::Foreign { .. } => format!("give it to this user with `chown`: chown {} {place}", user()),
            Self::Writable { .. } => format!("chmod go-w {place}"),
        }
    }
}

impl fmt::Display for PlaceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign { owner } => {
                write!(f, "belongs to user {owner}, and neither to this user ({}) nor to root", user())
            }
            Self::Writable { owner, mode } => {
                write!(f, "can be written by others than its owner, user {owner} (mode {mode:04o})")
            }
        }
    }
}

fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What is wrong with a file, a link or a directory of this kind; nothing, where only this user and root may write it.
///
/// A group counts as others, since nobody here knows who is in it; that of root does not. Where a file has an access
/// list, the system shows the most that it allows as the group's rights.
pub(crate) fn problem(metadata: &Metadata) -> Option<PlaceProblem> {
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    if owner != ROOT && owner != user() {
        return Some(PlaceProblem::Foreign { owner });
    }
    let group_writes = mode & GROUP_WRITES != 0 && metadata.gid() != ROOT;
    (group_writes || mode & OTHERS_WRITE != 0).then_some(PlaceProblem::Writable { owner, mode })
}

/// What is wrong with a file that was opened at this path.
pub(crate) fn check_file(path: &Path, metadata: &Metadata) -> Result<(), LoadErrorKind> {
    problem(metadata).map_or(Ok(()), |problem| Err(unsafe_place(path, problem)))
}

/// Checks the way to a file: every directory and every link that the system goes through for this absolute path, from
/// `/` on. In this order, what was checked cannot be changed by others afterwards.
///
/// A directory that anybody may write, but where only owners rename and remove (`/tmp`), is passed through: what
/// follows in it is checked to belong to this user or root, so that nobody else can replace it. The file itself must
/// not lie in one, where others can add a name for any file.
pub(crate) fn check_way(path: &Path) -> Result<(), LoadErrorKind> {
    let mut here = PathBuf::from("/");
    let mut directory = lstat(&here)?;
    let mut ahead = names(path);
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        let shared = check_directory(&here, &directory)?;
        if name == ".." {
            here.pop();
            directory = lstat(&here)?;
            continue;
        }
        let next = here.join(&name);
        let metadata = lstat(&next)?;
        if metadata.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return Err(unreadable(&rustix::io::Errno::LOOP.into()));
            }
            // A link has no mode of its own.
            if let Some(foreign @ PlaceProblem::Foreign { .. }) = problem(&metadata) {
                return Err(unsafe_place(&next, foreign));
            }
            let target = fs::read_link(&next).map_err(|error| unreadable(&error))?;
            if target.is_absolute() {
                here = PathBuf::from("/");
                directory = lstat(&here)?;
            }
            let mut follow = names(&target);
            follow.append(&mut ahead);
            ahead = follow;
        } else if metadata.is_dir() {
            (here, directory) = (next, metadata);
        } else if let Some(problem) = shared {
            return Err(unsafe_place(&here, problem));
        } else {
            return Ok(());
        }
    }
    check_directory(&here, &directory).map(drop)
}

/// Checks a directory that is to hold files, and the way to it.
pub(crate) fn check_directory_way(path: &Path) -> Result<(), LoadErrorKind> {
    check_way(path)?;
    let directory = fs::metadata(path).map_err(|error| unreadable(&error))?;
    check_file(path, &directory)
}

/// Whether a directory can be passed through; what keeps it from holding the file itself.
fn check_directory(path: &Path, metadata: &Metadata) -> Result<Option<PlaceProblem>, LoadErrorKind> {
    match problem(metadata) {
        Some(problem @ PlaceProblem::Writable { mode, .. }) if mode & STICKY != 0 => Ok(Some(problem)),
        Some(problem) => Err(unsafe_place(path, problem)),
        None => Ok(None),
    }
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn lstat(path: &Path) -> Result<Metadata, LoadErrorKind> {
    fs::symlink_metadata(path).map_err(|error| unreadable(&error))
}

fn unsafe_place(place: &Path, problem: PlaceProblem) -> LoadErrorKind {
    LoadErrorKind::UnsafePlace { place: place.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use tempfile::TempDir;

    fn directory() -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/p.so"), "").unwrap();
        for name in ["a", "a/b"] {
            mode(&path.join(name), 0o755);
        }
        mode(&path.join("a/b/p.so"), 0o644);
        (directory, path)
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn give_away(path: &Path) {
        std::os::unix::fs::lchown(path, Some(12345), Some(12345))
            .expect("this test gives a file to another user, which only root can: run the tests as root");
    }

    #[track_caller]
    fn refused(path: &Path, place: &Path, text: &str) {
        let error = check_way(path).unwrap_err();
        assert_eq!(error.to_string(), format!("its place is not safe: {} {text}", place.display()));
    }

    const WRITABLE: &str = "can be written by others than its owner, user 0 (mode 0777)";

    #[test]
    fn a_directory_that_others_may_write_is_refused_wherever_it_is_on_the_way() {
        let (_directory, path) = directory();
        let file = path.join("a/b/p.so");
        assert!(check_way(&file).is_ok());
        let text = WRITABLE.replace("user 0", &format!("user {}", user()));
        for name in ["a", "a/b"] {
            mode(&path.join(name), 0o777);
            refused(&file, &path.join(name), &text);
            mode(&path.join(name), 0o755);
        }
    }

    #[test]
    fn a_group_counts_as_others_unless_it_is_roots() {
        let (_directory, path) = directory();
        let group = path.join("a");
        mode(&group, 0o775);
        std::os::unix::fs::chown(&group, None, Some(12345))
            .expect("this test gives a file to another group, which only root can: run the tests as root");
        refused(&path.join("a/b/p.so"), &group, "can be written by others than its owner, user 0 (mode 0775)");
        std::os::unix::fs::chown(&group, None, Some(0)).unwrap();
        assert!(check_way(&path.join("a/b/p.so")).is_ok());
    }

    #[test]
    fn a_foreign_owner_on_the_way_is_refused_also_of_a_link() {
        let (_directory, path) = directory();
        let me = user();
        let text = format!("belongs to user 12345, and neither to this user ({me}) nor to root");
        symlink(path.join("a"), path.join("link")).unwrap();
        assert!(check_way(&path.join("link/b/p.so")).is_ok());
        give_away(&path.join("link"));
        refused(&path.join("link/b/p.so"), &path.join("link"), &text);
        give_away(&path.join("a"));
        refused(&path.join("a/b/p.so"), &path.join("a"), &text);
        let metadata = fs::metadata(path.join("a")).unwrap();
        let error = check_file(&path.join("a"), &metadata).unwrap_err();
        assert_eq!(error.code(), "TH0303");
    }

    #[test]
    fn where_a_link_leads_is_checked_alike() {
        let (_directory, path) = directory();
        fs::create_dir(path.join("open")).unwrap();
        mode(&path.join("open"), 0o777);
        fs::write(path.join("open/p.so"), "").unwrap();
        let text = WRITABLE.replace("user 0", &format!("user {}", user()));
        symlink("../../open/p.so", path.join("a/b/out.so")).unwrap();
        refused(&path.join("a/b/out.so"), &path.join("open"), &text);
        // A link in such a directory, however it is reached.
        symlink(path.join("a/b/p.so"), path.join("open/in.so")).unwrap();
        refused(&path.join("a/../open/in.so"), &path.join("open"), &text);
        symlink("loop.so", path.join("a/loop.so")).unwrap();
        assert_eq!(check_way(&path.join("a/loop.so")).unwrap_err().code(), "TH0102");
        assert_eq!(check_way(&path.join("a/absent.so")).unwrap_err().code(), "TH0101");
    }

    #[test]
    fn a_shared_directory_is_passed_through_and_holds_no_plugin() {
        let (_directory, path) = directory();
        mode(&path.join("a"), 0o1777);
        assert!(check_way(&path.join("a/b/p.so")).is_ok());
        fs::write(path.join("a/p.so"), "").unwrap();
        let text = WRITABLE.replace("user 0", &format!("user {}", user())).replace("0777", "1777");
        refused(&path.join("a/p.so"), &path.join("a"), &text);
    }
}
