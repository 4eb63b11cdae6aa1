//! Directories, each known once however it is spelled.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::fingerprint::Identity;

/// A directory that holds sources or targets.
#[derive(Debug)]
pub(crate) struct Directory {
    id: usize,
    path: PathBuf,
    identity: Identity,
    /// In a directory that takes names without regard to case: its entries by their folded name.
    folded: Option<HashMap<String, String>>,
}

/// Says which entry of which directory; equal for all spellings of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key(usize, String);

/// A name in a directory, whether or not something has that name.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// The directory.
    pub(crate) directory: Arc<Directory>,
    /// The name, one path component.
    pub(crate) name: String,
}

impl Place {
    /// The whole path, without symlinks in its directory part.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path.join(&self.name)
    }

    /// The entry that this place stands for.
    pub(crate) fn key(&self) -> Key {
        let name = if self.directory.folded.is_some() { fold(&self.name) } else { self.name.clone() };
        Key(self.directory.id, name)
    }
}

impl Directory {
    /// Its path, without symlinks.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// `name` as the directory spells it.
    pub(crate) fn spelling<'n>(&'n self, name: &'n str) -> &'n str {
        self.folded.as_ref().and_then(|entries| entries.get(&fold(name))).map_or(name, String::as_str)
    }
}

/// Why a directory cannot be used.
#[derive(Debug)]
pub(crate) enum DirError {
    /// Nothing is there, or something that is no directory.
    Missing,
    /// It is outside the session's directory.
    Outside,
    /// The system refused to look.
    Unreadable(io::Error),
}

/// All directories of one plan.
#[derive(Debug)]
pub(crate) struct Dirs {
    root: PathBuf,
    ignores_case: fn(&Path) -> bool,
    by_spelling: BTreeMap<PathBuf, Arc<Directory>>,
    by_identity: HashMap<Identity, Arc<Directory>>,
}

impl Dirs {
    /// Starts with none; `ignores_case` tells whether a directory ignores case, see [`ignores_case`].
    ///
    /// # Errors
    ///
    /// When `root`, the session's directory, cannot be resolved.
    pub(crate) fn new(root: &Path, ignores_case: fn(&Path) -> bool) -> io::Result<Self> {
        let root = root.canonicalize()?;
        Ok(Self { root, ignores_case, by_spelling: BTreeMap::new(), by_identity: HashMap::new() })
    }

    /// The session's directory, without symlinks.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The directory that `spelled`, an absolute path, leads to.
    ///
    /// # Errors
    ///
    /// When it is no directory inside the session's directory.
    pub(crate) fn find(&mut self, spelled: &Path) -> Result<Arc<Directory>, DirError> {
        if let Some(known) = self.by_spelling.get(spelled) {
            return Ok(Arc::clone(known));
        }
        let (path, identity) = resolve(spelled)?;
        if !path.starts_with(&self.root) {
            return Err(DirError::Outside);
        }
        let id = self.by_identity.len();
        let ignores_case = self.ignores_case;
        let directory = Arc::clone(self.by_identity.entry(identity).or_insert_with(|| {
            let folded = ignores_case(&path).then(|| entries(&path).map(|name| (fold(&name), name)).collect());
            Arc::new(Directory { id, path, identity, folded })
        }));
        self.by_spelling.insert(spelled.to_owned(), Arc::clone(&directory));
        Ok(directory)
    }

    /// Every spelling that was asked for, with the directory it led to, in a fixed order.
    pub(crate) fn into_spellings(self) -> Vec<(PathBuf, Arc<Directory>)> {
        self.by_spelling.into_iter().collect()
    }
}

/// Where `spelled` leads now.
///
/// # Errors
///
/// When it is no directory; never [`DirError::Outside`].
pub(crate) fn resolve(spelled: &Path) -> Result<(PathBuf, Identity), DirError> {
    let classify = |e: io::Error| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => DirError::Missing,
        _ => DirError::Unreadable(e),
    };
    let path = spelled.canonicalize().map_err(classify)?;
    let stat = rustix::fs::stat(&path).map_err(|e| classify(e.into()))?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
        return Err(DirError::Missing);
    }
    Ok((path, Identity::of(&stat)))
}

