use std::fs;
use std::path::Path;

use super::*;
use crate::dirs::Dirs;

fn lacking(_: &OwnedFd, _: &str, _: &OwnedFd, _: &str) -> Result<(), Errno> {
    Err(Errno::INVAL)
}

struct Case {
    tmp: tempfile::TempDir,
    directory: Arc<Directory>,
}

impl Case {
    fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let directory = Dirs::new(tmp.path(), |_| false).unwrap().find(tmp.path()).unwrap();
        Self { tmp, directory }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.tmp.path().join(name)
    }

    fn place(&self, name: &str) -> Place {
        Place { directory: Arc::clone(&self.directory), name: name.to_owned() }
    }

    fn rename(&self, from: &str, to: &str, atomic: AtomicRename) -> Result<Identity, RenameError> {
        let moved = Moved { identity: identity(&self.path(from)), is_directory: self.path(from).is_dir() };
        rename(&self.place(from), &self.place(to), moved, atomic)
    }
}

fn identity(path: &Path) -> Identity {
    Identity::of(&rustix::fs::lstat(path).unwrap())
}

#[test]
fn both_ways_rename_a_file_and_overwrite_none() {
    for atomic in [noreplace as AtomicRename, lacking] {
        let case = Case::new();
        fs::write(case.path("-a\n"), "A").unwrap();
        fs::write(case.path("b"), "B").unwrap();
        let before = identity(&case.path("-a\n"));
        assert!(matches!(case.rename("-a\n", "b", atomic), Err(RenameError::Taken)));
        assert_eq!(fs::read_to_string(case.path("b")).unwrap(), "B");
        assert_eq!(case.rename("-a\n", "c é", atomic).unwrap(), before);
        assert_eq!(fs::read_to_string(case.path("c é")).unwrap(), "A");
        assert!(!case.path("-a\n").exists());
    }
}

#[test]
fn both_ways_rename_a_symlink_and_not_what_it_leads_to() {
    for atomic in [noreplace as AtomicRename, lacking] {
        let case = Case::new();
        fs::write(case.path("file"), "").unwrap();
        std::os::unix::fs::symlink("file", case.path("link")).unwrap();
        case.rename("link", "l", atomic).unwrap();
        assert_eq!(fs::read_link(case.path("l")).unwrap(), Path::new("file"));
        assert!(case.path("file").exists());
        assert!(fs::symlink_metadata(case.path("link")).is_err());
    }
}

#[test]
fn a_directory_is_only_renamed_atomically() {
    let case = Case::new();
    fs::create_dir(case.path("d")).unwrap();
    fs::create_dir(case.path("empty")).unwrap();
    assert!(matches!(case.rename("d", "e", lacking), Err(RenameError::UnsafeDirectory)));
    assert!(matches!(case.rename("d", "empty", noreplace), Err(RenameError::Taken)));
    case.rename("d", "e", noreplace).unwrap();
    assert!(case.path("e").is_dir());
}

#[test]
fn another_file_under_the_old_name_stays() {
    let case = Case::new();
    fs::write(case.path("a"), "").unwrap();
    fs::write(case.path("b"), "").unwrap();
    let moved = Moved { identity: identity(&case.path("b")), is_directory: false };
    let result = rename(&case.place("a"), &case.place("c"), moved, noreplace);
    assert!(matches!(result, Err(RenameError::NotThere)));
    let result = rename(&case.place("gone"), &case.place("c"), moved, noreplace);
    assert!(matches!(result, Err(RenameError::NotThere)));
}

#[test]
fn another_directory_under_the_same_path_is_not_touched() {
    let case = Case::new();
    fs::create_dir(case.path("d")).unwrap();
    fs::write(case.path("d/a"), "").unwrap();
    let directory = Dirs::new(case.tmp.path(), |_| false).unwrap().find(&case.path("d")).unwrap();
    let place = |name: &str| Place { directory: Arc::clone(&directory), name: name.to_owned() };
    let moved = Moved { identity: identity(&case.path("d/a")), is_directory: false };
    fs::rename(case.path("d"), case.path("old")).unwrap();
    let rename = || rename(&place("a"), &place("b"), moved, noreplace);
    assert!(matches!(rename(), Err(RenameError::DirectoryChanged)));
    std::os::unix::fs::symlink("old", case.path("d")).unwrap();
    assert!(matches!(rename(), Err(RenameError::DirectoryChanged)));
    fs::remove_file(case.path("d")).unwrap();
    fs::create_dir(case.path("d")).unwrap();
    assert!(matches!(rename(), Err(RenameError::DirectoryChanged)));
    fs::remove_dir(case.path("d")).unwrap();
    fs::rename(case.path("old"), case.path("d")).unwrap();
    rename().unwrap();
    assert!(case.path("d/b").exists());
}

#[test]
fn errors_say_what_stands_in_the_way() {
    assert!(matches!(RenameError::from(Errno::XDEV), RenameError::OtherFileSystem));
    assert_eq!(RenameError::from(Errno::ROFS).to_string(), "Read-only file system (os error 30)");
    assert_eq!(
        RenameError::NeitherWay(Errno::PERM.into()).to_string(),
        "this file system cannot rename without the risk of overwriting something, nor link instead: Operation not \
         permitted (os error 1)"
    );
}

/// Root may write anywhere but here.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_refuses_renames_leaves_the_file_where_it_is() {
    let root = Path::new("/proc/self").canonicalize().unwrap();
    let directory = Dirs::new(&root, |_| false).unwrap().find(&root).unwrap();
    let place = |name: &str| Place { directory: Arc::clone(&directory), name: name.to_owned() };
    let moved = Moved { identity: identity(&root.join("comm")), is_directory: false };
    assert!(matches!(rename(&place("comm"), &place("comm2"), moved, noreplace), Err(RenameError::Io(_))));
    let linked = rename(&place("comm"), &place("comm2"), moved, lacking);
    assert!(matches!(linked, Err(RenameError::NeitherWay(_) | RenameError::Io(_))));
    assert!(root.join("comm").exists());
}

/// Another program puts its own file under the old name at the last moment.
fn overtaken(from_dir: &OwnedFd, from: &str, to_dir: &OwnedFd, to: &str) -> Result<(), Errno> {
    if from == "a" {
        rustix::fs::renameat(from_dir, "foreign", from_dir, from)?;
    }
    noreplace(from_dir, from, to_dir, to)
}

#[test]
fn a_foreign_file_that_slipped_in_goes_back_to_where_it_was() {
    let case = Case::new();
    fs::write(case.path("a"), "mine").unwrap();
    fs::write(case.path("foreign"), "not mine").unwrap();
    assert!(matches!(case.rename("a", "b", overtaken), Err(RenameError::NotThere)));
    assert_eq!(fs::read_to_string(case.path("a")).unwrap(), "not mine");
    assert!(!case.path("b").exists());
}
