//! The file of a database, and connections to it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::problem::Problem;
use crate::stop::Stop;

/// How long a connection waits for another program to let go of a lock.
pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(3);
/// How long it sleeps before it tries again.
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// After how many steps of a statement it looks whether to stop: some tens of microseconds.
const STOP_STEPS: i32 = 2_000;

/// An existing file that should be a database.
///
/// Only SQLite ever opens the file. On Unix, a process that closes a file loses every lock that it has on it, through
/// whichever descriptor; to hash the file beside SQLite would take the locks from under its feet.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    path: PathBuf,
}

impl Database {
    /// The file at `given`, relative to `cwd` or absolute. Opens nothing.
    pub(crate) fn find(cwd: &Path, given: &str) -> Result<Self, Problem> {
        // Absolute from here on: SQLite would take `file:..`, `:memory:` and an empty path for something else.
        let path = cwd.join(given).canonicalize().map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Problem::Missing,
            _ => Problem::Unreachable(cause),
        })?;
        match path.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Self { path }),
            Ok(_) => Err(Problem::NoFile),
            Err(cause) => Err(Problem::Unreachable(cause)),
        }
    }

    /// The path, absolute and without symlinks.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A connection that cannot write.
    pub(crate) fn reader(&self, stop: &Stop) -> Result<Connection, Problem> {
        connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY, stop)
    }

    /// A connection that can write.
    pub(crate) fn writer(&self, stop: &Stop) -> Result<Connection, Problem> {
        let connection = connect(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE, stop)?;
        if connection.is_readonly("main")? { Err(Problem::ReadOnly) } else { Ok(connection) }
    }
}

/// Connects to the file at an absolute path, which is not created.
pub(crate) fn connect(path: &Path, access: OpenFlags, stop: &Stop) -> Result<Connection, Problem> {
    stop.check()?;
    let mut connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    let waiting = stop.clone();
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        if waiting.is_set() || since.elapsed() >= LOCK_WAIT {
            return false;
        }
        sleep(LOCK_PAUSE);
        true
    }))?;
    let running = stop.clone();
    connection.progress_handler(STOP_STEPS, Some(move || running.is_set()))?;
    // What stands in the file may be anybody's: it calls no function and no table that could do harm, and no statement
    // reaches behind the tables.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, true)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    Ok(connection)
}

/// A name as SQL takes it, whatever characters it has.
pub(crate) struct Quoted<'n>(pub(crate) &'n str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn tables(cwd: &Path, given: &str) -> Result<i64, String> {
        let count = || -> Result<i64, Problem> {
            let reader = Database::find(cwd, given)?.reader(&Stop::default())?;
            Ok(reader.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?)
        };
        count().map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_path_is_nothing_but_a_path() {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path();
        for name in ["plain.db", "with space.db", "Bücher 東京.db", "file:a.db?mode=ro", ":memory:", "100%25.db"] {
            Connection::open_with_flags(
                cwd.join(name),
                OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            )
            .unwrap()
            .execute_batch("CREATE TABLE t(a)")
            .unwrap();
            assert_eq!(tables(cwd, name), Ok(1), "{name}");
            assert_eq!(tables(Path::new("/nowhere"), cwd.join(name).to_str().unwrap()), Ok(1), "{name}");
        }
        symlink("plain.db", cwd.join("link")).unwrap();
        assert_eq!(tables(cwd, "link"), Ok(1));
        fs::write(cwd.join("empty"), "").unwrap();
        assert_eq!(tables(cwd, "empty"), Ok(0));
    }

    #[test]
    fn what_is_no_database_is_said_so() {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path();
        fs::write(cwd.join("text"), "no database, whatever its length\n".repeat(40)).unwrap();
        fs::write(cwd.join("short"), "no").unwrap();
        let no_file = "is not a file; give the path of an SQLite database";
        let no_database = "is not an SQLite database, or it is encrypted";
        let missing = "does not exist; check the path, which is relative to the session's directory unless absolute. To \
                       start a new database, create an empty file there first";
        for (given, message) in [
            ("missing.db", missing),
            ("file:text", missing),
            (":memory:", missing),
            ("", no_file),
            (".", no_file),
            ("/dev/null", no_file),
            ("text", no_database),
            ("short", no_database),
        ] {
            assert_eq!(tables(cwd, given).unwrap_err(), message, "{given}");
        }
        assert!(!cwd.join("missing.db").exists());
        assert!(tables(cwd, "a\0b").unwrap_err().starts_with("cannot be looked at; check the path: "));
    }

    #[test]
    fn what_an_interrupted_program_left_is_said_so() {
        let directory = tempfile::tempdir().unwrap();
        let (cwd, path) = (directory.path(), directory.path().join("a.db"));
        let writer = Connection::open(&path).unwrap();
        let fill = "CREATE TABLE t(a); WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                    INSERT INTO t SELECT hex(randomblob(500)) FROM n";
        writer.execute_batch(fill).unwrap();
        // More than the cache holds, so that a part of it is in the file, and what it replaced in the journal.
        writer.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE t SET a = 'x' || a").unwrap();
        fs::create_dir(cwd.join("crashed")).unwrap();
        for file in ["a.db", "a.db-journal"] {
            fs::copy(cwd.join(file), cwd.join("crashed").join(file)).unwrap();
        }
        let expected = "a program that wrote to it was interrupted, and what it left must be cleaned up first; open the \
                        database once in a program that may write to it and its directory";
        assert_eq!(tables(&cwd.join("crashed"), "a.db").unwrap_err(), expected);
    }

    #[test]
    fn a_reader_cannot_write_whatever_it_is_told() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "").unwrap();
        let reader = Database::find(directory.path(), "a").unwrap().reader(&Stop::default()).unwrap();
        let problem: Problem = reader.execute_batch("CREATE TABLE t(a)").unwrap_err().into();
        assert!(matches!(problem, Problem::ReadOnly));
        assert!(reader.execute_batch("ATTACH ':memory:' AS other").is_err());
        assert_eq!(fs::read(directory.path().join("a")).unwrap(), b"");
    }
}
