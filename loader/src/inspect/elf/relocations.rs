//! Relocations: where the system's loader writes, and what.

use object::elf::{self, Rela64};
use object::read::elf::{ProgramHeader, Rela, Sym};
use object::{Endianness, ReadRef, U64};

use super::dynamic::{ADDRESS_SIZE, Dynamic, FINI, INIT, PLT, RELA, RELA_SIZE, RELR};
use super::symbols::Symbols;
use super::types::{self, Refers};
use super::{Image, Symbol};
use crate::LoadErrorKind;
use crate::inspect::damaged;

type Relocation = Rela64<Endianness>;

pub(super) fn check(image: &Image<'_>, dynamic: &Dynamic<'_, '_>, symbols: &Symbols<'_>) -> Result<(), LoadErrorKind> {
    let mut checked = Checked::new(image, dynamic, symbols)?;
    for (table, what) in [(RELA, "relocation"), (PLT, "relocated function")] {
        for (at, relocation) in relocations(dynamic, table)?.iter().enumerate() {
            checked.relocation(relocation).map_err(|why| damaged(format!("its {what} {at} {why}")))?;
        }
    }
    check_relative_count(image, dynamic)?;
    checked.packed(dynamic)?;
    checked.calls.iter().try_for_each(Calls::are_complete)
}

/// How many symbols the relocations know of, which are all that matter where nothing is exported.
pub(super) fn symbols_named(image: &Image<'_>, dynamic: &Dynamic<'_, '_>) -> Result<u64, LoadErrorKind> {
    let mut count = 0;
    for table in [RELA, PLT] {
        let highest = relocations(dynamic, table)?.iter().map(|each| each.r_sym(image.endian, false)).max();
        count = count.max(highest.map_or(0, |highest| u64::from(highest) + 1));
    }
    Ok(count)
}

fn relocations<'data>(
    dynamic: &Dynamic<'_, 'data>,
    table: super::dynamic::Table,
) -> Result<&'data [Relocation], LoadErrorKind> {
    let bytes = dynamic.table(table)?.unwrap_or_default();
    let count = bytes.len() / RELA_SIZE as usize;
    bytes.read_slice_at(0, count).map_err(|()| damaged("its relocations are not aligned"))
}

/// The first ones are taken for relative without a look at their type.
fn check_relative_count(image: &Image<'_>, dynamic: &Dynamic<'_, '_>) -> Result<(), LoadErrorKind> {
    let Some(count) = dynamic.value(elf::DT_RELACOUNT) else { return Ok(()) };
    let all = relocations(dynamic, RELA)?;
    let first = usize::try_from(count).ok().and_then(|count| all.get(..count));
    let is_relative = |relocation: &Relocation| {
        let kind = relocation.r_type(image.endian, false);
        types::effect(image.machine, kind)
            .is_some_and(|effect| matches!(effect.refers, Refers::Base | Refers::Unlisted))
    };
    if first.is_some_and(|first| first.iter().all(is_relative)) {
        return Ok(());
    }
    Err(damaged("fewer of its relocations are relative than it says"))
}

struct Checked<'a, 'data> {
    image: &'a Image<'data>,
    symbols: &'a Symbols<'data>,
    /// Where the dynamic table lies, which the loader reads while it relocates.
    table: (u64, u64),
    writes_anywhere: bool,
    thread_local: Option<u64>,
    calls: [Calls; 2],
}

impl<'a, 'data> Checked<'a, 'data> {
    fn new(
        image: &'a Image<'data>,
        dynamic: &Dynamic<'_, '_>,
        symbols: &'a Symbols<'data>,
    ) -> Result<Self, LoadErrorKind> {
        let endian = image.endian;
        let table = image.of_type(elf::PT_DYNAMIC).next().map(|table| {
            let start = table.p_vaddr(endian);
            (start, start.saturating_add(table.p_memsz(endian)))
        });
        let thread_local = image.of_type(elf::PT_TLS).next().map(|segment| segment.p_memsz(endian));
        let calls = |table, what| Ok(Calls::new(dynamic.range(table)?.unwrap_or_default(), what));
        Ok(Self {
            image,
            symbols,
            table: table.unwrap_or_default(),
            writes_anywhere: dynamic.relocates_text(),
            thread_local: thread_local.filter(|size| *size > 0),
            calls: [calls(INIT, "constructor")?, calls(FINI, "destructor")?],
        })
    }

