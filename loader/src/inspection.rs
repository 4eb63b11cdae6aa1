//! What can be told of a plugin's file without loading it.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};
use toolhost_abi::ABI_VERSION;
use toolhost_abi::note::{FAMILY, Metadata};

use crate::bundle::{Bundle, FileContent, Part, read_regular};
use crate::inspect::{self, Facts, GlibcVersion, LibcFlavour};
use crate::needs::{self, Need, Place};
use crate::trust::Trust;
use crate::{LoadError, LoadErrorKind};

/// What can be told of a file without running anything of it, and whether a host loads it.
///
/// Where it is refused, everything is there that could be read before. What a host checks only once a plugin is open is
/// not part of it: the layout of the interface, and what the factory makes.
///
/// As JSON it is one object with the fields in camelCase.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Inspection {
    /// The file, as it was named.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: Option<String>,
    /// The fingerprint that a host knows it by: the same, or, where it brings libraries along, that of all of them.
    pub fingerprint: Option<String>,
    /// What kind of file it is, such as `ELF, 64-bit`.
    pub kind: Option<String>,
    /// The system that it was built for, such as `Linux`.
    pub system: Option<String>,
    /// The machine that it was built for, as the compiler names it.
    pub machine: Option<String>,
    /// The C library that it was linked with.
    pub libc: Option<LibcFlavour>,
    /// The newest version of glibc that it needs.
    pub glibc_needed: Option<String>,
    /// How many segments it has, all of which lie within the file.
    pub segments: Option<usize>,
    /// The same of sections; none where they were stripped.
    pub sections: Option<usize>,
    /// The name that it goes by in a process.
    pub soname: Option<String>,
    /// The libraries that it needs, and those that they need.
    pub needed: Vec<NeededLibrary>,
    /// How many functions run as it is opened, those of the compiler included. They are no reason to refuse it.
    pub constructors: Option<u64>,
    /// Whether it wants thread-local memory that a process sets aside at its start, which may be used up by then.
    pub static_tls: Option<bool>,
    /// Whether it exports the symbol that a host looks for.
    pub exports_entry: Option<bool>,
    /// What its note says of it.
    pub plugin: Option<Metadata>,
    /// What it is compared with.
    pub host: HostFacts,
    /// Whether a host goes on to open it.
    pub loadable: bool,
    /// Why not.
    pub error: Option<LoadError>,
}

/// A library that a plugin needs, directly or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NeededLibrary {
    /// Its name.
    pub name: String,
    /// The files that need it.
    #[serde(serialize_with = "all_lossy")]
    pub needed_by: Vec<PathBuf>,
    /// How it is there.
    pub status: LibraryStatus,
    /// The file that it is, where that is known.
    #[serde(serialize_with = "maybe_lossy")]
    pub path: Option<PathBuf>,
}

/// How a library that is needed is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LibraryStatus {
    /// The plugin brings it along.
    Brought,
    /// The system has it.
    Found,
    /// This process has it already.
    Loaded,
    /// It cannot be found.
    Missing,
    /// This cannot be told on this system.
    Unknown,
}

/// What this host is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct HostFacts {
    /// The system.
    pub system: &'static str,
    /// The machine.
    pub machine: &'static str,
    /// The C library.
    pub libc: Option<LibcFlavour>,
    /// Its version, of glibc.
    pub glibc: Option<String>,
    /// The family of interfaces that it knows.
    pub abi_family: &'static str,
    /// Its version of the interface.
    pub abi_version: &'static str,
}

impl HostFacts {
    fn new() -> Self {
        Self {
            system: inspect::system(),
            machine: std::env::consts::ARCH,
            libc: LibcFlavour::HOST,
            glibc: GlibcVersion::of_host().map(|version| version.to_string()),
            abi_family: FAMILY,
            abi_version: ABI_VERSION,
        }
    }
}

/// Looks at a plugin's file. Nothing of it runs, and nothing is mapped or written.
#[must_use]
pub fn inspect(path: impl AsRef<Path>) -> Inspection {
    let path = path.as_ref();
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut inspection = Inspection::of_nothing(path);
    let verdict = match read_regular(&absolute, Trust::Given) {
        Ok(read) => inspection.fill(&absolute, read),
        Err(kind) => {
            if let LoadErrorKind::NotALibrary { what } = &kind {
                inspection.kind = Some(what.clone());
            }
            Err(kind)
        }
    };
    inspection.loadable = verdict.is_ok();
    inspection.error = verdict.err().map(|kind| LoadError::new(path, kind));
    inspection
}

impl Inspection {
    fn of_nothing(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            size: None,
            sha256: None,
            fingerprint: None,
            kind: None,
            system: None,
            machine: None,
            libc: None,
            glibc_needed: None,
            segments: None,
            sections: None,
            soname: None,
            needed: Vec::new(),
            constructors: None,
            static_tls: None,
            exports_entry: None,
            plugin: None,
            host: HostFacts::new(),
            loadable: false,
            error: None,
        }
    }

    fn fill(&mut self, path: &Path, read: FileContent) -> Result<(), LoadErrorKind> {
        let mut facts = Facts::default();
        let looked = inspect::look(&read.bytes, &mut facts);
        self.take(&facts);
        let linkage = std::mem::take(&mut facts.linkage);
        drop(facts);
        let alone = Part::new(PathBuf::from(path.file_name().unwrap_or_default()), path.to_owned(), read, linkage);
        // A file that is no library at all was not read to its end.
        if self.segments.is_some() || self.system.is_some() {
            self.size = alone.bytes.as_ref().map(|bytes| bytes.len() as u64);
            self.sha256 = Some(alone.hash.clone());
        } else {
            self.size = std::fs::metadata(path).ok().map(|metadata| metadata.len());
        }
        let gathered = looked.and_then(|metadata| Bundle::gather(path, metadata, alone.clone(), Trust::Given));
        let parts = match &gathered {
            Ok(bundle) => {
                self.fingerprint = Some(bundle.fingerprint.clone());
                &bundle.parts[..]
            }
            Err(_) => std::slice::from_ref(&alone),
        };
        let needs = needs::all(parts);
        let none_is_missing = needs::none_is_missing(parts, &needs);
        self.needed = needs.into_iter().map(NeededLibrary::new).collect();
        gathered.and(none_is_missing)
    }

    fn take(&mut self, facts: &Facts<'_>) {
        self.kind = Some(facts.kind.clone());
        self.system = facts.system.map(str::to_owned);
        self.machine.clone_from(&facts.machine);
        self.libc = facts.libc;
        self.glibc_needed = facts.glibc.map(|version| version.to_string());
        self.segments = facts.segments;
        self.sections = facts.sections;
        self.soname.clone_from(&facts.linkage.soname);
        self.constructors = facts.constructors;
        self.static_tls = facts.static_tls;
        self.exports_entry = facts.exports_entry;
        self.plugin.clone_from(&facts.metadata);
    }
}

impl NeededLibrary {
    fn new(need: Need) -> Self {
        let (status, path) = match need.place {
            Place::Brought(path) => (LibraryStatus::Brought, Some(path)),
            Place::Found(path) => (LibraryStatus::Found, Some(path)),
            Place::Loaded => (LibraryStatus::Loaded, None),
            Place::Missing => (LibraryStatus::Missing, None),
            Place::Unknown => (LibraryStatus::Unknown, None),
        };
        Self { name: need.name, needed_by: need.needed_by, status, path }
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

fn maybe_lossy<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}

fn all_lossy<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
