//! The project that a command runs in: the nearest directory that has a `.toolhost`.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::plain::plain_line;

const NAME: &str = ".toolhost";

/// What lies above a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Project {
    /// Its `.toolhost`.
    pub(crate) directory: Option<PathBuf>,
    /// Why one that is there is not used.
    pub(crate) warning: Option<String>,
}

/// Looks upwards from this directory, as far as the home, whose own `.toolhost` is no project's, or the root.
///
/// One that belongs to somebody else says nothing here: in a directory that anybody may write, whoever wants to can put
/// one.
pub(crate) fn find(from: &Path, home: Option<&Path>) -> Project {
    let home = home.and_then(|home| home.canonicalize().ok());
    let above = from.ancestors().take_while(|directory| Some(*directory) != home.as_deref());
    let mut candidates = above.map(|directory| directory.join(NAME)).filter(|path| path.is_dir());
    let Some(directory) = candidates.next() else { return Project::default() };
    match owner_of_another(&directory) {
        None => Project { directory: Some(directory), warning: None },
        Some(owner) => {
            let path = plain_line(&directory.to_string_lossy());
            let warning = format!("{path} belongs to user {owner}, neither to this user nor to root, and is not used");
            Project { directory: None, warning: Some(warning) }
        }
    }
}

/// Whose it is, where it is neither this user's nor root's; of a link, also whose the link is.
fn owner_of_another(path: &Path) -> Option<u32> {
    let user = rustix::process::geteuid().as_raw();
    let owners = [fs::symlink_metadata(path), fs::metadata(path)].map(|found| found.as_ref().map(Metadata::uid).ok());
    owners.into_iter().flatten().find(|&owner| owner != user && owner != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_one_counts_and_the_home_s_own_does_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name);
        fs::create_dir_all(path("home/outer/inner/deep")).unwrap();
        let found = |from: &str| find(&path(from), Some(&path("home"))).directory;
        for project in ["", "home", "home/outer", "home/outer/inner"] {
            fs::create_dir(path(project).join(NAME)).unwrap();
        }
        assert_eq!(found("home/outer/inner/deep"), Some(path("home/outer/inner/.toolhost")));
        assert_eq!(found("home/outer/inner"), Some(path("home/outer/inner/.toolhost")));
        assert_eq!(found("home/outer"), Some(path("home/outer/.toolhost")));
        assert_eq!(found("home"), None);
        // Outside of the home there is no end but the root.
        assert_eq!(found(""), Some(path(".toolhost")));
        fs::remove_dir(path("home/outer/inner/.toolhost")).unwrap();
        fs::write(path("home/outer/inner/.toolhost"), "no directory").unwrap();
        assert_eq!(found("home/outer/inner"), Some(path("home/outer/.toolhost")));
    }

    #[test]
    fn one_of_another_user_says_nothing() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join(NAME);
        fs::create_dir(&directory).unwrap();
        // Only root can give it away.
        if std::os::unix::fs::chown(&directory, Some(12_345), None).is_ok() {
            let found = find(root.path(), None);
            let warning = format!(
                "{} belongs to user 12345, neither to this user nor to root, and is not used",
                directory.display()
            );
            assert_eq!(found, Project { directory: None, warning: Some(warning) });
        }
    }
}
