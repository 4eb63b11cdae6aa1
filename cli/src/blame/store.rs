//! Which plugins ended runs of this program, and which are in quarantine for that: a small JSON file.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhost_core::journal::Timestamp;
use toolhost_loader::Quarantined;

use super::crash::Crash;

/// The newest format that is known.
const FORMAT: u64 = 1;
/// Larger files are none of ours.
const LARGEST: u64 = 16 << 20;
/// How often a plugin may end a run.
const TOO_OFTEN: u32 = 2;
/// How many plugins are remembered for a first time.
const REMEMBERED: usize = 1000;

/// A plugin in quarantine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Held {
    /// SHA-256 of its content.
    pub(crate) hash: String,
    pub(crate) name: String,
    /// Where it was.
    pub(crate) path: String,
    pub(crate) reason: String,
    pub(crate) since: Timestamp,
}

impl Held {
    pub(super) fn new(hash: &str, name: &str, path: &Path, reason: String) -> Self {
        let path = path.to_string_lossy().into_owned();
        Self { hash: hash.to_owned(), name: name.to_owned(), path, reason, since: Timestamp::now() }
    }

    pub(super) fn as_quarantined(&self) -> Quarantined {
        Quarantined::new(&self.hash, &self.reason).since(self.since)
    }
}

/// A plugin that ended runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Blamed {
    hash: String,
    name: String,
    version: String,
    path: String,
    times: u32,
    /// The signal of the last time, and when and which process that was.
    signal: String,
    pid: u64,
    at: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    #[serde(default)]
    blamed: Vec<Blamed>,
    #[serde(default)]
    quarantined: Vec<Held>,
    /// What this version does not know, and keeps.
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl State {
    fn blame(&mut self, crash: &Crash) {
        let before = self.blamed.iter().position(|blamed| blamed.hash == crash.plugin.hash);
        let times = before.map_or(0, |at| self.blamed.remove(at).times).saturating_add(1);
        let plugin = crash.plugin.clone();
        self.blamed.push(Blamed {
            hash: plugin.hash,
            name: plugin.name,
            version: plugin.version,
            path: plugin.path,
            times,
            signal: crash.signal.to_owned(),
            pid: crash.pid,
            at: crash.at,
        });
        let forgotten = self.blamed.len().saturating_sub(REMEMBERED);
        self.blamed.drain(..forgotten);
        for held in self.quarantine_candidates() {
            self.hold(held);
        }
    }

    /// What has ended runs too often.
    fn quarantine_candidates(&self) -> Vec<Held> {
        let too_often = self.blamed.iter().filter(|blamed| blamed.times >= TOO_OFTEN);
        let held = too_often.map(|blamed| {
            let Blamed { times, signal, pid, at, .. } = blamed;
            let reason = format!("it ended {times} runs of toolhost, the last by {signal} (pid {pid}, {at})");
            Held::new(&blamed.hash, &blamed.name, Path::new(&blamed.path), reason)
        });
        held.collect()
    }

    /// The first reason stays.
    fn hold(&mut self, held: Held) {
        if !self.quarantined.iter().any(|known| known.hash == held.hash) {
            self.quarantined.push(held);
        }
    }

    /// Lets out what has this hash or this name, with another chance.
    fn lift(&mut self, plugin: &str) -> Vec<Held> {
        let is_named = |held: &mut Held| held.hash.eq_ignore_ascii_case(plugin) || held.name == plugin;
        let lifted: Vec<_> = self.quarantined.extract_if(.., is_named).collect();
        self.blamed.retain(|blamed| !lifted.iter().any(|lifted| lifted.hash == blamed.hash));
        lifted
    }
}

/// Why the file cannot be used; it is as it was.
#[derive(Debug)]
pub(crate) struct StoreError {
    path: PathBuf,
    reason: String,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.reason)
    }
}

/// The file. That there is none yet is one with nothing in it.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
}

impl Store {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// What is in quarantine, in the order in which it got there.
    pub(crate) fn held(&self) -> Result<Vec<Held>, StoreError> {
        Ok(self.read()?.quarantined)
    }

    /// Lets out what has this hash or this name. Returns what that was.
    pub(crate) fn lift(&self, plugin: &str) -> Result<Vec<Held>, StoreError> {
        self.update(|state| state.lift(plugin))
    }

    pub(super) fn blame(&self, crash: &Crash) -> Result<(), StoreError> {
        self.update(|state| state.blame(crash))
    }

    pub(super) fn hold(&self, held: Held) -> Result<(), StoreError> {
        self.update(|state| state.hold(held))
    }

    fn read(&self) -> Result<State, StoreError> {
        let bytes = self.bytes().map_err(|error| self.failed(&format!("cannot be read: {error}")))?;
        let Some(bytes) = bytes else { return Ok(State::default()) };
        let damaged = |reason: &dyn fmt::Display| self.failed(&format!("is damaged: {reason}"));
        let document: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        match document.get("format").and_then(Value::as_u64) {
            Some(1..=FORMAT) => serde_json::from_value(Value::Object(document)).map_err(|error| damaged(&error)),
            Some(found @ 1..) => {
                let text = format!("has format {found}, and this program knows formats up to {FORMAT}; update it");
                Err(self.failed(&text))
            }
            _ => Err(damaged(&"its `format` is no number from 1")),
        }
    }