/// Whether `directory` takes names without regard to case, found by looking up one of its entries with its case
/// swapped. A hard link under that very name does not count. A directory without any letter in its names is taken to
/// respect case: then a rename that would overwrite fails instead of being foreseen.
pub(crate) fn ignores_case(directory: &Path) -> bool {
    let Some((name, swapped)) = entries(directory).find_map(|name| swap_case(&name).map(|swapped| (name, swapped)))
    else {
        return false;
    };
    let identity = |name: &str| rustix::fs::lstat(directory.join(name)).ok().map(|stat| Identity::of(&stat));
    match (identity(&name), identity(&swapped)) {
        (Some(one), Some(other)) => one == other && entries(directory).all(|entry| entry != swapped),
        _ => false,
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

fn swap_case(name: &str) -> Option<String> {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    name.contains(|c: char| c.is_ascii_alphabetic()).then(|| name.chars().map(swap).collect())
}

fn fold(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn spellings_of_one_directory_are_one_directory() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        fs::create_dir(root.join("d")).unwrap();
        symlink("d", root.join("link")).unwrap();
        let mut dirs = Dirs::new(&root, ignores_case).unwrap();
        let one = dirs.find(&root.join("d")).unwrap();
        let other = dirs.find(&root.join("d/../link")).unwrap();
        assert!(Arc::ptr_eq(&one, &other));
        assert_eq!(one.path(), root.join("d"));
        let spellings: Vec<_> = dirs.into_spellings().into_iter().map(|(spelled, _)| spelled).collect();
        assert_eq!(spellings, [root.join("d"), root.join("d/../link")]);
    }

    #[test]
    fn what_is_no_directory_inside_the_root_is_refused() {
        let tmp = tempfile::tempdir().unwrap();
        fs::create_dir(tmp.path().join("root")).unwrap();
        fs::create_dir(tmp.path().join("root2")).unwrap();
        fs::write(tmp.path().join("root/file"), "").unwrap();
        symlink("../root2", tmp.path().join("root/out")).unwrap();
        symlink("loop", tmp.path().join("root/loop")).unwrap();
        let root = tmp.path().join("root");
        let mut dirs = Dirs::new(&root, ignores_case).unwrap();
        let mut error = |path: &str| dirs.find(&root.join(path)).unwrap_err();
        assert!(matches!(error("none"), DirError::Missing));
        assert!(matches!(error("file"), DirError::Missing));
        assert!(matches!(error("file/x"), DirError::Missing));
        assert!(matches!(error(".."), DirError::Outside));
        assert!(matches!(error("../root2"), DirError::Outside));
        assert!(matches!(error("out"), DirError::Outside));
        assert!(matches!(error("loop"), DirError::Unreadable(_)));
    }

    #[test]
    fn a_hard_link_with_swapped_case_does_not_make_a_directory_ignore_case() {
        let tmp = tempfile::tempdir().unwrap();
        assert!(!ignores_case(tmp.path()));
        fs::write(tmp.path().join("1"), "").unwrap();
        assert!(!ignores_case(tmp.path()));
        fs::write(tmp.path().join("ab"), "").unwrap();
        if fs::hard_link(tmp.path().join("ab"), tmp.path().join("AB")).is_ok() {
            assert!(!ignores_case(tmp.path()));
        }
    }

    #[test]
    fn a_directory_that_ignores_case_knows_its_own_spelling() {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("Ünder.TXT"), "").unwrap();
        let mut dirs = Dirs::new(tmp.path(), |_| true).unwrap();
        let directory = dirs.find(tmp.path()).unwrap();
        assert_eq!(directory.spelling("ünder.txt"), "Ünder.TXT");
        assert_eq!(directory.spelling("Other"), "Other");
        let key = |name: &str| Place { directory: Arc::clone(&directory), name: name.to_owned() }.key();
        assert_eq!(key("A"), key("a"));
    }
}
