//! ELF by its program headers, as the system's loader reads it: section headers may be stripped or zeroed.

use object::elf::{self, FileHeader64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, GnuHashTable, HashTable, ProgramHeader, SectionHeader, Sym};
use object::{Architecture, Endianness, ReadRef};
use toolhost_abi::note::{HEADER_SIZE, KIND, OWNER, SYMBOL};

use super::{Library, Linkage, damaged, kind};
use crate::LoadErrorKind;

type Header = FileHeader64<Endianness>;
type Segment = <Header as FileHeader>::ProgramHeader;
type Symbol = <Header as FileHeader>::Sym;
type Dynamic = <Header as FileHeader>::Dyn;

pub(super) fn parse(data: &[u8]) -> Result<Library<'_>, LoadErrorKind> {
    let header = Header::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    check_platform(header, endian)?;
    let segments = header.program_headers(endian, data).map_err(damaged)?;
    check_within(header, endian, segments, data)?;
    let image = Image { endian, segments, data };
    let dynamic = DynamicTable::read(&image)?;
    Ok(Library {
        linkage: dynamic.linkage()?,
        note: image.note()?,
        exports_entry: dynamic.exports(SYMBOL, HEADER_SIZE as u64)?,
    })
}

fn check_platform(header: &Header, endian: Endianness) -> Result<(), LoadErrorKind> {
    let machine = match header.e_machine(endian) {
        elf::EM_X86_64 => Architecture::X86_64,
        elf::EM_AARCH64 => Architecture::Aarch64,
        elf::EM_386 => Architecture::I386,
        elf::EM_ARM => Architecture::Arm,
        elf::EM_RISCV => Architecture::Riscv64,
        elf::EM_PPC64 => Architecture::PowerPc64,
        elf::EM_S390 => Architecture::S390x,
        elf::EM_LOONGARCH => Architecture::LoongArch64,
        _ => Architecture::Unknown,
    };
    let machine = kind::machine(machine);
    let big_endian = endian == Endianness::Big;
    if machine != std::env::consts::ARCH || big_endian != cfg!(target_endian = "big") {
        let order = if big_endian { " (big-endian)" } else { "" };
        let found = kind::on_machine("Linux", &format!("{machine}{order}"));
        return Err(LoadErrorKind::OtherPlatform { found, wanted: kind::platform() });
    }
    if header.e_type(endian) != elf::ET_DYN {
        let what = match header.e_type(endian) {
            elf::ET_REL => "an object file",
            elf::ET_EXEC => "a program",
            elf::ET_CORE => "a core dump",
            _ => "an ELF file of another type",
        };
        return Err(LoadErrorKind::NotALibrary { what: what.to_owned() });
    }
    Ok(())
}

/// Mapping beyond the end of a file ends the process with a signal, so that every part has to be inside.
fn check_within(header: &Header, endian: Endianness, segments: &[Segment], data: &[u8]) -> Result<(), LoadErrorKind> {
    for (at, segment) in segments.iter().enumerate() {
        let (offset, size) = segment.file_range(endian);
        inside(data, offset, size).ok_or_else(|| damaged(format!("segment {at} lies beyond the end of the file")))?;
        if segment.p_type(endian) == elf::PT_LOAD && segment.p_memsz(endian) < size {
            return Err(damaged(format!("segment {at} is larger in the file than in memory")));
        }
    }
    if !segments.iter().any(|segment| segment.p_type(endian) == elf::PT_LOAD) {
        return Err(damaged("it has nothing to load"));
    }
    let sections = header.sections(endian, data).map_err(damaged)?;
    for (at, section) in sections.iter().enumerate() {
        if let Some((offset, size)) = section.file_range(endian) {
            inside(data, offset, size)
                .ok_or_else(|| damaged(format!("section {at} lies beyond the end of the file")))?;
        }
    }
    Ok(())
}

fn inside(data: &[u8], offset: u64, size: u64) -> Option<()> {
    (offset.checked_add(size)? <= data.len() as u64).then_some(())
}

struct Image<'data> {
    endian: Endianness,
    segments: &'data [Segment],
    data: &'data [u8],
}

