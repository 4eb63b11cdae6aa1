use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::ToolError;

/// Where a path leads that starts at `root`, without symbolic links, if that is inside of `root`.
pub(crate) fn resolve_inside(root: &Path, path: &Path) -> Result<PathBuf, ToolError> {
    let root = root.canonicalize().map_err(|error| ToolError::from(error).context(root.display()))?;
    let shown = if path.as_os_str().is_empty() { Path::new(".") } else { path }.display();
    let real = real(&root.join(path)).map_err(|error| ToolError::from(error).context(&shown))?;
    if real.starts_with(&root) {
        Ok(real)
    } else {
        Err(ToolError::new(format!("{shown}: is outside of the session's directory")))
    }
}

/// The path without symbolic links; its last component may be absent.
fn real(path: &Path) -> io::Result<PathBuf> {
    let missing = match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        known => return known,
    };
    // What ends in `..` names nothing that could be made.
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(missing);
    };
    let parent = parent.canonicalize().map_err(|error| match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "is in a directory that does not exist"),
        _ => error,
    })?;
    let place = parent.join(name);
    match place.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(place),
        Err(error) => Err(error),
        // Writing to it would make what it points to, wherever that is.
        Ok(found) if found.is_symlink() => {
            Err(io::Error::new(ErrorKind::NotFound, "is a symbolic link to what does not exist"))
        }
        // Made just now.
        Ok(_) => place.canonicalize(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A session's directory, reached through a link, beside a directory with a name that begins alike.
    fn session() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let tmp = tempfile::tempdir().unwrap();
        let real = tmp.path().canonicalize().unwrap().join("session");
        fs::create_dir_all(real.join("Größe/tief")).unwrap();
        fs::create_dir(tmp.path().join("session-2")).unwrap();
        fs::write(real.join("file"), "").unwrap();
        symlink("session", tmp.path().join("link")).unwrap();
        let root = tmp.path().join("link");
        (tmp, root, real)
    }

    #[test]
    fn what_ends_inside_is_where_it_really_is() {
        let (_tmp, root, real) = session();
        symlink("Größe/tief", real.join("inner")).unwrap();
        symlink(&real, real.join("Größe/back")).unwrap();
        for (path, leads_to) in [
            ("", ""),
            (".", ""),
            ("file", "file"),
            ("Größe/tief/", "Größe/tief"),
            ("Größe/../file", "file"),
            ("inner", "Größe/tief"),
            // Of what the link leads to.
            ("inner/..", "Größe"),
            ("Größe/back/file", "file"),
            ("../session/file", "file"),
            ("new", "new"),
            ("new/", "new"),
            ("inner/Näues.txt", "Größe/tief/Näues.txt"),
            ("Größe/../new", "new"),
        ] {
            assert_eq!(resolve_inside(&root, Path::new(path)).unwrap(), real.join(leads_to), "{path:?}");
        }
        for path in [root.join("file"), real.join("file")] {
            assert_eq!(resolve_inside(&root, &path).unwrap(), real.join("file"));
        }
    }

    #[test]
    fn what_ends_outside_is_refused() {
        let (tmp, root, real) = session();
        fs::write(tmp.path().join("secret"), "").unwrap();
        symlink("..", real.join("up")).unwrap();
        symlink("../secret", real.join("to_secret")).unwrap();
        for path in ["..", "/", "../secret", "../new", "../session-2", "../session-2/new", "up", "up/new", "to_secret"]
        {
            let error = resolve_inside(&root, Path::new(path)).unwrap_err();
            assert_eq!(error.message(), format!("{path}: is outside of the session's directory"));
        }
        let absolute = tmp.path().join("secret");
        assert!(
            resolve_inside(&root, &absolute).unwrap_err().message().ends_with("is outside of the session's directory")
        );
    }

    #[test]
    fn what_leads_nowhere_says_why() {
        let (_tmp, root, real) = session();
        symlink("../not yet", real.join("dangling")).unwrap();
        symlink("loop", real.join("loop")).unwrap();
        for (path, why) in [
            ("absent/new", "is in a directory that does not exist"),
            ("absent/../file", "is in a directory that does not exist"),
            ("absent/..", "No such file or directory (os error 2)"),
            ("dangling", "is a symbolic link to what does not exist"),
            ("dangling/", "is a symbolic link to what does not exist"),
            ("file/new", "Not a directory (os error 20)"),
        ] {
            let error = resolve_inside(&root, Path::new(path)).unwrap_err();
            assert_eq!(error.message(), format!("{path}: {why}"));
        }
        for path in ["loop", "loop/new", "a\0b"] {
            assert!(resolve_inside(&root, Path::new(path)).is_err(), "{path:?}");
        }
        let error = resolve_inside(&real.join("gone"), Path::new("file")).unwrap_err();
        assert_eq!(error.message(), format!("{}: No such file or directory (os error 2)", real.join("gone").display()));
    }

    // Other systems refuse such names.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_be_any_bytes() {
        use std::os::unix::ffi::OsStrExt;
        let (_tmp, root, real) = session();
        let name = Path::new(std::ffi::OsStr::from_bytes(b"caf\xe9"));
        assert_eq!(resolve_inside(&root, name).unwrap(), real.join(name));
        fs::write(real.join(name), "").unwrap();
        assert_eq!(resolve_inside(&root, name).unwrap(), real.join(name));
    }
}