    fn relocation(&mut self, relocation: &Relocation) -> Result<(), &'static str> {
        let endian = self.image.endian;
        let kind = relocation.r_type(endian, false);
        let effect = types::effect(self.image.machine, kind).ok_or("is of a type that belongs in no library")?;
        if effect.refers == Refers::Nothing {
            return Ok(());
        }
        let symbol = self.symbols.get(relocation.r_sym(endian, false));
        let symbol = match relocation.r_sym(endian, false) {
            0 => None,
            _ => Some(symbol.ok_or("names a symbol that is not there")?),
        };
        let (place, addend) = (relocation.r_offset(endian), relocation.r_addend(endian).cast_unsigned());
        self.writes(place, effect.width)?;
        let calls = match effect.refers {
            Refers::Base if !self.image.spans(addend) => return Err("points out of the library"),
            Refers::Base => self.image.is_code(addend),
            Refers::Resolver if !self.image.is_code(addend) => return Err("is chosen by what is no code"),
            Refers::Symbol => symbol.is_some_and(|symbol| self.may_be_called(symbol, addend)),
            Refers::ThreadLocal | Refers::Module => return self.is_thread_local(symbol, effect.refers, addend),
            Refers::Resolver | Refers::Unlisted | Refers::Nothing => true,
        };
        self.calls.iter_mut().try_for_each(|list| list.fill(place, effect.width, calls))
    }

    fn writes(&self, place: u64, width: u64) -> Result<(), &'static str> {
        let (start, end) = self.table;
        if place < end && start < place.saturating_add(width) {
            return Err("changes the table that says where it is");
        }
        match self.image.load(place, width) {
            Some(load) if load.writable || self.writes_anywhere => Ok(()),
            Some(_) => Err("changes what cannot be written"),
            None => Err("changes what is not in the library"),
        }
    }

    fn may_be_called(&self, symbol: &Symbol, addend: u64) -> bool {
        let endian = self.image.endian;
        let defined = symbol.st_shndx(endian) != elf::SHN_UNDEF;
        !defined || self.image.is_code(symbol.st_value(endian).wrapping_add(addend))
    }

    fn is_thread_local(&self, symbol: Option<&Symbol>, refers: Refers, addend: u64) -> Result<(), &'static str> {
        match (symbol, self.thread_local) {
            (Some(symbol), _) if symbol.st_type() != elf::STT_TLS => Err("wants a symbol to be thread-local"),
            (Some(symbol), None) if symbol.st_shndx(self.image.endian) == elf::SHN_UNDEF => Ok(()),
            (_, None) => Err("wants thread-local memory, of which the library has none"),
            (None, Some(size)) if refers == Refers::ThreadLocal && addend > size => {
                Err("points out of the library's thread-local memory")
            }
            _ => Ok(()),
        }
    }

    /// Relative relocations, packed as addresses and bitmaps, whose addends lie where they are applied.
    fn packed(&mut self, dynamic: &Dynamic<'_, 'data>) -> Result<(), LoadErrorKind> {
        const BITS: u64 = u64::BITS as u64 - 1;
        let bytes = dynamic.table(RELR)?.unwrap_or_default();
        let words = bytes.read_slice_at::<U64<Endianness>>(0, bytes.len() / ADDRESS_SIZE as usize);
        let words = words.map_err(|()| damaged("its packed relocations are not aligned"))?;
        let wrong = |what: &str| damaged(format!("a packed relocation of it {what}"));
        let mut next = None;
        for word in words {
            let word = word.get(self.image.endian);
            if word & 1 == 0 {
                self.packed_at(word).map_err(wrong)?;
                next = word.checked_add(ADDRESS_SIZE);
                continue;
            }
            let first = next.ok_or_else(|| wrong("does not say where it is"))?;
            for bit in (0..BITS).filter(|bit| word >> (bit + 1) & 1 == 1) {
                self.packed_at(first.saturating_add(bit * ADDRESS_SIZE)).map_err(wrong)?;
            }
            next = first.checked_add(BITS * ADDRESS_SIZE);
        }
        Ok(())
    }

    fn packed_at(&mut self, place: u64) -> Result<(), &'static str> {
        self.writes(place, ADDRESS_SIZE)?;
        let bytes = self.image.bytes(place, ADDRESS_SIZE);
        let addend = bytes.and_then(|bytes| bytes.read_at::<U64<Endianness>>(0).ok());
        let addend = addend.map_or(0, |addend| addend.get(self.image.endian));
        if !self.image.spans(addend) {
            return Err("points out of the library");
        }
        let code = self.image.is_code(addend);
        self.calls.iter_mut().try_for_each(|list| list.fill(place, ADDRESS_SIZE, code))
    }
}

/// A list of functions that the system's loader calls. Each entry needs a relocation that makes it an address of code.
struct Calls {
    what: &'static str,
    start: u64,
    filled: Vec<bool>,
}

impl Calls {
    /// The range lies within the file, which bounds it.
    fn new((start, size): (u64, u64), what: &'static str) -> Self {
        let count = usize::try_from(size / ADDRESS_SIZE).unwrap_or_default();
        Self { what, start, filled: vec![false; count] }
    }

    /// Takes what a relocation writes, whether it can be called or not.
    fn fill(&mut self, place: u64, width: u64, callable: bool) -> Result<(), &'static str> {
        let end = self.start.saturating_add(self.filled.len() as u64 * ADDRESS_SIZE);
        if place >= end || place.saturating_add(width) <= self.start {
            return Ok(());
        }
        let at = place.checked_sub(self.start).filter(|at| at.is_multiple_of(ADDRESS_SIZE) && width == ADDRESS_SIZE);
        match at {
            Some(at) if callable => self.filled[(at / ADDRESS_SIZE) as usize] = true,
            _ => return Err("makes something else than code of what is called"),
        }
        Ok(())
    }

    fn are_complete(&self) -> Result<(), LoadErrorKind> {
        match self.filled.iter().position(|filled| !filled) {
            Some(at) => Err(damaged(format!("its {} {at} has no address", self.what))),
            None => Ok(()),
        }
    }
}
