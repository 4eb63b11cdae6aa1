use std::path::{Path, PathBuf};

use crate::LoadErrorKind;

/// The extension of plugins on this platform, with its dot.
pub(crate) const EXTENSION: &str = if cfg!(target_vendor = "apple") { ".dylib" } else { ".so" };

/// The plugin files that this path names: itself, or those directly in it, by name.
///
/// A file that is named is taken whatever its extension.
pub(crate) fn plugin_files(path: &Path) -> Result<Vec<PathBuf>, LoadErrorKind> {
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
}
