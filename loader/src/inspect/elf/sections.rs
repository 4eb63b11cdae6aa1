//! Sections, which may be stripped: the system's loader does not go by them. Where there are any, they have to agree with
//! what it goes by.

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use super::dynamic::{Dynamic, FINI, INIT};
use super::segments::within;
use super::{Header, Image, Segment};
use crate::LoadErrorKind;
use crate::inspect::damaged;

/// The number of sections, which have to lie within the file, and where the segments put them.
pub(super) fn check(image: &Image<'_>, header: &Header) -> Result<usize, LoadErrorKind> {
    let endian = image.endian;
    let sections = header.sections(endian, image.data).map_err(damaged)?;
    for (at, section) in sections.iter().enumerate() {
        if let Some((offset, size)) = section.file_range(endian) {
            within(image.data, offset, size)
                .ok_or_else(|| damaged(format!("section {at} lies beyond the end of the file")))?;
        }
        check_section(image, section).map_err(|what| damaged(format!("section {at} {what}")))?;
    }
    Ok(sections.len())
}

fn check_section(image: &Image<'_>, section: &<Header as FileHeader>::SectionHeader) -> Result<(), &'static str> {
    let endian = image.endian;
    let flags = section.sh_flags(endian).0;
    let has = |flag: elf::SectionFlags| flags & flag.0 != 0;
    let (address, size) = (section.sh_addr(endian), section.sh_size(endian));
    if !has(elf::SHF_ALLOC) || size == 0 {
        return Ok(());
    }
    if has(elf::SHF_TLS) {
        let inside = |tls: &Segment| {
            let start = tls.p_vaddr(endian);
            start <= address && address.checked_add(size).is_some_and(|end| end - start <= tls.p_memsz(endian))
        };
        if !image.of_type(elf::PT_TLS).any(inside) {
            return Err("is thread-local, and lies outside of that segment");
        }
    }
    let in_file = section.sh_type(endian) != elf::SHT_NOBITS;
    if has(elf::SHF_TLS) && !in_file {
        return Ok(());
    }
    let load = image.load(address, size).ok_or("lies in no segment")?;
    let offset = load.offset.checked_add(address - load.start);
    if in_file && (address + size > load.file_end || offset != Some(section.sh_offset(endian))) {
        return Err("is not where its segment puts it");
    }
    let code = has(elf::SHF_EXECINSTR);
    let allowed = (code || load.readable) && (!code || load.executable) && (!has(elf::SHF_WRITE) || load.writable);
    if allowed { Ok(()) } else { Err("needs rights that its segment has not") }
}

/// Checks that the lists of what is called are where the sections of that type are: any other list of addresses of code
/// would pass for one.
pub(super) fn check_calls(image: &Image<'_>, header: &Header, dynamic: &Dynamic<'_, '_>) -> Result<(), LoadErrorKind> {
    let endian = image.endian;
    let sections = header.sections(endian, image.data).map_err(damaged)?;
    for (table, wanted) in [(INIT, elf::SHT_INIT_ARRAY), (FINI, elf::SHT_FINI_ARRAY)] {
        let mut typed = sections.iter().filter(|section| section.sh_type(endian) == wanted);
        if let (Some(section), None) = (typed.next(), typed.next())
            && let Some(range) = dynamic.range(table)?
            && range != (section.sh_addr(endian), section.sh_size(endian))
        {
            return Err(damaged(format!("its {} is not where its section is", table.what)));
        }
    }
    Ok(())
}
