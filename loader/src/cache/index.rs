//! What earlier starts found out about files that have not changed since, so that a start reads only what is new.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use toolhost_core::ToolDefinition;
use tracing::debug;

use super::copies;
use super::key::StatKey;
use crate::bundle::{Bundle, Part};

const NAME: &str = "index.json";
/// What holds off other writers.
const LOCK: &str = "index.lock";
/// The format that this version writes, and the only one that it reads: what is not understood is found out again.
const FORMAT: u32 = 1;

/// How many settings of a plugin have their definitions remembered.
const MOST_SETTINGS: usize = 8;

/// The index of a cache's directory, in memory.
#[derive(Debug)]
pub(crate) struct Index {
    root: PathBuf,
    content: Content,
    /// What this start found out, by the file's path.
    learned: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    format: u32,
    #[serde(default)]
    files: BTreeMap<PathBuf, Entry>,
}

/// A plugin's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    bundle: Bundle,
    /// The program, in the very build, that found the plugin's interface laid out as its own.
    #[serde(default)]
    fits: Option<StatKey>,
    /// Another process opened these bytes and lived.
    #[serde(default)]
    looked_at: bool,
    /// What its tools said of themselves, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    definitions: Vec<Definitions>,
}

/// What a plugin's tools say of themselves under some settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definitions {
    pub(crate) key: String,
    pub(crate) tools: Vec<ToolDefinition>,
}

impl Entry {
    fn new(bundle: Bundle) -> Self {
        Self { bundle, fits: None, looked_at: false, definitions: Vec::new() }
    }
}

impl Index {
    /// The index of this directory. One that is absent, damaged, of another format or within reach of others counts as
    /// empty.
    pub(crate) fn open(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let is_private = fs::metadata(&root).is_ok_and(|metadata| copies::is_private(&metadata));
        let json = is_private.then(|| fs::read(root.join(NAME)).ok()).flatten();
        let content = json.and_then(|json| read(&json)).unwrap_or_default();
        Self { root, content, learned: BTreeMap::new() }
    }

    /// What is known of a file, if neither it, nor what it brings along, nor the copies have changed.
    pub(crate) fn known(&self, file: &Path) -> Option<Bundle> {
        let entry = self.content.files.get(file)?;
        is_unchanged(&entry.bundle, &self.root).then(|| entry.bundle.clone())
    }

    /// Whether this program has found the interface of these very bytes laid out as its own.
    pub(crate) fn fits(&self, bundle: &Bundle) -> bool {
        let fits = |entry: &Entry| entry.bundle.fingerprint == bundle.fingerprint && entry.fits.is_some();
        let Some(program) = program() else { return false };
        self.content.files.values().any(|entry| fits(entry) && entry.fits.as_ref() == Some(program))
    }

    /// Remembers a file whose plugin was verified, and found to fit where it was opened here, unless a change of it might
    /// not show.
    pub(crate) fn learn(&mut self, file: &Path, bundle: &Bundle, fits: bool) {
        let is_known = |part: &Part| part.key.is_some() && part.copy.is_some();
        // JSON has no other text than UTF-8.
        let paths = bundle.parts.iter().flat_map(|part| [&*part.relative, &*part.source]);
        let all_utf8 =
            paths.chain(bundle.absent.iter().map(PathBuf::as_path)).chain([file]).all(|p| p.to_str().is_some());
        if !bundle.parts.iter().all(is_known) || !all_utf8 {
            return;
        }
        let bundle = bundle.without_bytes();
        let before = self.learned.get(file).or_else(|| self.content.files.get(file));
        // What tools say holds for the same bytes, wherever they lie.
        let same = before.filter(|before| before.bundle.fingerprint == bundle.fingerprint);
        let mut entry = same.cloned().unwrap_or_else(|| Entry::new(bundle.clone()));
        entry.bundle = bundle;
        if fits {
            entry.fits = program().cloned();
        }
        if before != Some(&entry) {
            self.learned.insert(file.to_owned(), entry);
        }
    }

    /// Whether another process has opened these very bytes, and lived.
    pub(crate) fn was_looked_at(&self, bundle: &Bundle) -> bool {
        let entries = self.learned.values().chain(self.content.files.values());
        entries.filter(|entry| entry.looked_at).any(|entry| entry.bundle.fingerprint == bundle.fingerprint)
    }

    /// Remembers that another process has opened a file that was just learned, and lived.
    pub(crate) fn learn_look(&mut self, file: &Path) {
        if let Some(before) = self.learned.get(file).or_else(|| self.content.files.get(file)).cloned() {
            self.learned.insert(file.to_owned(), Entry { looked_at: true, ..before });
        }
    }

