//! Mach-O, from the platform's documentation.

use object::read::macho::{LoadCommandVariant, MachHeader, MachOFile64};
use object::{Endianness, NameOrOrdinal, Object, ObjectSection, ObjectSegment, macho};
use toolhost_abi::note::{MACH_SECTION, SYMBOL};

use super::{Facts, Linkage, damaged, kind};
use crate::LoadErrorKind;

type File<'data> = MachOFile64<'data, Endianness>;

pub(super) fn parse<'data>(data: &'data [u8], facts: &mut Facts<'data>) -> Result<(), LoadErrorKind> {
    let file = File::parse(data).map_err(damaged)?;
    let found = kind::machine(file.architecture());
    facts.machine = Some(found.clone());
    if found != std::env::consts::ARCH {
        let found = kind::on_machine("macOS", &found);
        return Err(LoadErrorKind::OtherPlatform { found, wanted: kind::platform() });
    }
    let (header, endian) = (file.macho_header(), file.endian());
    if header.filetype(endian) != macho::MH_DYLIB && header.filetype(endian) != macho::MH_BUNDLE {
        return Err(LoadErrorKind::NotALibrary { what: "a program or an object file".to_owned() });
    }
    for segment in file.segments() {
        let (offset, size) = segment.file_range();
        if offset.checked_add(size).is_none_or(|end| end > data.len() as u64) {
            return Err(damaged("a segment lies beyond the end of the file"));
        }
    }
    // The platform puts an underscore before every C name.
    let entry = format!("_{SYMBOL}");
    let mut exports = file.exports().map_err(damaged)?.filter_map(Result::ok);
    facts.linkage = linkage(&file, data)?;
    facts.note = note(&file);
    facts.exports_entry = Some(exports.any(|export| export.name() == NameOrOrdinal::Name(entry.as_bytes())));
    Ok(())
}

fn linkage(file: &File<'_>, data: &[u8]) -> Result<Linkage, LoadErrorKind> {
    let endian = file.endian();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut linkage = Linkage::default();
    let mut commands = file.macho_header().load_commands(endian, data, 0).map_err(damaged)?;
    while let Some(command) = commands.next().map_err(damaged)? {
        match command.variant().map_err(damaged)? {
            LoadCommandVariant::Dylib(dylib) => {
                linkage.needed.push(text(command.string(endian, dylib.dylib.name).map_err(damaged)?));
            }
            LoadCommandVariant::Rpath(rpath) => {
                linkage.search.push(text(command.string(endian, rpath.path).map_err(damaged)?));
            }
            _ => {}
        }
    }
    Ok(linkage)
}

fn note<'data>(file: &File<'data>) -> Option<&'data [u8]> {
    let ours = |section: &object::read::macho::MachOSection64<'data, '_, Endianness>| {
        let segment = section.segment_name().ok().flatten();
        (segment, section.name().ok()) == (Some(MACH_SECTION.0), Some(MACH_SECTION.1))
    };
    file.sections().find(ours)?.data().ok().and_then(descriptor)
}

/// The section holds the same bytes as the ELF note: three sizes, the padded owner, the descriptor.
fn descriptor(section: &[u8]) -> Option<&[u8]> {
    const HEAD: usize = 24;
    let size = u32::from_ne_bytes(section.get(4..8)?.try_into().ok()?) as usize;
    section.get(HEAD..)?.get(..size)
}
