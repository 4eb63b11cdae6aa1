//! Which files there are: where plugins are looked for, in which order.

use std::path::{Path, PathBuf};

use crate::{LoadErrorKind, Trust};

/// The extension of plugins on this platform, with its dot.
pub(crate) const EXTENSION: &str = if cfg!(target_vendor = "apple") { ".dylib" } else { ".so" };

/// A path at which plugins are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) trust: Trust,
    /// It was named for the plugins in it; otherwise it need neither be there nor hold any.
    pub(crate) named: bool,
}

impl Place {
    /// The files to look at, by name.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, LoadErrorKind> {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        match plugin_files(&path) {
            Err(LoadErrorKind::NotFound | LoadErrorKind::EmptyDirectory { .. }) if !self.named => Ok(Vec::new()),
            files => files,
        }
    }
}

/// The places with their ranks, from 1. Those that are named one after the other have one rank: none of them comes
/// before the others.
pub(crate) fn ranked(places: &[Place]) -> impl Iterator<Item = (usize, &Place)> {
    let mut rank = 0;
    let mut was_named = false;
    places.iter().map(move |place| {
        if !(place.named && was_named) {
            rank += 1;
        }
        was_named = place.named;
        (rank, place)
    })
}

/// The plugin files that this path names: itself, or those directly in it, by name.
///
/// A file that is named is taken whatever its extension.
fn plugin_files(path: &Path) -> Result<Vec<PathBuf>, LoadErrorKind> {
    if !std::fs::metadata(path).map_err(|error| unreadable(&error))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(&error))? {
        let file = entry.map_err(|error| unreadable(&error))?.path();
        if is_plugin_file(&file) {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(LoadErrorKind::EmptyDirectory { extension: EXTENSION });
    }
    files.sort();
    Ok(files)
}

/// Whether a file in a directory of plugins has the name of one.
pub(crate) fn is_plugin_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(EXTENSION.as_bytes()))
}

/// A file system's error as a load error.
pub(crate) fn unreadable(error: &std::io::Error) -> LoadErrorKind {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => LoadErrorKind::NotFound,
        _ => LoadErrorKind::Unreadable { reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_gives_its_plugins_by_name_and_a_file_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert_eq!(plugin_files(directory.path()).unwrap_err().code(), "TH0103");
        for name in [format!("b{EXTENSION}"), format!("ä a{EXTENSION}"), format!("a{EXTENSION}"), "readme.md".into()] {
            fs::write(path(&name), "").unwrap();
        }
        let expected: Vec<_> = ["a", "b", "ä a"].iter().map(|name| path(&format!("{name}{EXTENSION}"))).collect();
        assert_eq!(plugin_files(directory.path()).unwrap(), expected);
        assert_eq!(plugin_files(&path("readme.md")).unwrap(), [path("readme.md")]);
        assert_eq!(plugin_files(&path("absent")).unwrap_err().code(), "TH0101");
    }

    #[test]
    fn only_what_is_named_has_to_be_there() {
        let directory = tempfile::tempdir().unwrap();
        let code = |path: &str, named| {
            let place = Place { path: directory.path().join(path), trust: Trust::Owned, named };
            place.files().map_or_else(|kind| kind.code(), |files| if files.is_empty() { "none" } else { "some" })
        };
        assert_eq!((code("absent", true), code("absent", false)), ("TH0101", "none"));
        assert_eq!((code("", true), code("", false)), ("TH0103", "none"));
        fs::write(directory.path().join(format!("a{EXTENSION}")), "").unwrap();
        assert_eq!((code("", true), code("", false)), ("some", "some"));
    }

    #[test]
    fn what_is_named_together_has_one_rank() {
        let place = |named| Place { path: PathBuf::new(), trust: Trust::Given, named };
        let ranks = |named: &[bool]| {
            let places: Vec<_> = named.iter().copied().map(place).collect();
            ranked(&places).map(|(rank, _)| rank).collect::<Vec<_>>()
        };
        assert_eq!(ranks(&[true, true, false, false, true, true]), [1, 1, 2, 3, 4, 4]);
        assert_eq!(ranks(&[false, true, false]), [1, 2, 3]);
    }
}
