//! Paths as a shell's user writes them.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

/// This user's home.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok().filter(|home| home.is_absolute())
}

/// The path with the user's home for a `~` at its beginning. One that cannot be had, or that names another user's, stays
/// as it is.
pub(crate) fn expand(path: &Path) -> PathBuf {
    let mut parts = path.components();
    match (parts.next(), home()) {
        (Some(Component::Normal(first)), Some(home)) if first == "~" => home.join(parts.as_path()),
        _ => path.to_owned(),
    }
}

/// The name of the other user whose home the path begins with.
pub(crate) fn other_home(path: &Path) -> Option<&OsStr> {
    match path.components().next() {
        Some(Component::Normal(first)) if first.as_encoded_bytes().starts_with(b"~") && first != "~" => Some(first),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_the_home_at_the_beginning_alone() {
        let home = home().unwrap();
        assert_eq!(expand(Path::new("~")), home);
        assert_eq!(expand(Path::new("~/my plugins/ä")), home.join("my plugins/ä"));
        for same in ["./~", "a/~/b", "~other/x", "/~", "", "."] {
            assert_eq!(expand(Path::new(same)), Path::new(same));
        }
    }

    #[test]
    fn the_home_of_another_user_is_told_apart() {
        assert_eq!(other_home(Path::new("~ada/plugins")), Some(OsStr::new("~ada")));
        for none in ["~", "~/a", "./~ada", "a", ""] {
            assert_eq!(other_home(Path::new(none)), None);
        }
    }
}
