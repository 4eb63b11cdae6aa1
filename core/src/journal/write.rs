use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::Header;
use super::tail::Tail;
use super::{ENDED, EXTENSION, Record, Timestamp, line, lock};

/// How much of a session's id a file's name holds, in characters.
const ID_IN_NAME: usize = 64;

/// A session's journal. Clones are the same journal.
///
/// Nothing is on the disk before the first event. Then the directory is made where it is missing (mode 0700), and in
/// it the session's file (mode 0600), which is locked until the last clone is dropped.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
}

struct Shared {
    directory: PathBuf,
    session: String,
    started_at: Timestamp,
    open: Mutex<Option<Open>>,
}

struct Open {
    path: PathBuf,
    tail: Tail<File>,
    /// Whether the file's entry in its directory is known to be on the disk.
    entry_synced: bool,
}

impl Journal {
    /// The journal of the session with this id, which starts now, in this directory.
    pub fn new(directory: impl Into<PathBuf>, session: &str) -> Self {
        let shared = Shared {
            directory: directory.into(),
            session: session.to_owned(),
            started_at: Timestamp::now(),
            open: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The directory that it writes to.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Writes a record down. It survives the end of this process, but not that of the machine, until something is
    /// appended durably after it. Blocks.
    ///
    /// # Errors
    ///
    /// Where it could not be written; then nothing of it is in the file.
    pub(crate) fn append(&self, record: &Record) -> io::Result<()> {
        self.shared.write(record, false)
    }

    /// Puts the file aside: its session has ended, and nothing in it is open. What still comes is written to it all the
    /// same. Blocks.
    ///
    /// # Errors
    ///
    /// Where it cannot be moved; it stays where it is then.
    pub(crate) fn settle(&self) -> io::Result<()> {
        self.shared.settle()
    }

    /// Writes a record down; when this returns, it and all before it are on the disk. Blocks for about a millisecond.
    ///
    /// # Errors
    ///
    /// Where it could not be written, or it is not certain to be on the disk; then nothing of it is in the file.
    pub(crate) fn append_durable(&self, record: &Record) -> io::Result<()> {
        self.shared.write(record, true)
    }
}

impl Shared {
    fn write(&self, record: &Record, durable: bool) -> io::Result<()> {
        let line = line::encode(record)?;
        let mut open = self.lock();
        let open = match &mut *open {
            Some(open) => open,
            none => none.insert(self.create()?),
        };
        if durable && !open.entry_synced {
            File::open(&self.directory)?.sync_all()?;
            open.entry_synced = true;
        }
        open.tail.append(&line, durable)
    }

    fn create(&self) -> io::Result<Open> {
        let header = line::encode(&Header::new(&self.session, self.started_at))?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.directory)?;
        let path = self.directory.join(file_name(self.started_at, &self.session));
        let file = File::options().read(true).append(true).create_new(true).mode(0o600).open(&path)?;
        start(file, path.clone(), &header).inspect_err(|_| {
            let _ = fs::remove_file(&path);
        })
    }

    fn settle(&self) -> io::Result<()> {
        let mut open = self.lock();
        let Some(open) = &mut *open else {
            return Ok(());
        };
        let Some(name) = open.path.file_name() else {
            return Ok(());
        };
        let ended = self.directory.join(ENDED);
        DirBuilder::new().recursive(true).mode(0o700).create(&ended)?;
        let path = ended.join(name);
        fs::rename(&open.path, &path)?;
        open.path = path;
        Ok(())
    }

    /// A thread that panicked here left at worst a ragged end, which the tail knows of.
    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(file: File, path: PathBuf, header: &[u8]) -> io::Result<Open> {
    lock::hold(&file)?;
    let mut tail = Tail::new(file, 0, false);
    tail.append(header, false)?;
    Ok(Open { path, tail, entry_synced: false })
}

/// Sorts by time, says whose it is, and is nobody else's.
fn file_name(started_at: Timestamp, session: &str) -> String {
    let time = started_at.to_string().replace(['-', ':'], "");
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let session: String = session.chars().take(ID_IN_NAME).map(plain).collect();
    format!("{time}-{session}-{:016x}.{EXTENSION}", rand::random::<u64>())
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("directory", &self.shared.directory)
            .field("session", &self.shared.session)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Journal {
    /// As a thread leaves it that panics in the middle of a write.
    pub(super) fn poison(&self) {
        let shared = self.shared.clone();
        let panicking = std::thread::spawn(move || {
            let _open = shared.lock();
            std::panic::resume_unwind(Box::new(()));
        });
        panicking.join().unwrap_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_time_and_its_session_whatever_the_id() {
        let time = Timestamp::from(std::time::UNIX_EPOCH);
        let name = file_name(time, "../a b/é");
        assert!(name.starts_with("19700101T000000.000Z-___a_b__-"), "{name}");
        assert!(name.ends_with(".jsonl"), "{name}");
        assert_ne!(name, file_name(time, "../a b/é"));
        assert!(file_name(time, &"x".repeat(1000)).len() < 255);
    }
}
