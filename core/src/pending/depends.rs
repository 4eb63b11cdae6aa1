//! Whether the world still is what a preview saw.

use std::fs::File;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};
use toolhost_protocol::{Dependency, DependencyState, Failure, FileState, STALE};

/// Checks all dependencies, and names every one that does not hold. Reads files; blocks.
pub(crate) fn verify(dependencies: &[Dependency]) -> Result<(), Failure> {
    let changed: Vec<String> = dependencies.iter().filter_map(difference).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let list = changed.iter().map(|line| format!("\n- {line}")).collect::<String>();
    let text =
        format!("something changed since the preview, so nothing was applied; discard it and preview again:{list}");
    Err(Failure::new(text).with_code(STALE))
}

fn difference(dependency: &Dependency) -> Option<String> {
    let Some(path) = dependency.path() else {
        return Some("a path that this host cannot read".to_owned());
    };
    let what = match dependency.state() {
        DependencyState::Content(expected) => match content_hash(&path) {
            Ok(found) if found == expected => return None,
            Ok(_) => "has other content".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is gone".to_owned(),
            Err(error) => format!("cannot be read: {error}"),
        },
        DependencyState::Unchanged(expected) => match path.symlink_metadata() {
            Ok(metadata) if FileState::of(&metadata) == expected => return None,
            Ok(_) => "was modified or replaced".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is gone".to_owned(),
            Err(error) => format!("cannot be looked at: {error}"),
        },
        DependencyState::Absent => match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Ok(_) => "exists now".to_owned(),
            Err(error) => format!("cannot be looked at: {error}"),
        },
        _ => "has to be in a state that this host cannot verify; update the host".to_owned(),
    };
    Some(format!("{path:?} {what}"))
}

fn content_hash(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file any more"));
    }
    io::copy(&mut file, &mut HashWriter(&mut hash))?;
    Ok(hex::encode(hash.finalize()))
}

struct HashWriter<'a>(&'a mut Sha256);

impl io::Write for HashWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_difference_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let hash = |text: &str| hex::encode(Sha256::digest(text));
        fs::write(path("same"), "same").unwrap();
        fs::write(path("other"), "now").unwrap();
        fs::write(path("appeared"), "").unwrap();
        fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
        let state = |name: &str| FileState::of(&path(name).symlink_metadata().unwrap());
        let replaced = Dependency::unchanged(path("other"), state("same"));
        let holds = [
            Dependency::content(path("same"), hash("same")),
            Dependency::absent(path("nothing")),
            Dependency::unchanged(path("dangling"), state("dangling")),
            Dependency::unchanged(path("directory"), state("directory")),
        ];
        fs::write(path("directory/new"), "").unwrap();
        assert_eq!(verify(&holds), Ok(()));
        let broken = [
            Dependency::content(path("other"), hash("then")),
            Dependency::content(path("gone"), hash("")),
            Dependency::content(path("directory"), hash("")),
            Dependency::absent(path("appeared")),
            Dependency::absent(path("dangling")),
            Dependency::content(path("same"), "no hash"),
            replaced,
            Dependency::unchanged(path("gone"), state("same")),
        ];
        let failure = verify(&broken).unwrap_err();
        assert_eq!(failure.code.as_deref(), Some(STALE));
        let lines: Vec<_> = failure.message.lines().skip(1).collect();
        let line = |name: &str, what: &str| format!("- {:?} {what}", path(name));
        assert_eq!(
            lines,
            [
                line("other", "has other content"),
                line("gone", "is gone"),
                line("directory", "cannot be read: it is no file any more"),
                line("appeared", "exists now"),
                line("dangling", "exists now"),
                line("same", "has to be in a state that this host cannot verify; update the host"),
                line("other", "was modified or replaced"),
                line("gone", "is gone"),
            ]
        );
    }
}
