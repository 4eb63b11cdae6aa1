//! What this run leaves for the next one, should it crash.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::{Deserialize, Serialize};
use toolhost_loader::{CodeWatch, PluginInfo};

use super::shared::{self, Shared, Slot};

/// How often a name for the file is tried.
const TRIES: u32 = 16;

/// A plugin in the file of a run: a line of JSON behind the shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// What stands for it in the shared memory.
    pub(super) number: u32,
    pub(super) hash: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) path: String,
    /// Where its library is in memory; `None` in a line that was written before that was known.
    pub(super) range: Option<Range<u64>>,
}

/// This run, as long as it may be one to tell of.
pub(super) struct Run {
    path: PathBuf,
    /// Locked, so that nobody takes the run for one that has ended.
    file: Mutex<File>,
    shared: &'static Shared,
    plugins: AtomicU32,
}

static RUN: OnceLock<Run> = OnceLock::new();

/// Makes this run's file, and watches what ends the process.
pub(super) fn begin(directory: &Path) -> io::Result<&'static Run> {
    if let Some(run) = RUN.get() {
        return Ok(run);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let (path, file) = new_file(directory)?;
    let shared = shared::begin(&file).inspect_err(|_| drop(fs::remove_file(&path)))?;
    Ok(RUN.get_or_init(|| Run { path, file: Mutex::new(file), shared, plugins: AtomicU32::new(0) }))
}

/// The run ends as it should, and is none to tell of.
pub(super) fn end() {
    if let Some(run) = RUN.get() {
        let _ = fs::remove_file(&run.path);
    }
}

fn new_file(directory: &Path) -> io::Result<(PathBuf, File)> {
    let mut last = None;
    for _ in 0..TRIES {
        let random = RandomState::new().hash_one(0);
        let path = directory.join(format!("{}-{random:016x}.bin", std::process::id()));
        match OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                file.lock()?;
                // Another run may have taken it for one that has ended, before it was locked.
                if file.metadata()?.nlink() > 0 {
                    return Ok((path, file));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other("other runs take its file away")))
}

impl Run {
    /// Adds a line to the file. What cannot be written is not told of.
    fn write(&self, entry: &Entry) {
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        let _ = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    }
}

impl CodeWatch for Run {
    fn opening(&self, plugin: &PluginInfo) -> u32 {
        let number = self.plugins.fetch_add(1, Ordering::Relaxed) + 1;
        self.write(&entry(number, plugin));
        number
    }

    fn opened(&self, number: u32, plugin: &PluginInfo, address: usize) {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        self.write(&Entry { range: range(&maps, address as u64), ..entry(number, plugin) });
    }

    fn enter(&self, number: u32) -> u32 {
        CRUMB.try_with(|crumb| crumb.swap(number)).unwrap_or_default()
    }

    fn leave(&self, before: u32) {
        let _ = CRUMB.try_with(|crumb| crumb.swap(before));
    }
}

fn entry(number: u32, plugin: &PluginInfo) -> Entry {
    Entry {
        number,
        hash: plugin.fingerprint.clone(),
        name: plugin.name.clone(),
        version: plugin.version.clone(),
        path: plugin.path.to_string_lossy().into_owned(),
        range: None,
    }
}

/// From the first to the last address of the file that this address is mapped from.
fn range(maps: &str, address: u64) -> Option<Range<u64>> {
    let mappings = maps.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        let file = (fields.nth(2)?, fields.next()?);
        (file.1 != "0").then_some((from..to, file))
    });
    let (_, wanted) = mappings.clone().find(|(range, _)| range.contains(&address))?;
    let mut ranges = mappings.filter(|(_, file)| *file == wanted).map(|(range, _)| range);
    let first = ranges.next()?;
    Some(ranges.fold(first, |all, range| all.start.min(range.start)..all.end.max(range.end)))
}

/// Whose code this thread runs.
struct Crumb {
    run: Option<&'static Run>,
    slot: Option<&'static Slot>,
    /// The same where there is no slot for it.
    without: Cell<u32>,
}

thread_local! {
    static CRUMB: Crumb = {
        let run = RUN.get();
        Crumb { run, slot: run.and_then(|run| run.shared.free_slot()), without: Cell::new(0) }
    };
}

impl Crumb {
    fn swap(&self, number: u32) -> u32 {
        if let Some(slot) = self.slot {
            return slot.swap(number);
        }
        let before = self.without.replace(number);
        if let Some(run) = self.run.filter(|_| (before == 0) != (number == 0)) {
            run.shared.elsewhere(number != 0);
        }
        before
    }
}

impl Drop for Crumb {
    fn drop(&mut self) {
        self.swap(0);
        if let Some(slot) = self.slot {
            slot.give_back();
        }
    }
}
