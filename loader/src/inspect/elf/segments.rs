//! What is mapped, and what else the program headers name.

use object::elf::{self, ProgramFlags};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadRef};

use super::{Header, Image, Segment};
use crate::LoadErrorKind;
use crate::inspect::damaged;

/// The least page that a machine may have; a segment's own alignment is often larger.
const PAGE: u64 = 0x1000;
/// Nothing asks for more thread-local memory, or a larger alignment of it; each thread would have to have it.
const LARGEST_TLS: u64 = 1 << 28;
const LARGEST_TLS_ALIGNMENT: u64 = 1 << 20;

/// A segment that is mapped.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) start: u64,
    pub(super) end: u64,
    /// The address at which the file's bytes end; what follows is zeros.
    pub(super) file_end: u64,
    pub(super) offset: u64,
    pub(super) readable: bool,
    pub(super) writable: bool,
    pub(super) executable: bool,
}

/// All segments have to lie within the file: mapping beyond its end ends the process with a signal. Those that are
/// mapped must follow each other, since the system's loader reserves memory from the first to the last.
pub(super) fn loads(endian: Endianness, segments: &[Segment], data: &[u8]) -> Result<Vec<Load>, LoadErrorKind> {
    let mut loads: Vec<Load> = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        let (offset, size) = segment.file_range(endian);
        within(data, offset, size).ok_or_else(|| damaged(format!("segment {at} lies beyond the end of the file")))?;
        if segment.p_type(endian) != elf::PT_LOAD {
            continue;
        }
        let load = load(endian, segment).map_err(|what| damaged(format!("segment {at} {what}")))?;
        if loads.last().is_some_and(|last| load.start < last.end) {
            return Err(damaged(format!("segment {at} overlaps the one before it")));
        }
        loads.push(load);
    }
    if loads.is_empty() {
        return Err(damaged("it has nothing to load"));
    }
    Ok(loads)
}

pub(super) fn within(data: &[u8], offset: u64, size: u64) -> Option<()> {
    (offset.checked_add(size)? <= data.len() as u64).then_some(())
}

fn load(endian: Endianness, segment: &Segment) -> Result<Load, &'static str> {
    let (start, align, flags) = (segment.p_vaddr(endian), segment.p_align(endian), segment.p_flags(endian));
    let (offset, file_size) = segment.file_range(endian);
    let size = segment.p_memsz(endian);
    if size < file_size {
        return Err("is larger in the file than in memory");
    }
    let end = start.checked_add(size).filter(|end| end.checked_next_multiple_of(PAGE).is_some());
    let end = end.ok_or("reaches beyond the end of memory")?;
    if align > 1 && !align.is_power_of_two() {
        return Err("has an alignment that is no power of two");
    }
    if align > 1 && !start.abs_diff(offset).is_multiple_of(align) {
        return Err("does not lie in the file as its alignment wants it");
    }
    let has = |flag: ProgramFlags| flags.0 & flag.0 != 0;
    let (readable, writable, executable) = (has(elf::PF_R), has(elf::PF_W), has(elf::PF_X));
    Ok(Load { start, end, file_end: start + file_size, offset, readable, writable, executable })
}

/// What is not mapped for itself has to lie in what is, at the same place of the file.
pub(super) fn check(image: &Image<'_>, header: &Header) -> Result<(), LoadErrorKind> {
    let endian = image.endian;
    for single in [elf::PT_DYNAMIC, elf::PT_TLS, elf::PT_PHDR, elf::PT_GNU_RELRO, elf::PT_GNU_EH_FRAME, elf::PT_INTERP]
    {
        if image.of_type(single).count() > 1 {
            return Err(damaged(format!("it has two segments of the type {:#x}", single.0)));
        }
    }
    for (at, segment) in image.segments.iter().enumerate() {
        let wrong = |what: &str| Err(damaged(format!("segment {at} {what}")));
        match segment.p_type(endian) {
            elf::PT_DYNAMIC | elf::PT_NOTE | elf::PT_GNU_PROPERTY | elf::PT_GNU_EH_FRAME | elf::PT_INTERP
                if !is_mapped(image, segment) =>
            {
                return wrong("is not where it is mapped");
            }
            elf::PT_PHDR => {
                let (offset, size) = segment.file_range(endian);
                let all = size_of_val(image.segments) as u64;
                if !is_mapped(image, segment) || offset != header.e_phoff(endian) || size != all {
                    return wrong("is not the table of the segments");
                }
            }
            elf::PT_TLS => check_tls(image, segment).or_else(wrong)?,
            elf::PT_GNU_RELRO => check_relro(image, segment).or_else(wrong)?,
            _ => {}
        }
    }
    check_dynamic_flags(image)?;
    check_unwind_table(image)
}

