//! What a library asks for, read in passing: of a library of the system nothing else matters here.

use std::fs::File;

use object::elf::{self, DynamicTag};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{ReadCache, ReadRef};

use super::Header;
use crate::inspect::Linkage;

impl Linkage {
    /// Takes an entry of a dynamic table.
    pub(super) fn add(&mut self, tag: DynamicTag, text: &str) {
        match tag {
            elf::DT_NEEDED => self.needed.push(text.to_owned()),
            elf::DT_SONAME => self.soname = Some(text.to_owned()),
            elf::DT_RPATH | elf::DT_RUNPATH => self.search.extend(text.split(':').map(str::to_owned)),
            _ => {}
        }
    }
}

/// Of a library or program of this machine; `None` where it is none. Reads a few pages of it.
pub(in crate::inspect) fn of_file(file: File) -> Option<Linkage> {
    let cache = ReadCache::new(file);
    let data = &cache;
    let header = Header::parse(data).ok()?;
    let endian = header.endian().ok()?;
    if super::machine(header, endian) != std::env::consts::ARCH {
        return None;
    }
    let segments = header.program_headers(endian, data).ok()?;
    let entries = segments.iter().find_map(|segment| segment.dynamic(endian, data).ok()?)?;
    let entries = || {
        let all = entries.iter().map(|entry| (entry.tag(endian), entry.val(endian)));
        all.take_while(|(tag, _)| *tag != elf::DT_NULL)
    };
    let value = |wanted| entries().find(|(tag, _)| *tag == wanted).map(|(_, value)| value);
    let (address, size) = (value(elf::DT_STRTAB)?, value(elf::DT_STRSZ)?);
    let load = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD).find(|segment| {
        let start = segment.p_vaddr(endian);
        start <= address && address - start < segment.p_filesz(endian)
    })?;
    let start = load.p_offset(endian).checked_add(address - load.p_vaddr(endian))?;
    let end = start.checked_add(size).filter(|end| data.len().is_ok_and(|length| *end <= length))?;
    let strings = StringTable::new(data, start, end);
    let mut linkage = Linkage::default();
    for (tag, value) in entries() {
        if [elf::DT_NEEDED, elf::DT_SONAME, elf::DT_RPATH, elf::DT_RUNPATH].contains(&tag) {
            linkage.add(tag, &String::from_utf8_lossy(strings.get(u32::try_from(value).ok()?).ok()?));
        }
    }
    Some(linkage)
}
