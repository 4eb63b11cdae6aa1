//! Which plugins ended runs of this program, and which are in quarantine for that: a small JSON file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolhost_core::journal::Timestamp;
use toolhost_loader::state::{self, StateFile};
use toolhost_loader::{Quarantined, StateError};

use super::crash::Crash;

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

impl state::State for State {
    const WHAT: &'static str = "the record of crashes";
    const FORMAT: u64 = 1;
}

/// The file. That there is none yet is one with nothing in it.
#[derive(Debug)]
pub(crate) struct Store(StateFile<State>);

impl Store {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(StateFile::new(path))
    }

    /// What is in quarantine, in the order in which it got there.
    pub(crate) fn held(&self) -> Result<Vec<Held>, StateError> {
        Ok(self.0.read()?.quarantined)
    }

    /// Lets out what has this hash or this name. Returns what that was.
    pub(crate) fn lift(&self, plugin: &str) -> Result<Vec<Held>, StateError> {
        self.0.update(|state| Ok(state.lift(plugin)))
    }

    pub(super) fn blame(&self, crash: &Crash) -> Result<(), StateError> {
        self.0.update(|state| {
            state.blame(crash);
            Ok(())
        })
    }

    pub(super) fn hold(&self, held: Held) -> Result<(), StateError> {
        self.0.update(|state| {
            state.hold(held);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blame::run::Entry;
    use serde_json::{Value, json};
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
        assert_eq!(fs::metadata(store.0.path()).unwrap().mode() & 0o777, 0o600);
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
        fs::create_dir(store.0.path().parent().unwrap()).unwrap();
        fs::write(store.0.path(), json!({"format": 1, "note": "mine"}).to_string()).unwrap();
        store.blame(&crash("a", 1)).unwrap();
        let document: Value = serde_json::from_slice(&fs::read(store.0.path()).unwrap()).unwrap();
        let blamed = json!([{
            "hash": "hash of a", "name": "a", "version": "1.0.0", "path": "/p", "times": 1, "signal": "SIGBUS", "pid": 7,
            "at": "1970-01-01T00:00:01.000Z"
        }]);
        assert_eq!(document, json!({"format": 1, "note": "mine", "blamed": blamed, "quarantined": []}));
    }

    #[test]
    fn what_cannot_be_read_is_never_overwritten() {
        let (_directory, store) = store();
        fs::create_dir(store.0.path().parent().unwrap()).unwrap();
        let newer = "has format 2, and this program knows formats up to 1";
        for (text, error) in [
            ("{", "is damaged: EOF while parsing an object at line 1 column 1"),
            ("{}", "is damaged: its `format` is no number from 1"),
            (r#"{"format": 2}"#, newer),
            (r#"{"format": 1, "blamed": 3}"#, "is damaged: invalid type: integer `3`, expected a sequence"),
        ] {
            fs::write(store.0.path(), text).unwrap();
            let expected = format!("the record of crashes {} {error}", store.0.path().display());
            assert_eq!(store.held().unwrap_err().to_string(), expected);
            assert_eq!(store.blame(&crash("a", 1)).unwrap_err().to_string(), expected);
            assert_eq!(fs::read_to_string(store.0.path()).unwrap(), text);
        }
        fs::write(store.0.path(), r#"{"format": 1}"#).unwrap();
        fs::set_permissions(store.0.path(), fs::Permissions::from_mode(0o666)).unwrap();
        let owner = fs::metadata(store.0.path()).unwrap().uid();
        let expected = format!(
            "the record of crashes {} can be written by others than its owner, user {owner} (mode 0666)",
            store.0.path().display()
        );
        assert_eq!(store.held().unwrap_err().to_string(), expected);
    }
}