/// Whether what a program finds at the segment's address is what the file has at its offset.
fn is_mapped(image: &Image<'_>, segment: &Segment) -> bool {
    let (offset, size) = segment.file_range(image.endian);
    let address = segment.p_vaddr(image.endian);
    size == 0 || (segment.p_memsz(image.endian) == size && is_mapped_at(image, address, offset, size))
}

fn is_mapped_at(image: &Image<'_>, address: u64, offset: u64, size: u64) -> bool {
    image.load(address, size).is_some_and(|load| {
        address + size <= load.file_end
            && load.readable
            && load.offset.checked_add(address - load.start) == Some(offset)
    })
}

/// What each new thread gets a copy of.
fn check_tls(image: &Image<'_>, segment: &Segment) -> Result<(), &'static str> {
    let endian = image.endian;
    let (offset, file_size) = segment.file_range(endian);
    let (address, size, align) = (segment.p_vaddr(endian), segment.p_memsz(endian), segment.p_align(endian));
    if size < file_size {
        return Err("is larger in the file than in memory");
    }
    if file_size > 0 && !is_mapped_at(image, address, offset, file_size) {
        return Err("is not where it is mapped");
    }
    if size > LARGEST_TLS || align > LARGEST_TLS_ALIGNMENT || (align > 1 && !align.is_power_of_two()) {
        return Err("asks for more thread-local memory than there can be");
    }
    Ok(())
}

/// What can no longer be written once the library is linked.
fn check_relro(image: &Image<'_>, segment: &Segment) -> Result<(), &'static str> {
    let (address, size) = (segment.p_vaddr(image.endian), segment.p_memsz(image.endian));
    let covers = |load: &&Load| {
        // Linkers round up its end, some beyond that of the data.
        let end = load.end.next_multiple_of(segment.p_align(image.endian).clamp(PAGE, 1 << 16));
        (load.start..=load.end).contains(&address) && address.checked_add(size).is_some_and(|last| last <= end)
    };
    match image.loads.iter().find(covers) {
        _ if size == 0 => Ok(()),
        Some(load) if load.writable => Ok(()),
        Some(_) => Err("takes the right to write from what has none"),
        None => Err("takes the right to write from more than there is"),
    }
}

/// The system's loader writes into a dynamic table whose segment says that it may.
fn check_dynamic_flags(image: &Image<'_>) -> Result<(), LoadErrorKind> {
    let Some(dynamic) = image.of_type(elf::PT_DYNAMIC).next() else { return Ok(()) };
    let load = image.load(dynamic.p_vaddr(image.endian), dynamic.p_memsz(image.endian));
    let written = dynamic.p_flags(image.endian).0 & elf::PF_W.0 != 0;
    if written && !load.is_some_and(|load| load.writable) {
        return Err(damaged("its dynamic table would be written where nothing can be"));
    }
    Ok(())
}

/// Without this table no panic can be caught.
fn check_unwind_table(image: &Image<'_>) -> Result<(), LoadErrorKind> {
    let Some(table) = image.of_type(elf::PT_GNU_EH_FRAME).next() else { return Ok(()) };
    let (offset, size) = table.file_range(image.endian);
    let version = image.data.read_bytes_at(offset, size).ok().and_then(|bytes| bytes.first().copied());
    if size > 0 && version != Some(1) {
        return Err(damaged("its table for unwinding is none"));
    }
    Ok(())
}
