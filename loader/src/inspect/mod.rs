//! What a file is, decided from its bytes alone: nothing of it runs, and nothing is mapped.

mod elf;
mod kind;
mod macho;
mod note;

pub(crate) use note::is_name;

use object::FileKind;
use toolhost_abi::note::{FAMILY, Metadata, SYMBOL};

use crate::LoadErrorKind;

/// A library that can be opened as a plugin.
#[derive(Debug)]
pub(crate) struct Inspected {
    pub(crate) metadata: Metadata,
    pub(crate) linkage: Linkage,
}

/// What a library asks the system's loader for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Linkage {
    /// The name that the library goes by in a process.
    pub(crate) soname: Option<String>,
    /// The libraries that it needs.
    pub(crate) needed: Vec<String>,
    /// Where it looks for them before the system does.
    pub(crate) search: Vec<String>,
}

/// What a look at a library's structure finds.
struct Library<'data> {
    linkage: Linkage,
    note: Option<&'data [u8]>,
    exports_entry: bool,
}

/// Whether a file that begins like this may be a library of some platform.
pub(crate) fn may_be_library(head: &[u8]) -> bool {
    FileKind::parse(head).is_ok()
}

/// Checks that these bytes are a whole library for this platform, and a plugin.
pub(crate) fn plugin(data: &[u8]) -> Result<Inspected, LoadErrorKind> {
    let library = parse(data)?;
    let metadata = note::read(library.note)?;
    if metadata.abi_family != FAMILY {
        return Err(LoadErrorKind::OtherFamily { found: metadata.abi_family, known: FAMILY });
    }
    if metadata.panic != "unwind" {
        return Err(LoadErrorKind::PanicAborts { plugin: metadata.name, strategy: metadata.panic });
    }
    if !library.exports_entry {
        return Err(LoadErrorKind::NoEntry { symbol: SYMBOL });
    }
    Ok(Inspected { metadata, linkage: library.linkage })
}

/// Checks that these bytes are a whole library for this platform.
pub(crate) fn library(data: &[u8]) -> Result<Linkage, LoadErrorKind> {
    Ok(parse(data)?.linkage)
}

fn parse(data: &[u8]) -> Result<Library<'_>, LoadErrorKind> {
    match FileKind::parse(data) {
        Ok(FileKind::Elf64) if cfg!(not(target_vendor = "apple")) => elf::parse(data),
        Ok(FileKind::MachO64) if cfg!(target_vendor = "apple") => macho::parse(data),
        Ok(kind) => Err(kind::refused(kind)),
        Err(_) => Err(LoadErrorKind::NotALibrary { what: kind::describe(data) }),
    }
}

fn damaged(what: impl std::fmt::Display) -> LoadErrorKind {
    LoadErrorKind::Damaged { what: what.to_string() }
}
