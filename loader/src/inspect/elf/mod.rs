//! ELF by its program headers, as the system's loader reads it: section headers may be stripped or zeroed.
//!
//! The system's loader trusts a file: a wrong number in one of its tables ends the process, by a signal or by an
//! assertion. Everything that it goes by is checked here first. What cannot be checked is whether a number that fits
//! is the right one.

mod dynamic;
mod linkage;
mod relocations;
mod sections;
mod segments;
mod symbols;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
mod types;
mod versions;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Architecture, Endianness};
use toolhost_abi::note::{HEADER_SIZE, KIND, OWNER, SYMBOL};

use self::dynamic::Dynamic;
use self::segments::Load;
use self::symbols::Symbols;
use self::versions::Versions;
use super::{Facts, LibcFlavour, damaged, kind};
use crate::LoadErrorKind;

pub(super) use self::linkage::of_file;

type Header = FileHeader64<Endianness>;
type Segment = <Header as FileHeader>::ProgramHeader;
type Symbol = <Header as FileHeader>::Sym;

/// Reads a library, and checks what the system's loader will go by. What was found before a refusal stays in the facts.
pub(super) fn parse<'data>(data: &'data [u8], facts: &mut Facts<'data>) -> Result<(), LoadErrorKind> {
    let header = Header::parse(data).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    facts.machine = Some(machine(header, endian));
    check_platform(header, endian)?;
    let image = Image::read(header, endian, data)?;
    facts.segments = Some(image.segments.len());
    facts.sections = Some(sections::check(&image, header)?);
    let dynamic = Dynamic::read(&image)?;
    facts.linkage = dynamic.linkage()?;
    facts.static_tls = Some(dynamic.has_static_tls());
    facts.constructors = Some(dynamic.constructors());
    facts.libc = libc_flavour(&image, &facts.linkage.needed);
    facts.note = image.note()?;
    segments::check(&image, header)?;
    dynamic.check()?;
    sections::check_calls(&image, header, &dynamic)?;
    let symbols = Symbols::read(&image, &dynamic)?;
    facts.exports_entry = Some(symbols.exports(&image, SYMBOL, HEADER_SIZE as u64));
    let versions = Versions::read(&image, &dynamic)?;
    facts.glibc = versions.glibc();
    if facts.libc.is_none() && facts.glibc.is_some() {
        facts.libc = Some(LibcFlavour::Gnu);
    }
    versions.check(&image, &dynamic, symbols.count(), &facts.linkage.needed)?;
    relocations::check(&image, &dynamic, &symbols)
}

fn machine(header: &Header, endian: Endianness) -> String {
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
    let order = if endian == Endianness::Big { " (big-endian)" } else { "" };
    format!("{}{order}", kind::machine(machine))
}

fn check_platform(header: &Header, endian: Endianness) -> Result<(), LoadErrorKind> {
    let machine = machine(header, endian);
    let order = if cfg!(target_endian = "big") { " (big-endian)" } else { "" };
    if machine != format!("{}{order}", std::env::consts::ARCH) {
        let found = kind::on_machine("Linux", &machine);
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

/// The C library that a file was linked with, by the names that only one of them has.
fn libc_flavour(image: &Image<'_>, needed: &[String]) -> Option<LibcFlavour> {
    if needed.iter().any(|name| name == "libc.so.6") {
        return Some(LibcFlavour::Gnu);
    }
    let of_musl = |name: &str| name == "libc.so" || name.starts_with("libc.musl-") || name.starts_with("ld-musl-");
    if needed.iter().any(|name| of_musl(name)) {
        return Some(LibcFlavour::Musl);
    }
    let interpreter =
        image.segments.iter().find_map(|segment| segment.interpreter(image.endian, image.data).ok()?)?;
    let name = interpreter.rsplit(|&byte| byte == b'/').next()?;
    if name.starts_with(b"ld-musl-") {
        return Some(LibcFlavour::Musl);
    }
    name.starts_with(b"ld-linux").then_some(LibcFlavour::Gnu)
}

/// A file as it will lie in memory.
struct Image<'data> {
    endian: Endianness,
    machine: elf::Machine,
    segments: &'data [Segment],
    /// What is mapped, by ascending address.
    loads: Vec<Load>,
    data: &'data [u8],
}

impl<'data> Image<'data> {
    fn read(header: &Header, endian: Endianness, data: &'data [u8]) -> Result<Self, LoadErrorKind> {
        let segments = header.program_headers(endian, data).map_err(damaged)?;
        let loads = segments::loads(endian, segments, data)?;
        Ok(Self { endian, machine: header.e_machine(endian), segments, loads, data })
    }

    fn of_type(&self, wanted: elf::ProgramType) -> impl Iterator<Item = &'data Segment> {
        let endian = self.endian;
        self.segments.iter().filter(move |segment| segment.p_type(endian) == wanted)
    }

    /// The mapped segment that holds all of these addresses.
    fn load(&self, address: u64, size: u64) -> Option<&Load> {
        let end = address.checked_add(size)?;
        self.loads.iter().find(|load| load.start <= address && end <= load.end)
    }

    /// The bytes of the file at these addresses.
    fn bytes(&self, address: u64, size: u64) -> Option<&'data [u8]> {
        let load = self.load(address, size)?;
        let offset = usize::try_from(load.offset.checked_add(address - load.start)?).ok()?;
        let end = offset.checked_add(usize::try_from(size).ok()?)?;
        (address + size <= load.file_end).then(|| self.data.get(offset..end)).flatten()
    }

    /// The bytes from this address to the end of what its segment has in the file.
    fn rest(&self, address: u64) -> Option<&'data [u8]> {
        let load = self.loads.iter().find(|load| (load.start..load.file_end).contains(&address))?;
        self.bytes(address, load.file_end - address)
    }

    /// Whether an address can be that of something in the image, or of its end.
    fn spans(&self, address: u64) -> bool {
        let (first, last) = (self.loads.first(), self.loads.last());
        first.is_some_and(|load| load.start <= address) && last.is_some_and(|load| address <= load.end)
    }

    /// Whether code lies at an address.
    fn is_code(&self, address: u64) -> bool {
        self.loads.iter().any(|load| load.executable && (load.start..load.file_end).contains(&address))
    }

    fn note(&self) -> Result<Option<&'data [u8]>, LoadErrorKind> {
        let mut found = None;
        // All of them, since the system's loader reads the others.
        for segment in self.segments {
            let Some(mut notes) = segment.notes(self.endian, self.data).map_err(damaged)? else {
                continue;
            };
            while let Some(note) = notes.next().map_err(damaged)? {
                if note.name() == OWNER.as_bytes() && note.n_type(self.endian) == elf::NoteType(KIND) {
                    found = found.or(Some(note.desc()));
                }
            }
        }
        Ok(found)
    }
}
