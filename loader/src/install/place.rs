use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::InstallError;
use crate::bundle::{Bundle, Part};

/// Files that were put in their places; taken away again on drop, unless they are kept.
#[derive(Default)]
#[must_use = "the files are taken away on drop"]
pub(super) struct Placed(Vec<New>);

struct New {
    path: PathBuf,
    /// A second name for what was there before.
    before: Option<TempPath>,
}

impl Placed {
    /// Writes all files of a bundle beside their places, then moves them in, the plugin's own last.
    pub(super) fn put(&mut self, directory: &Path, bundle: &Bundle) -> Result<(), InstallError> {
        let mut written = Vec::new();
        for part in bundle.parts.iter().rev() {
            let path = directory.join(&part.relative);
            let file = write(directory, &path, part).map_err(|error| InstallError::not_written(&path, &error))?;
            written.push((path, file));
        }
        for (path, file) in written {
            self.exchange(path.clone(), file).map_err(|error| InstallError::not_written(&path, &error))?;
        }
        let synced = File::open(directory).and_then(|directory| directory.sync_all());
        synced.map_err(|error| InstallError::not_written(directory, &error))
    }

    fn exchange(&mut self, path: PathBuf, file: NamedTempFile) -> io::Result<()> {
        let before = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(rustix::io::Errno::ISDIR.into()),
            Ok(_) => {
                let parent = path.parent().unwrap_or(Path::new("/"));
                Some(tempfile::Builder::new().make_in(parent, |spare| fs::hard_link(&path, spare))?.into_temp_path())
            }
            Err(_) => None,
        };
        file.persist(&path).map_err(|error| error.error)?;
        self.0.push(New { path, before });
        Ok(())
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        for New { path, before } in self.0.drain(..).rev() {
            let _ = match before {
                Some(before) => before.persist(&path).map_err(|error| error.error),
                None => fs::remove_file(&path),
            };
        }
    }
}

fn write(directory: &Path, path: &Path, part: &Part) -> io::Result<NamedTempFile> {
    let parent = path.parent().unwrap_or(directory);
    DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    if !parent.canonicalize()?.starts_with(directory.canonicalize()?) {
        return Err(io::Error::other("a link leads out of the directory of plugins"));
    }
    let mut file = NamedTempFile::new_in(parent)?;
    let bytes = part.bytes.as_ref().ok_or_else(|| io::Error::other("it was not read"))?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(0o644))?;
    file.as_file().sync_all()?;
    Ok(file)
}
