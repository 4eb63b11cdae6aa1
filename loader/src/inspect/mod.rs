//! What a file is, decided from its bytes alone: nothing of it runs, and nothing is mapped.

mod elf;
mod kind;
mod libc;
mod macho;
mod note;
#[cfg(test)]
mod properties;

use std::fs::File;
use std::path::Path;

pub(crate) use note::is_name;

use object::FileKind;
use serde::{Deserialize, Serialize};
use toolhost_abi::ABI_VERSION;
use toolhost_abi::note::{FAMILY, Metadata, SYMBOL};

pub(crate) use self::kind::system;
pub(crate) use self::libc::GlibcVersion;
pub use self::libc::LibcFlavour;
use crate::LoadErrorKind;

/// A library that can be opened as a plugin.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) metadata: Metadata,
    pub(crate) linkage: Linkage,
}

/// What a library asks the system's loader for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Linkage {
    /// The name that the library goes by in a process.
    pub(crate) soname: Option<String>,
    /// The libraries that it needs.
    pub(crate) needed: Vec<String>,
    /// Where it looks for them before the system does.
    pub(crate) search: Vec<String>,
}

/// What a look at a file finds, or as much of it as could be read before something was wrong.
#[derive(Debug, Default)]
pub(crate) struct Facts<'data> {
    /// What kind of file it is.
    pub(crate) kind: String,
    pub(crate) system: Option<&'static str>,
    pub(crate) machine: Option<String>,
    pub(crate) libc: Option<LibcFlavour>,
    /// The newest version of glibc that it needs.
    pub(crate) glibc: Option<GlibcVersion>,
    pub(crate) segments: Option<usize>,
    pub(crate) sections: Option<usize>,
    pub(crate) linkage: Linkage,
    /// How many functions run as it is opened.
    pub(crate) constructors: Option<u64>,
    /// Whether its thread-local memory has to be found in what a process sets aside at its start.
    pub(crate) static_tls: Option<bool>,
    pub(crate) exports_entry: Option<bool>,
    note: Option<&'data [u8]>,
    pub(crate) metadata: Option<Metadata>,
}

/// Whether a file that begins like this may be a library of some platform.
pub(crate) fn may_be_library(head: &[u8]) -> bool {
    FileKind::parse(head).is_ok()
}

/// Checks that these bytes are a whole library for this platform, and a plugin.
pub(crate) fn plugin(data: &[u8]) -> Result<Inspected, LoadErrorKind> {
    let mut facts = Facts::default();
    let metadata = look(data, &mut facts)?;
    Ok(Inspected { metadata, linkage: facts.linkage })
}

/// Checks that these bytes are a whole library for this platform.
pub(crate) fn library(data: &[u8]) -> Result<Linkage, LoadErrorKind> {
    let mut facts = Facts::default();
    parse(data, &mut facts)?;
    libc::check(facts.libc, facts.glibc)?;
    Ok(facts.linkage)
}

/// The same as [`plugin`]; the facts tell what was found, also where it is refused.
pub(crate) fn look<'data>(data: &'data [u8], facts: &mut Facts<'data>) -> Result<Metadata, LoadErrorKind> {
    let parsed = parse(data, facts);
    let metadata = note::read(facts.note);
    facts.metadata = metadata.as_ref().ok().cloned();
    if let Some(metadata) = &facts.metadata {
        facts.libc = facts.libc.or_else(|| LibcFlavour::of_target(&metadata.target));
    }
    parsed?;
    let metadata = metadata?;
    if metadata.abi_family != FAMILY {
        return Err(LoadErrorKind::OtherFamily { found: metadata.abi_family, known: FAMILY });
    }
    if major(&metadata.abi_version) != major(ABI_VERSION) {
        let (plugin, found) = (metadata.name, metadata.abi_version);
        return Err(LoadErrorKind::OtherVersion { plugin, found, host: ABI_VERSION });
    }
    if metadata.panic != "unwind" {
        return Err(LoadErrorKind::PanicAborts { plugin: metadata.name, strategy: metadata.panic });
    }
    if facts.exports_entry != Some(true) {
        return Err(LoadErrorKind::NoEntry { symbol: SYMBOL });
    }
    libc::check(facts.libc, facts.glibc)?;
    Ok(metadata)
}

/// What has to be equal for two versions of the interface to fit; whether they do is checked once the plugin is open.
fn major(version: &str) -> Option<u64> {
    version.split('.').next()?.parse().ok()
}

/// What a library of the system asks for; `None` where the file is none for this machine.
pub(crate) fn linkage_of_file(path: &Path) -> Option<Linkage> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    elf::of_file(file)
}

fn parse<'data>(data: &'data [u8], facts: &mut Facts<'data>) -> Result<(), LoadErrorKind> {
    let kind = FileKind::parse(data);
    facts.kind = kind.map_or_else(|_| kind::describe(data), |kind| kind::name(kind, data));
    facts.system = kind.ok().and_then(kind::system_of);
    match kind {
        Ok(FileKind::Elf64) if cfg!(not(target_vendor = "apple")) => elf::parse(data, facts),
        Ok(FileKind::MachO64) if cfg!(target_vendor = "apple") => macho::parse(data, facts),
        Ok(kind) => {
            facts.machine = kind::machine_of(data);
            Err(kind::refused(kind, data))
        }
        Err(_) => Err(LoadErrorKind::NotALibrary { what: kind::describe(data) }),
    }
}

fn damaged(what: impl std::fmt::Display) -> LoadErrorKind {
    LoadErrorKind::Damaged { what: what.to_string() }
}
