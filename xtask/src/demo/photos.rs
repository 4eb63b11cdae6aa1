//! The files that the demo renames.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

/// Names before and after the rename: with spaces, and beyond ASCII. The last stays as it is.
const FILES: &[(&str, &str)] = &[
    ("IMG 1.JPG", "trip 1.JPG"),
    ("IMG_2 (Zürich).JPG", "trip_2 (Zürich).JPG"),
    ("IMG_3 東京.JPG", "trip_3 東京.JPG"),
    ("notes.txt", "notes.txt"),
];

/// A temporary directory of files, whose own name needs quoting too.
pub(super) struct Photos {
    root: TempDir,
    path: PathBuf,
}

/// The content of each file by its name.
pub(super) type Contents = BTreeMap<String, String>;

impl Photos {
    /// Creates the directory, which is removed at the end unless it is to be kept.
    pub(super) fn create(keep: bool) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("toolhost-demo-").disable_cleanup(keep).tempdir();
        let root = root.context("could not create a temporary directory")?;
        let path = root.path().join("Été 2026");
        fs::create_dir(&path).with_context(|| format!("could not create {}", path.display()))?;
        for (name, _) in FILES {
            let file = path.join(name);
            fs::write(&file, content(name)).with_context(|| format!("could not write {}", file.display()))?;
        }
        Ok(Self { root, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The names in the directory, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let list = || -> std::io::Result<Vec<String>> {
            fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
        };
        let mut names = list().with_context(|| format!("could not list {}", self.path.display()))?;
        names.sort();
        Ok(names)
    }

    /// What is in the directory now.
    pub(super) fn read(&self) -> Result<Contents> {
        let read = |name: String| {
            let file = self.path.join(&name);
            let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
            Ok((name, text))
        };
        self.names()?.into_iter().map(read).collect()
    }

    /// Removes the directory.
    pub(super) fn remove(self) -> Result<()> {
        self.root.close().context("could not remove the temporary directory")
    }
}

/// What must be in the directory after the rename.
pub(super) fn renamed() -> Contents {
    FILES.iter().map(|(before, after)| ((*after).to_owned(), content(before))).collect()
}

/// Different for each file, so that a swapped one is noticed.
fn content(name: &str) -> String {
    format!("taken as {name}\n")
}