    fn bytes(&self) -> io::Result<Option<Vec<u8>>> {
        let file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Err(io::Error::other("it is no file of a sensible size"));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(io::Error::other("other users can write to it"));
        }
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// Changes what the file holds, all of it or nothing. Whoever else changes it waits.
    fn update<R>(&self, change: impl FnOnce(&mut State) -> R) -> Result<R, StoreError> {
        let failed = |error: io::Error| self.failed(&format!("cannot be written: {error}"));
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let _lock = self.lock().map_err(failed)?;
        let mut state = self.read()?;
        let before = state.clone();
        let result = change(&mut state);
        if state != before {
            state.rest.insert("format".to_owned(), FORMAT.into());
            replace(directory, &self.path, &state).map_err(failed)?;
        }
        Ok(result)
    }

    /// The lock is a file of its own, since the other is replaced; it stays.
    fn lock(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
        let file = options.open(self.path.with_extension("json.lock"))?;
        file.lock()?;
        Ok(file)
    }

    fn failed(&self, reason: &str) -> StoreError {
        StoreError { path: self.path.clone(), reason: reason.to_owned() }
    }
}

fn replace(directory: &Path, path: &Path, state: &State) -> io::Result<()> {
    // A link's target is replaced, not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut file = tempfile::NamedTempFile::new_in(target.parent().unwrap_or(directory))?;
    serde_json::to_writer_pretty(&mut file, state)?;
    file.write_all(b"\n")?;
    file.as_file().sync_all()?;
    file.persist(target).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::run::Entry;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, UNIX_EPOCH};

    fn crash(plugin: &str, second: u64) -> Crash {
        let text = str::to_owned;
        let (number, hash) = (1, format!("hash of {plugin}"));
        let plugin = Entry { number, hash, name: text(plugin), version: text("1.0.0"), path: text("/p"), range: None };
        Crash { pid: 7, at: (UNIX_EPOCH + Duration::from_secs(second)).into(), signal: "SIGBUS", plugin }
    }

    fn store() -> (tempfile::TempDir, Store) {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path().join("state/blame.json"));
        (directory, store)
    }

    fn names(held: &[Held]) -> Vec<&str> {
        held.iter().map(|held| held.name.as_str()).collect()
    }

    #[test]
    fn the_second_time_is_once_too_often_and_lifting_begins_anew() {
        let (_directory, store) = store();
        assert_eq!(store.held().unwrap(), []);
        store.blame(&crash("a", 1)).unwrap();
        store.blame(&crash("b", 2)).unwrap();
        assert_eq!(store.held().unwrap(), []);
        store.blame(&crash("a", 3)).unwrap();
        store.blame(&crash("a", 4)).unwrap();
        let held = store.held().unwrap();
        assert_eq!(names(&held), ["a"]);
        let reason = "it ended 2 runs of toolhost, the last by SIGBUS (pid 7, 1970-01-01T00:00:03.000Z)";
        assert_eq!(held[0].reason, reason);
        assert_eq!(store.lift("c").unwrap(), []);
        assert_eq!(store.lift("a").unwrap(), held);
        store.blame(&crash("a", 5)).unwrap();
        assert_eq!(store.held().unwrap(), []);
        store.blame(&crash("b", 6)).unwrap();
        assert_eq!(names(&store.lift("HASH OF B").unwrap()), ["b"]);
        assert_eq!(store.held().unwrap(), []);
    }

    #[test]
    fn the_first_reason_stays() {
        let (_directory, store) = store();
        for reason in ["one", "two"] {
            store.hold(Held::new("h", "p", Path::new("/p"), reason.to_owned())).unwrap();
        }
        let held = store.held().unwrap();
        assert_eq!((held.len(), held[0].reason.as_str()), (1, "one"));
    }

    #[test]
    fn what_is_not_known_stays_in_the_file() {
        let (_directory, store) = store();
        fs::create_dir(store.path.parent().unwrap()).unwrap();
        fs::write(&store.path, json!({"format": 1, "note": "mine"}).to_string()).unwrap();
        store.blame(&crash("a", 1)).unwrap();
        let document: Value = serde_json::from_slice(&fs::read(&store.path).unwrap()).unwrap();
        let blamed = json!([{
            "hash": "hash of a", "name": "a", "version": "1.0.0", "path": "/p", "times": 1, "signal": "SIGBUS", "pid": 7,
            "at": "1970-01-01T00:00:01.000Z"
        }]);
        assert_eq!(document, json!({"format": 1, "note": "mine", "blamed": blamed, "quarantined": []}));
        assert_eq!(fs::metadata(&store.path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_cannot_be_read_is_never_overwritten() {
        let (_directory, store) = store();
        fs::create_dir(store.path.parent().unwrap()).unwrap();
        let newer = "has format 2, and this program knows formats up to 1; update it";
        for (text, error) in [
            ("{", "is damaged: EOF while parsing an object at line 1 column 1"),
            ("{}", "is damaged: its `format` is no number from 1"),
            (r#"{"format": 2}"#, newer),
            (r#"{"format": 1, "blamed": 3}"#, "is damaged: invalid type: integer `3`, expected a sequence"),
        ] {
            fs::write(&store.path, text).unwrap();
            let expected = format!("{} {error}", store.path.display());
            assert_eq!(store.held().unwrap_err().to_string(), expected);
            assert_eq!(store.blame(&crash("a", 1)).unwrap_err().to_string(), expected);
            assert_eq!(fs::read_to_string(&store.path).unwrap(), text);
        }
        fs::write(&store.path, r#"{"format": 1}"#).unwrap();
        fs::set_permissions(&store.path, fs::Permissions::from_mode(0o666)).unwrap();
        let expected = format!("{} cannot be read: other users can write to it", store.path.display());
        assert_eq!(store.held().unwrap_err().to_string(), expected);
    }
}