impl<'data> Image<'data> {
    /// The bytes from this address to the end of its segment.
    fn at(&self, address: u64) -> Option<&'data [u8]> {
        self.segments.iter().filter(|segment| segment.p_type(self.endian) == elf::PT_LOAD).find_map(|segment| {
            let skip = address.checked_sub(segment.p_vaddr(self.endian))?;
            let (offset, size) = segment.file_range(self.endian);
            let left = size.checked_sub(skip).filter(|left| *left > 0)?;
            self.data.read_bytes_at(offset.checked_add(skip)?, left).ok()
        })
    }

    fn note(&self) -> Result<Option<&'data [u8]>, LoadErrorKind> {
        for segment in self.segments {
            let Some(mut notes) = segment.notes(self.endian, self.data).map_err(damaged)? else {
                continue;
            };
            while let Some(note) = notes.next().map_err(damaged)? {
                if note.name() == OWNER.as_bytes() && note.n_type(self.endian) == elf::NoteType(KIND) {
                    return Ok(Some(note.desc()));
                }
            }
        }
        Ok(None)
    }
}

struct DynamicTable<'image, 'data> {
    image: &'image Image<'data>,
    entries: &'data [Dynamic],
    strings: StringTable<'data>,
}

impl<'image, 'data> DynamicTable<'image, 'data> {
    fn read(image: &'image Image<'data>) -> Result<Self, LoadErrorKind> {
        for segment in image.segments {
            if let Some(entries) = segment.dynamic(image.endian, image.data).map_err(damaged)? {
                let mut table = Self { image, entries, strings: StringTable::default() };
                let strings = table.address(elf::DT_STRTAB, "string table")?;
                let length = strings.len().min(table.value(elf::DT_STRSZ).unwrap_or(0) as usize);
                table.strings = StringTable::new(strings, 0, length as u64);
                return Ok(table);
            }
        }
        Err(LoadErrorKind::NotALibrary { what: "a static program".to_owned() })
    }

    fn entries(&self) -> impl Iterator<Item = (elf::DynamicTag, u64)> {
        let endian = self.image.endian;
        self.entries
            .iter()
            .map(move |entry| (entry.tag(endian), entry.val(endian)))
            .take_while(|(tag, _)| *tag != elf::DT_NULL)
    }

    fn value(&self, wanted: elf::DynamicTag) -> Option<u64> {
        self.entries().find(|(tag, _)| *tag == wanted).map(|(_, value)| value)
    }

    fn address(&self, tag: elf::DynamicTag, what: &str) -> Result<&'data [u8], LoadErrorKind> {
        self.value(tag)
            .and_then(|address| self.image.at(address))
            .ok_or_else(|| damaged(format!("its dynamic {what} is not in the file")))
    }

    fn text(&self, offset: u64) -> Result<String, LoadErrorKind> {
        let bytes = u32::try_from(offset).ok().and_then(|offset| self.strings.get(offset).ok());
        let bytes = bytes.ok_or_else(|| damaged("a name in its dynamic table is not in the file"))?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    fn linkage(&self) -> Result<Linkage, LoadErrorKind> {
        let mut linkage = Linkage::default();
        for (tag, value) in self.entries() {
            match tag {
                elf::DT_NEEDED => linkage.needed.push(self.text(value)?),
                elf::DT_SONAME => linkage.soname = Some(self.text(value)?),
                elf::DT_RPATH | elf::DT_RUNPATH => {
                    linkage.search.extend(self.text(value)?.split(':').map(str::to_owned));
                }
                _ => {}
            }
        }
        Ok(linkage)
    }

    /// Whether a defined object of at least this size is exported under the name.
    fn exports(&self, name: &str, size: u64) -> Result<bool, LoadErrorKind> {
        let endian = self.image.endian;
        let table = self.address(elf::DT_SYMTAB, "symbol table")?;
        let symbols = table
            .read_slice_at::<Symbol>(0, self.symbol_count()?)
            .map_err(|()| damaged("its dynamic symbol table is not in the file"))?;
        Ok(symbols.iter().any(|symbol| {
            symbol.name(endian, self.strings) == Ok(name.as_bytes())
                && symbol.is_definition(endian, self.strings)
                && symbol.st_size(endian) >= size
                // Its bytes, not only its room: what lies beyond the file is zeros, and no header.
                && self.image.at(symbol.st_value(endian)).is_some_and(|bytes| bytes.len() as u64 >= size)
        }))
    }

    fn symbol_count(&self) -> Result<usize, LoadErrorKind> {
        let endian = self.image.endian;
        let count = if self.value(elf::DT_GNU_HASH).is_some() {
            let hash = self.address(elf::DT_GNU_HASH, "hash table")?;
            // An empty table has no length: then nothing is exported.
            GnuHashTable::<Header>::parse(endian, hash).map_err(damaged)?.symbol_table_length(endian).unwrap_or(0)
        } else {
            let hash = self.address(elf::DT_HASH, "hash table")?;
            HashTable::<Header>::parse(endian, hash).map_err(damaged)?.symbol_table_length()
        };
        Ok(count as usize)
    }
}