    /// What the tools of a known file said of themselves.
    pub(crate) fn definitions(&self, file: &Path, key: &str) -> Option<&[ToolDefinition]> {
        let definitions = &self.content.files.get(file)?.definitions;
        definitions.iter().find(|known| known.key == key).map(|known| &*known.tools)
    }

    /// Remembers what the tools of a file said of themselves, where the file is known.
    pub(crate) fn learn_definitions(&mut self, file: &Path, fingerprint: &str, said: Definitions) {
        let Some(before) = self.learned.get(file).or_else(|| self.content.files.get(file)) else { return };
        if before.bundle.fingerprint != fingerprint || before.definitions.contains(&said) {
            return;
        }
        let mut entry = before.clone();
        entry.definitions.retain(|known| known.key != said.key);
        if entry.definitions.len() >= MOST_SETTINGS {
            entry.definitions.remove(0);
        }
        entry.definitions.push(said);
        self.learned.insert(file.to_owned(), entry);
    }

    pub(crate) fn has_learned(&self) -> bool {
        !self.learned.is_empty()
    }

    /// Writes what was learned. That it could not be written costs the next start some time, and nothing else.
    pub(crate) fn save(self) {
        if !self.learned.is_empty()
            && let Err(error) = self.write()
        {
            debug!(%error, directory = %self.root.display(), "the index of plugins was not written");
        }
    }

    fn write(&self) -> io::Result<()> {
        let lock = File::options().create(true).truncate(false).write(true).open(self.root.join(LOCK))?;
        lock.lock()?;
        // Another start may have learned something meanwhile.
        let json = fs::read(self.root.join(NAME)).unwrap_or_default();
        if is_newer(&json) {
            return Ok(());
        }
        let mut content = read(&json).unwrap_or_default();
        content.format = FORMAT;
        content.files.retain(|file, entry| file.exists() && self.root.join(&entry.bundle.fingerprint).exists());
        content.files.extend(self.learned.clone());
        let mut file = tempfile::NamedTempFile::new_in(&self.root)?;
        serde_json::to_writer(io::BufWriter::new(file.as_file_mut()), &content)?;
        file.as_file_mut().flush()?;
        file.as_file().set_permissions(Permissions::from_mode(0o600))?;
        file.persist(self.root.join(NAME)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Whether neither the files that it was read from nor the copies have changed, and nothing has appeared that would
/// have been copied with them.
fn is_unchanged(bundle: &Bundle, root: &Path) -> bool {
    let same = |part: &Part| part.key.is_some() && part.key == key(fs::metadata(&part.source));
    bundle.parts.iter().all(same) && !bundle.absent.iter().any(|path| path.exists()) && has_copies(bundle, root)
}

/// Whether all copies are as they were when they were made.
pub(super) fn has_copies(bundle: &Bundle, root: &Path) -> bool {
    let directory = root.join(&bundle.fingerprint);
    let same =
        |part: &Part| part.copy.is_some() && part.copy == key(fs::symlink_metadata(directory.join(&part.relative)));
    bundle.parts.iter().all(same)
}

fn key(metadata: io::Result<Metadata>) -> Option<StatKey> {
    metadata.ok().map(|metadata| StatKey::of(&metadata))
}

fn read(json: &[u8]) -> Option<Content> {
    serde_json::from_slice::<Content>(json).ok().filter(|content| content.format == FORMAT)
}

/// Whether a newer version of toolhost wrote it: that one's is left alone.
fn is_newer(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    serde_json::from_slice::<Format>(json).is_ok_and(|found| found.format > FORMAT)
}

/// The file of the program that this code runs in: another build of it may lay its types out in another way.
fn program() -> Option<&'static StatKey> {
    static PROGRAM: LazyLock<Option<StatKey>> = LazyLock::new(find_program);
    PROGRAM.as_ref().filter(|program| program.is_settled(SystemTime::now()))
}

/// The mapped file that holds this function. The program's own file would be the wrong one where a library of an
/// embedder holds the loader.
#[cfg(target_os = "linux")]
fn find_program() -> Option<StatKey> {
    let here = find_program as fn() -> Option<StatKey> as usize;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let path = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        (address(start)?..address(end)?).contains(&here).then(|| rest.find('/').map(|at| &rest[at..])).flatten()
    })?;
    // A file that was replaced is marked as deleted, and is not found.
    fs::metadata(path).ok().map(|metadata| StatKey::of(&metadata))
}

#[cfg(not(target_os = "linux"))]
fn find_program() -> Option<StatKey> {
    None
}

#[cfg(test)]
mod tests;
