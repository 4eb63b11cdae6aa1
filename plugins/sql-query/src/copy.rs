//! A private copy of a database, to try a change on.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::database::{Database, connect};
use crate::problem::Problem;
use crate::stop::Stop;

/// How many bytes a copy can grow. Without a limit, a statement without end would fill the disk.
pub(crate) const GROWTH: i64 = 1 << 30;
/// How many pages are copied before it is looked whether to stop: some milliseconds.
const PAGES: i32 = 1_000;

/// A copy in a directory that only this user can look into. It goes away when it is dropped.
pub(crate) struct Copy {
    /// A connection that sees the copy as it was made, whatever is written to it.
    pub(crate) before: Connection,
    /// A connection to write with.
    pub(crate) after: Connection,
    // Dropped last, when nothing is open in it any more.
    _directory: TempDir,
}

impl Copy {
    /// Copies what the database says now. Takes the lock of a reader while it does.
    pub(crate) fn of(database: &Database, stop: &Stop) -> Result<Self, Problem> {
        let directory = private_directory().map_err(Problem::NoCopy)?;
        let path = directory.path().join("copy.db");
        let write = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut after = connect(&path, write | OpenFlags::SQLITE_OPEN_CREATE, stop)?;
        // It need not survive a crash.
        after.execute_batch("PRAGMA synchronous = OFF")?;
        let source = database.reader(stop)?;
        copy(&source, &mut after, stop)?;
        drop(source);
        let pages: i64 = after.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        let page: i64 = after.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        after.query_row(&format!("PRAGMA max_page_count = {}", pages + GROWTH / page), [], |_| Ok(()))?;
        // So that the reader keeps what it sees while the writer writes.
        after.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        let before = connect(&path, write, stop)?;
        before.execute_batch("BEGIN")?;
        // A transaction begins with the first thing that it reads.
        before.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self { before, after, _directory: directory })
    }
}

fn private_directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("toolhost-sql-").permissions(Permissions::from_mode(0o700)).tempdir()
}

fn copy(source: &Connection, target: &mut Connection, stop: &Stop) -> Result<(), Problem> {
    source.execute_batch("BEGIN")?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(source, target)?;
    loop {
        stop.check()?;
        match backup.step(PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::Busy | StepResult::Locked => return Err(Problem::Locked),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_copy_is_private_grows_within_limits_and_goes_away() {
        let directory = tempfile::tempdir().unwrap();
        Connection::open(directory.path().join("a.db")).unwrap().execute_batch("CREATE TABLE t(a)").unwrap();
        let database = Database::find(directory.path(), "a.db").unwrap();
        let copy = Copy::of(&database, &Stop::default()).unwrap();
        let place = copy.after.path().map(Path::new).unwrap().parent().unwrap().to_owned();
        assert_eq!(place.metadata().unwrap().permissions().mode() & 0o777, 0o700);

        let most: i64 = copy.after.query_row("PRAGMA max_page_count", [], |row| row.get(0)).unwrap();
        assert_eq!(most, 2 + GROWTH / 4096);
        copy.after.query_row("PRAGMA max_page_count = 3", [], |_| Ok(())).unwrap();
        let full: Problem = copy.after.execute_batch("INSERT INTO t VALUES (zeroblob(9000))").unwrap_err().into();
        let expected = "database or disk is full; a change can add at most 1024 MiB, and needs room where the database \
                        is and where temporary files are (TMPDIR)";
        assert_eq!(full.to_string(), expected);

        drop(copy);
        assert!(!place.exists());
    }
}
