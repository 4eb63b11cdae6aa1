//! Small JSON files that keep what was decided: read whole, replaced whole, one writer at a time.

mod error;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::trust::place;
pub use error::StateError;

/// Larger files are none of ours.
const LARGEST: u64 = 16 << 20;
/// As many links as the system follows.
const MOST_LINKS: usize = 40;

/// What a state file holds beside its `format`: an object, of which fields that are not known stay in the file.
pub trait State: Default + Serialize + DeserializeOwned {
    /// What the file is, with its article.
    const WHAT: &'static str;
    /// The newest format that is known.
    const FORMAT: u64;
}

/// A file with a [`State`]. That there is none yet is an empty state.
#[derive(Debug, Clone)]
pub struct StateFile<T> {
    path: PathBuf,
    state: PhantomData<fn() -> T>,
}

impl<T: State> StateFile<T> {
    /// The file at this path, which need not be there. Its directory is made as it is first written.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), state: PhantomData }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds.
    ///
    /// # Errors
    ///
    /// Where it cannot be read, is damaged or of a later format. One that others may write to is refused, too: it says
    /// what somebody else wants.
    pub fn read(&self) -> Result<T, StateError> {
        self.parse(self.document(&self.path)?.as_ref())
    }

    /// Changes what the file holds, and writes it where it is different then. Whoever else changes it waits.
    ///
    /// The file that a link leads to is replaced, not the link. What cannot be read is never overwritten.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), where it cannot be written, and where the change itself fails; the file is as it was.
    pub fn update<R, E: From<StateError>>(&self, change: impl FnOnce(&mut T) -> Result<R, E>) -> Result<R, E> {
        let target = self.target().map_err(|error| self.not_written(&error))?;
        let _lock = lock(&target).map_err(|error| self.not_written(&error))?;
        let document = self.document(&target)?;
        let mut state = self.parse(document.as_ref())?;
        let before = self.fields(&state)?;
        let result = change(&mut state)?;
        let fields = self.fields(&state)?;
        if fields != before {
            let mut document = document.unwrap_or_default();
            document.extend(fields);
            document.insert("format".to_owned(), T::FORMAT.into());
            replace(&target, &document).map_err(|error| self.not_written(&error))?;
        }
        Ok(result)
    }

    fn fields(&self, state: &T) -> Result<Map<String, Value>, StateError> {
        match serde_json::to_value(state) {
            Ok(Value::Object(fields)) => Ok(fields),
            Ok(_) => Err(self.not_written(&io::Error::other("it would be no JSON object"))),
            Err(error) => Err(self.not_written(&error.into())),
        }
    }

    /// The JSON object in the file; `None` where there is no file.
    fn document(&self, path: &Path) -> Result<Option<Map<String, Value>>, StateError> {
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.not_read(&error)),
        };
        let metadata = file.metadata().map_err(|error| self.not_read(&error))?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Err(self.damaged("it is no file of a sensible size"));
        }
        if let Some(problem) = place::problem(&metadata) {
            return Err(StateError::Unsafe { what: T::WHAT, path: self.path.clone(), problem });
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| self.not_read(&error))?;
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(document)) => Ok(Some(document)),
            Ok(_) => Err(self.damaged("it is no JSON object")),
            Err(error) => Err(self.damaged(error)),
        }
    }

    fn parse(&self, document: Option<&Map<String, Value>>) -> Result<T, StateError> {
        let Some(document) = document else {
            return Ok(T::default());
        };
        match document.get("format").and_then(Value::as_u64) {
            Some(format @ 1..) if format <= T::FORMAT => {}
            Some(found @ 1..) => {
                return Err(StateError::Newer { what: T::WHAT, path: self.path.clone(), found, known: T::FORMAT });
            }
            _ => return Err(self.damaged("its `format` is no number from 1")),
        }
        serde_json::from_value(Value::Object(document.clone())).map_err(|error| self.damaged(error))
    }

    /// The file to replace: where links lead, if there is a file yet or not. Makes the directory that it is in.
    fn target(&self) -> io::Result<PathBuf> {
        let mut target = std::path::absolute(&self.path)?;
        for _ in 0..MOST_LINKS {
            let directory = target.parent().unwrap_or(Path::new("/")).to_owned();
            match fs::read_link(&target) {
                Ok(link) => target = directory.join(link),
                Err(_) => {
                    DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
                    return Ok(directory.canonicalize()?.join(target.file_name().unwrap_or_default()));
                }
            }
        }
        Err(rustix::io::Errno::LOOP.into())
    }

    fn not_read(&self, error: &io::Error) -> StateError {
        StateError::NotRead { what: T::WHAT, path: self.path.clone(), reason: error.to_string() }
    }

    fn not_written(&self, error: &io::Error) -> StateError {
        StateError::NotWritten { what: T::WHAT, path: self.path.clone(), reason: error.to_string() }
    }

    fn damaged(&self, reason: impl ToString) -> StateError {
        StateError::Damaged { what: T::WHAT, path: self.path.clone(), reason: reason.to_string() }
    }
}

/// Waits until nobody else writes. The lock is a file of its own, since the other is replaced; it stays.
fn lock(target: &Path) -> io::Result<File> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    let flags = OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(target.with_file_name(name))?;
    file.lock()?;
    Ok(file)
}

/// Puts a new file in the place of the old one, all of it or nothing.
fn replace(target: &Path, document: &Map<String, Value>) -> io::Result<()> {
    let directory = target.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    serde_json::to_writer_pretty(&mut file, document)?;
    file.write_all(b"\n")?;
    let mut mode = 0o600;
    if let Ok(old) = fs::metadata(target) {
        // Whom root writes for goes on to own it, and whoever could read it still can.
        mode = old.mode() & 0o755 | 0o600;
        if file.as_file().metadata()?.uid() != old.uid() {
            std::os::unix::fs::fchown(file.as_file(), Some(old.uid()), Some(old.gid()))?;
        }
    }
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}
