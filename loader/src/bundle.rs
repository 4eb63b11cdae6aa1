//! A plugin's file together with the libraries that it brings along.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_abi::note::Metadata;

use crate::LoadErrorKind;
use crate::cache::StatKey;
use crate::discover::unreadable;
use crate::inspect::{self, Linkage};
use crate::needs;
use crate::trust::{Trust, place};

/// Larger files are no plugins.
const LARGEST: u64 = 1 << 30;
/// How much of a file tells its kind.
const HEAD: u64 = 1024;

/// Everything that is copied and opened together, with the bytes that were inspected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Bundle {
    pub(crate) metadata: Metadata,
    /// The plugin first.
    pub(crate) parts: Vec<Part>,
    /// SHA-256 in hexadecimal: of the plugin's file where it stands alone, else of all paths and hashes.
    pub(crate) fingerprint: String,
    /// Where a library would have been taken along, had there been one.
    pub(crate) absent: Vec<PathBuf>,
}

/// One file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part {
    /// Where it lies, seen from the plugin's directory.
    pub(crate) relative: PathBuf,
    pub(crate) source: PathBuf,
    /// What was inspected; left out where the copy is known to have it.
    #[serde(skip)]
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) hash: String,
    pub(crate) linkage: Linkage,
    /// By what the file is known again, unless a change of it might not show.
    pub(crate) key: Option<StatKey>,
    /// By what its copy is.
    pub(crate) copy: Option<StatKey>,
}

impl Bundle {
    /// Reads and inspects a plugin and its siblings, all of them from places that this trust allows, and looks for what
    /// else it needs. Nothing of them runs.
    pub(crate) fn read(path: &Path, trust: Trust) -> Result<Self, LoadErrorKind> {
        let read = read_regular(path, trust)?;
        let inspected = inspect::plugin(&read.bytes)?;
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        let plugin = Part::new(name, path.to_owned(), read, inspected.linkage);
        let bundle = Self::gather(path, inspected.metadata, plugin, trust)?;
        needs::check(&bundle.parts)?;
        Ok(bundle)
    }

