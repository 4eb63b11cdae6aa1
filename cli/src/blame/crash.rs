//! What ended earlier runs.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use toolhost_core::journal::Timestamp;
use tracing::debug;

use super::run::Entry;
use super::shared::{self, HEAD, MAGIC, SEVERAL, SIGNALS, Word};

/// Larger files are none of ours.
const LARGEST: u64 = 16 << 20;

/// A run that was ended by the code of one plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crash {
    pub(super) pid: u64,
    pub(super) at: Timestamp,
    pub(super) signal: &'static str,
    pub(super) plugin: Entry,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, at, signal, plugin: Entry { name, version, path, .. } } = self;
        write!(
            f,
            "the last run of toolhost (pid {pid}, {at}) was ended by {signal} in plugin {name} {version} ({path})"
        )
    }
}

/// Reads what runs have left that are no more, and takes it away. The oldest crash comes first.
pub(super) fn take(directory: &Path) -> Vec<Crash> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                debug!("earlier runs are not known: {error}");
            }
            return Vec::new();
        }
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "bin"));
    let mut crashes: Vec<_> = paths
        .filter_map(|path| {
            take_one(&path).unwrap_or_else(|error| {
                debug!(path = %path.display(), "an earlier run is not known: {error}");
                None
            })
        })
        .collect();
    crashes.sort_by_key(|crash| crash.at);
    crashes
}

fn take_one(path: &Path) -> io::Result<Option<Crash>> {
    let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LARGEST || metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it is no file of this user, or too large"));
    }
    match file.try_lock() {
        Ok(()) => {}
        // It still runs, or another process reads this.
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The other process has read it.
    if file.metadata()?.nlink() == 0 {
        return Ok(None);
    }
    let crash = read(&file);
    fs::remove_file(path)?;
    crash
}

fn read(file: &File) -> io::Result<Option<Crash>> {
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(crash(&bytes))
}

/// What ended the run that left this; `None` where nothing is recorded, or where it may have been any plugin's code.
fn crash(bytes: &[u8]) -> Option<Crash> {
    let head = bytes.get(..HEAD)?;
    let word = |word: Word| shared::read(head, word);
    if word(Word::Magic)? != MAGIC || word(Word::State)? != 2 {
        return None;
    }
    let plugins = plugins(bytes);
    let at = |address: u64| {
        let mut there = plugins.values().filter(move |plugin| holds(plugin, address)).collect::<Vec<_>>();
        there.dedup_by_key(|plugin| &plugin.hash);
        there
    };
    let mut named = at(word(Word::Instruction)?);
    named.extend(at(word(Word::Address)?));
    if named.is_empty() {
        let active = Some(word(Word::Active)?).filter(|active| *active != SEVERAL);
        named.extend(active.and_then(|active| plugins.get(&u32::try_from(active).ok()?)));
    }
    let (plugin, others) = named.split_first()?;
    if others.iter().any(|other| other.hash != plugin.hash) {
        return None;
    }
    let last = word(Word::Last)?;
    let (_, signal) = SIGNALS.iter().find(|(number, _)| u64::from(number.unsigned_abs()) == last)?;
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(word(Word::At)?))?;
    Some(Crash { pid: word(Word::Pid)?, at: at.into(), signal, plugin: (*plugin).clone() })
}

fn holds(plugin: &Entry, address: u64) -> bool {
    plugin.range.as_ref().is_some_and(|range| range.contains(&address))
}

/// The plugins of the run, by their numbers. What is said last of one holds.
fn plugins(bytes: &[u8]) -> BTreeMap<u32, Entry> {
    let lines = bytes.get(shared::LENGTH..).unwrap_or_default().split(|byte| *byte == b'\n');
    // The crash may have cut off the last one.
    let entries = lines.filter_map(|line| serde_json::from_slice::<Entry>(line).ok());
    entries.map(|entry| (entry.number, entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(number: u32, range: Option<std::ops::Range<u64>>) -> Entry {
        let text = |prefix: &str| format!("{prefix}{number}");
        Entry { number, hash: text("h"), name: text("p"), version: text("1."), path: text("/"), range }
    }

    /// What a run leaves: the words that are not 0, and its plugins.
    fn left(words: &[(Word, u64)], plugins: &[Entry]) -> Vec<u8> {
        let mut bytes = vec![0; shared::LENGTH];
        let always = [(Word::Magic, MAGIC), (Word::Pid, 7), (Word::State, 2), (Word::Last, 11), (Word::At, 1_500)];
        for (word, value) in always.iter().chain(words) {
            bytes[*word as usize * 8..][..8].copy_from_slice(&value.to_ne_bytes());
        }
        for plugin in plugins {
            bytes.extend(serde_json::to_vec(plugin).unwrap());
            bytes.push(b'\n');
        }
        bytes
    }

    fn named(words: &[(Word, u64)]) -> Option<u32> {
        let plugins =
            [plugin(1, None), plugin(2, None), plugin(1, Some(100..200)), plugin(2, Some(200..300)), plugin(3, None)];
        crash(&left(words, &plugins)).map(|crash| crash.plugin.number)
    }

    #[test]
    fn an_address_in_one_plugin_names_it_whatever_runs() {
        for active in [0, 2, SEVERAL] {
            assert_eq!(named(&[(Word::Instruction, 199), (Word::Active, active)]), Some(1));
            assert_eq!(named(&[(Word::Address, 200), (Word::Active, active)]), Some(2));
            assert_eq!(named(&[(Word::Instruction, 150), (Word::Address, 250), (Word::Active, active)]), None);
        }
    }

    #[test]
    fn without_an_address_the_only_one_that_runs_is_named() {
        assert_eq!(named(&[(Word::Active, 3)]), Some(3));
        assert_eq!(named(&[(Word::Active, 2), (Word::Instruction, 300), (Word::Address, 8)]), Some(2));
        assert_eq!(named(&[(Word::Active, SEVERAL), (Word::Instruction, 300)]), None);
        assert_eq!(named(&[(Word::Active, 4)]), None);
        assert_eq!(named(&[]), None);
    }

    #[test]
    fn without_a_recorded_signal_nobody_is_named() {
        for state in [0, 1, 3] {
            assert_eq!(named(&[(Word::Active, 1), (Word::State, state)]), None);
        }
        assert_eq!(named(&[(Word::Active, 1), (Word::Last, 9)]), None);
        assert_eq!(named(&[(Word::Active, 1), (Word::Magic, 1)]), None);
    }

    #[test]
    fn whatever_a_file_holds_nothing_panics() {
        let whole =
            left(&[(Word::Active, 1), (Word::At, u64::MAX)], &[plugin(1, Some(std::ops::Range { start: 9, end: 3 }))]);
        assert!(crash(&whole).is_some());
        for length in 0..whole.len() - 2 {
            assert_eq!(crash(&whole[..length]), None, "{length}");
        }
    }

    #[test]
    fn it_is_told_in_one_line() {
        let crash = crash(&left(&[(Word::Active, 2)], &[plugin(2, None)])).unwrap();
        assert_eq!(
            crash.to_string(),
            "the last run of toolhost (pid 7, 1970-01-01T00:00:01.500Z) was ended by SIGSEGV in plugin p2 1.2 (/2)"
        );
    }
}
