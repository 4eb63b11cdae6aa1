//! A plugin's file together with the libraries that it brings along.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use toolhost_abi::note::Metadata;

use crate::LoadErrorKind;
use crate::discover::unreadable;
use crate::inspect::{self, Linkage};
use crate::needs;

/// Larger files are no plugins.
const LARGEST: u64 = 1 << 30;
/// How much of a file tells its kind.
const HEAD: u64 = 1024;

/// Everything that is copied and opened together, with the bytes that were inspected.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) metadata: Metadata,
    /// The plugin first.
    pub(crate) parts: Vec<Part>,
    /// SHA-256 in hexadecimal: of the plugin's file where it stands alone, else of all paths and hashes.
    pub(crate) fingerprint: String,
}

/// One file of a bundle.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    /// Where it lies, seen from the plugin's directory.
    pub(crate) relative: PathBuf,
    pub(crate) source: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) hash: String,
    pub(crate) linkage: Linkage,
}

impl Bundle {
    /// Reads and inspects a plugin and its siblings, and looks for what else it needs. Nothing of them runs.
    pub(crate) fn read(path: &Path) -> Result<Self, LoadErrorKind> {
        let bytes = read_regular(path)?;
        let inspected = inspect::plugin(&bytes)?;
        let name = PathBuf::from(path.file_name().unwrap_or_default());
        let plugin = Part::new(name, path.to_owned(), bytes, inspected.linkage);
        let bundle = Self::gather(path, inspected.metadata, plugin)?;
        needs::check(&bundle.parts)?;
        Ok(bundle)
    }

    /// A plugin that was inspected, together with its siblings, which are inspected now.
    pub(crate) fn gather(path: &Path, metadata: Metadata, plugin: Part) -> Result<Self, LoadErrorKind> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        refuse_in_place(directory, &plugin.linkage)?;
        let mut waiting = siblings(directory, &plugin.relative, &plugin.linkage);
        let mut parts = vec![plugin];
        while let Some(relative) = waiting.pop_front() {
            if parts.iter().any(|part| part.relative == relative) {
                continue;
            }
            let source = directory.join(&relative);
            let bytes = read_regular(&source)?;
            let linkage = inspect::library(&bytes).map_err(|kind| within(&source, &kind))?;
            refuse_in_place(directory, &linkage)?;
            waiting.extend(siblings(directory, &relative, &linkage));
            parts.push(Part::new(relative, source, bytes, linkage));
        }
        let fingerprint = fingerprint(&parts);
        Ok(Self { metadata, parts, fingerprint })
    }

    /// The names of all libraries that its parts need.
    pub(crate) fn needed(&self) -> impl Iterator<Item = &String> {
        self.parts.iter().flat_map(|part| &part.linkage.needed)
    }
}

impl Part {
    pub(crate) fn new(relative: PathBuf, source: PathBuf, bytes: Vec<u8>, linkage: Linkage) -> Self {
        let hash = sha256(&bytes);
        Self { relative, source, bytes, hash, linkage }
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

/// The libraries inside the plugin's directory that this part of it needs, seen from that directory.
fn siblings(directory: &Path, part: &Path, linkage: &Linkage) -> VecDeque<PathBuf> {
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
    candidates.filter_map(|path| normal(&path)).filter(|path| directory.join(path).is_file()).collect()
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

pub(crate) fn read_regular(path: &Path) -> Result<Vec<u8>, LoadErrorKind> {
    // A pipe that nobody writes to would hold up an open that may block.
    #[allow(clippy::cast_possible_wrap)]
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut file: File =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a device, a pipe or a socket" };
        return Err(LoadErrorKind::NotALibrary { what: what.to_owned() });
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
        file.take(LARGEST).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    }
    Ok(bytes)
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
    fn only_what_lies_inside_the_directory_is_a_sibling() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("lib")).unwrap();
        for name in ["libdep.so", "lib/libother.so"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let linkage = |search: &[&str]| Linkage {
            soname: None,
            needed: ["libc.so.6", "libdep.so", "libother.so", "@loader_path/libdep.so"].map(str::to_owned).into(),
            search: search.iter().map(|&entry| entry.to_owned()).collect(),
        };
        let found = |search: &[&str]| siblings(directory.path(), Path::new("p.so"), &linkage(search));
        assert_eq!(found(&[]), ["libdep.so"].map(PathBuf::from));
        assert_eq!(found(&["$ORIGIN/lib"]), ["lib/libother.so", "libdep.so"].map(PathBuf::from));
        assert_eq!(found(&["${ORIGIN}/./lib/.."]), ["libdep.so", "libdep.so"].map(PathBuf::from));
        assert_eq!(found(&["$ORIGIN/..", "/usr/lib", "$ORIGINAL"]), ["libdep.so"].map(PathBuf::from));
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