    /// A plugin that was inspected, together with its siblings, which are inspected now.
    pub(crate) fn gather(path: &Path, metadata: Metadata, plugin: Part, trust: Trust) -> Result<Self, LoadErrorKind> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        refuse_in_place(directory, &plugin.linkage)?;
        let mut absent = Vec::new();
        let mut waiting = VecDeque::from(siblings(&plugin.relative, &plugin.linkage));
        let mut parts = vec![plugin];
        while let Some(relative) = waiting.pop_front() {
            if parts.iter().any(|part| part.relative == relative) {
                continue;
            }
            let source = directory.join(&relative);
            if !source.is_file() {
                absent.push(source);
                continue;
            }
            let read = read_regular(&source, trust)?;
            let linkage = inspect::library(&read.bytes).map_err(|kind| within(&source, &kind))?;
            refuse_in_place(directory, &linkage)?;
            waiting.extend(siblings(&relative, &linkage));
            parts.push(Part::new(relative, source, read, linkage));
        }
        let fingerprint = fingerprint(&parts);
        Ok(Self { metadata, parts, fingerprint, absent })
    }

    /// The names of all libraries that its parts need.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &String> {
        self.parts.iter().flat_map(|part| &part.linkage.needed)
    }

    /// Whether a bundle that is known still is where this trust allows it to be, and the same.
    pub(crate) fn is_still_there(&self, trust: Trust) -> Result<bool, LoadErrorKind> {
        if trust != Trust::Owned {
            return Ok(true);
        }
        for part in &self.parts {
            place::check_way(&part.source)?;
            let metadata = std::fs::metadata(&part.source).map_err(|error| unreadable(&error))?;
            place::check_file(&part.source, &metadata)?;
            if part.key != Some(StatKey::of(&metadata)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn without_bytes(&self) -> Self {
        let without = |part: &Part| Part { bytes: None, ..part.clone() };
        Self { parts: self.parts.iter().map(without).collect(), ..self.clone() }
    }
}

/// The content of a file.
pub(crate) struct FileContent {
    pub(crate) bytes: Vec<u8>,
    key: Option<StatKey>,
}

impl Part {
    pub(crate) fn new(relative: PathBuf, source: PathBuf, read: FileContent, linkage: Linkage) -> Self {
        let hash = sha256(&read.bytes);
        Self { relative, source, bytes: Some(read.bytes), hash, linkage, key: read.key, copy: None }
    }

    /// A part with this text, for tests.
    #[cfg(test)]
    pub(crate) fn of_text(name: &str, text: &str) -> Self {
        let content = FileContent { bytes: text.into(), key: None };
        Self::new(name.into(), Path::new("/source").join(name), content, Linkage::default())
    }

    /// The name by which other libraries ask for this one.
    pub(crate) fn library_name(&self) -> String {
        let file_name = || self.relative.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.linkage.soname.clone().unwrap_or_else(file_name)
    }
}

fn within(sibling: &Path, kind: &LoadErrorKind) -> LoadErrorKind {
    LoadErrorKind::Damaged { what: format!("it needs {}, of which: {kind}", sibling.display()) }
}

/// Where inside the plugin's directory the libraries that this part of it needs are looked for, seen from there.
fn siblings(part: &Path, linkage: &Linkage) -> Vec<PathBuf> {
    let origin = part.parent().unwrap_or(Path::new(""));
    let searched: Vec<PathBuf> =
        linkage.search.iter().filter_map(|entry| from_origin(entry)).map(|rest| origin.join(rest)).collect();
    let candidates = linkage.needed.iter().flat_map(|needed| match from_origin(needed) {
        Some(direct) => vec![origin.join(direct)],
        None => {
            let name = needed.strip_prefix("@rpath/").unwrap_or(needed);
            searched.iter().map(|searched| searched.join(name)).collect()
        }
    });
    candidates.filter_map(|path| normal(&path)).collect()
}

/// A search path that names the plugin's own directory, or one that depends on who calls, would open a library that
/// nobody has looked at.
fn refuse_in_place(directory: &Path, linkage: &Linkage) -> Result<(), LoadErrorKind> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    for search in linkage.search.iter().filter(|entry| !entry.is_empty() && from_origin(entry).is_none()) {
        let path = Path::new(search);
        let inside = path.canonicalize().is_ok_and(|path| path.starts_with(&directory));
        let found = linkage.needed.iter().find(|name| path.is_relative() || (inside && path.join(name).is_file()));
        if let Some(library) = found {
            return Err(LoadErrorKind::OpenedInPlace { library: library.clone(), search: search.clone() });
        }
    }
    Ok(())
}

/// What follows the mark for "the directory of the library that asks".
fn from_origin(entry: &str) -> Option<&str> {
    let rest = ["$ORIGIN", "${ORIGIN}", "@loader_path"].iter().find_map(|mark| entry.strip_prefix(mark))?;
    (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
}

/// The path without `.` and `..`; `None` where it leads out.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

pub(crate) fn read_regular(path: &Path, trust: Trust) -> Result<FileContent, LoadErrorKind> {
    if trust == Trust::Owned {
        place::check_way(path)?;
    }
    // A pipe that nobody writes to would hold up an open that may block.
    #[allow(clippy::cast_possible_wrap)]
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut file: File =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| unreadable(&error))?;
    let now = SystemTime::now();
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a device, a pipe or a socket" };
        return Err(LoadErrorKind::NotALibrary { what: what.to_owned() });
    }
    if trust == Trust::Owned {
        // Of the very file that is read, whatever is at its path by now.
        place::check_file(path, &metadata)?;
    }
    if metadata.len() > LARGEST {
        let what = format!("a file of {} bytes, of which {LARGEST} are the most for a plugin", metadata.len());
        return Err(LoadErrorKind::NotALibrary { what });
    }
    let mut bytes = Vec::new();
    // What is no object file is known by its beginning, however large it is.
    file.by_ref().take(HEAD).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if inspect::may_be_library(&bytes) {
        bytes.reserve(usize::try_from(metadata.len()).unwrap_or(0));
        file.by_ref().take(LARGEST).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    }
    let key = StatKey::of(&metadata);
    let unchanged = file.metadata().is_ok_and(|after| StatKey::of(&after) == key);
    Ok(FileContent { bytes, key: (unchanged && key.is_settled(now)).then_some(key) })
}

fn fingerprint(parts: &[Part]) -> String {
    if let [alone] = parts {
        return alone.hash.clone();
    }
    let mut lines: Vec<Vec<u8>> = parts
        .iter()
        .map(|part| [part.relative.as_os_str().as_encoded_bytes(), b"\0", part.hash.as_bytes(), b"\n"].concat())
        .collect();
    lines.sort();
    sha256(&lines.concat())
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_are_looked_for_inside_the_directory_alone() {
        let linkage = |search: &[&str]| Linkage {
            soname: None,
            needed: ["libc.so.6", "libdep.so", "@loader_path/libdep.so"].map(str::to_owned).into(),
            search: search.iter().map(|&entry| entry.to_owned()).collect(),
        };
        let found = |search: &[&str]| siblings(Path::new("p.so"), &linkage(search));
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(found(&[]), paths(&["libdep.so"]));
        assert_eq!(found(&["$ORIGIN/lib"]), paths(&["lib/libc.so.6", "lib/libdep.so", "libdep.so"]));
        assert_eq!(found(&["${ORIGIN}/./lib/.."]), paths(&["libc.so.6", "libdep.so", "libdep.so"]));
        assert_eq!(found(&["$ORIGIN/..", "/usr/lib", "$ORIGINAL"]), paths(&["libdep.so"]));
    }

    #[test]
    fn a_library_is_never_opened_where_it_lies() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("libdep.so"), "").unwrap();
        let refused = |search: &str| {
            let linkage =
                Linkage { soname: None, needed: vec!["libdep.so".to_owned()], search: vec![search.to_owned()] };
            refuse_in_place(directory.path(), &linkage).err().map(|error| error.code())
        };
        assert_eq!(refused(directory.path().to_str().unwrap()), Some("TH0403"));
        assert_eq!(refused("lib"), Some("TH0403"));
        assert_eq!(refused("$ORIGIN"), None);
        assert_eq!(refused("/usr/lib"), None);
        assert_eq!(refused(""), None);
    }
}
