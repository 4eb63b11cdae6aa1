//! The symbols that a library exports and asks for, and the tables by which they are looked up.

use object::elf::{self, GnuHashHeader, HashHeader};
use object::read::elf::Sym;
use object::{Endianness, ReadRef, U32, U64};

use super::dynamic::{Dynamic, SYMBOL_SIZE};
use super::{Image, Symbol, relocations};
use crate::LoadErrorKind;
use crate::inspect::damaged;

type Word = U32<Endianness>;

pub(super) struct Symbols<'data> {
    endian: Endianness,
    table: &'data [Symbol],
    strings: &'data [u8],
}

impl<'data> Symbols<'data> {
    pub(super) fn read(image: &Image<'data>, dynamic: &Dynamic<'_, 'data>) -> Result<Self, LoadErrorKind> {
        let table = dynamic.value(elf::DT_SYMTAB).ok_or_else(|| damaged("it has no dynamic symbol table"))?;
        if dynamic.value(elf::DT_SYMENT) != Some(SYMBOL_SIZE) {
            return Err(damaged("its dynamic symbol table has entries of another size than this machine's"));
        }
        let count = match hashed_symbols(image, dynamic)? {
            // Whatever else is asked for stands before what is exported.
            Some(count) => count,
            None => relocations::symbols_named(image, dynamic)?,
        };
        let bytes = count.checked_mul(SYMBOL_SIZE).and_then(|size| image.bytes(table, size));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let table = bytes.and_then(|bytes| bytes.read_slice_at::<Symbol>(0, count).ok());
        let table = table.ok_or_else(|| damaged("its dynamic symbol table is not in the file"))?;
        let symbols = Self { endian: image.endian, table, strings: dynamic.strings() };
        symbols.check(image)?;
        Ok(symbols)
    }

    pub(super) fn count(&self) -> u64 {
        self.table.len() as u64
    }

    pub(super) fn get(&self, index: u32) -> Option<&'data Symbol> {
        self.table.get(index as usize)
    }

    fn name(&self, symbol: &Symbol) -> Option<&'data [u8]> {
        self.strings.get(symbol.st_name(self.endian) as usize..)
    }

    /// Whether a defined object of at least this size is exported under the name.
    pub(super) fn exports(&self, image: &Image<'_>, name: &str, size: u64) -> bool {
        let is_named = |symbol: &Symbol| {
            let rest = self.name(symbol).and_then(|rest| rest.strip_prefix(name.as_bytes()));
            rest.is_some_and(|rest| rest.first() == Some(&0))
        };
        self.table.iter().any(|symbol| {
            is_named(symbol)
                && is_exported(symbol, self.endian)
                && symbol.st_size(self.endian) >= size
                // Its bytes, not only its room: what lies beyond the file is zeros, and no header.
                && image.bytes(symbol.st_value(self.endian), size).is_some()
        })
    }

    fn check(&self, image: &Image<'_>) -> Result<(), LoadErrorKind> {
        for (at, symbol) in self.table.iter().enumerate().skip(1) {
            let wrong = |what: &str| Err(damaged(format!("its dynamic symbol {at} {what}")));
            if self.name(symbol).is_none() {
                return wrong("has a name that is not in the file");
            }
            let section = symbol.st_shndx(self.endian).0;
            if section == elf::SHN_UNDEF.0 || section >= elf::SHN_LORESERVE {
                continue;
            }
            let value = symbol.st_value(self.endian);
            match symbol.st_type() {
                // The system's loader runs it to learn the address.
                elf::STT_GNU_IFUNC if !image.is_code(value) => return wrong("chooses an address and is no code"),
                elf::STT_TLS => {}
                _ if !image.spans(value) => return wrong("lies outside of the library"),
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_exported(symbol: &Symbol, endian: Endianness) -> bool {
    symbol.st_shndx(endian) != elf::SHN_UNDEF
        && matches!(symbol.st_bind(), elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE)
        && matches!(symbol.st_type(), elf::STT_OBJECT | elf::STT_NOTYPE)
}

/// How many symbols the tables for looking them up know of. `None` where they know of none.
fn hashed_symbols(image: &Image<'_>, dynamic: &Dynamic<'_, '_>) -> Result<Option<u64>, LoadErrorKind> {
    let missing = || damaged("its hash table is not in the file");
    let rest = |address| image.rest(address).ok_or_else(missing);
    let gnu = dynamic.value(elf::DT_GNU_HASH).map(rest).transpose()?;
    let old = dynamic.value(elf::DT_HASH).map(rest).transpose()?;
    if gnu.is_none() && old.is_none() {
        return Err(damaged("it has no hash table of its symbols"));
    }
    let gnu = gnu.map(|table| gnu_hash(image.endian, table).unwrap_or_else(|| Err(missing()))).transpose()?;
    let old = old.map(|table| old_hash(image.endian, table).unwrap_or_else(|| Err(missing()))).transpose()?;
    Ok(gnu.flatten().or(old))
}

/// The number of symbols by a GNU hash table, all of whose chains end; `None` where it ends too early.
fn gnu_hash(endian: Endianness, table: &[u8]) -> Option<Result<Option<u64>, LoadErrorKind>> {
    let mut offset = 0;
    let header = table.read::<GnuHashHeader<Endianness>>(&mut offset).ok()?;
    let (buckets, filters) = (header.bucket_count.get(endian), header.bloom_count.get(endian));
    let first = header.symbol_base.get(endian);
    if buckets == 0 || !filters.is_power_of_two() || header.bloom_shift.get(endian) >= u32::BITS {
        return Some(Err(damaged("its hash table has an impossible size")));
    }
    table.read_slice::<U64<Endianness>>(&mut offset, filters as usize).ok()?;
    let buckets = table.read_slice::<Word>(&mut offset, buckets as usize).ok()?;
    let chains = table.get(usize::try_from(offset).ok()?..)?;
    let chains = chains.read_slice_at::<Word>(0, chains.len() / size_of::<Word>()).ok()?;
    let starts = || buckets.iter().map(|bucket| bucket.get(endian)).filter(|start| *start != 0);
    if starts().any(|start| start < first) {
        return Some(Err(damaged("its hash table leads out of itself")));
    }
    // A chain goes on to the next mark of an end: once the last one has its own, all have one.
    let Some(last) = starts().max() else { return Some(Ok(None)) };
    let length = chains.get((last - first) as usize..)?.iter().position(|link| link.get(endian) & 1 == 1)?;
    Some(Ok(Some(u64::from(last) + length as u64 + 1)))
}

/// The same by a table of the old kind, in whose chains nothing may come twice.
fn old_hash(endian: Endianness, table: &[u8]) -> Option<Result<u64, LoadErrorKind>> {
    let mut offset = 0;
    let header = table.read::<HashHeader<Endianness>>(&mut offset).ok()?;
    let buckets = table.read_slice::<Word>(&mut offset, header.bucket_count.get(endian) as usize).ok()?;
    let chains = table.read_slice::<Word>(&mut offset, header.chain_count.get(endian) as usize).ok()?;
    let mut seen = vec![false; chains.len()];
    for bucket in buckets {
        let mut at = bucket.get(endian);
        while at != 0 {
            match seen.get_mut(at as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return Some(Err(damaged("its hash table leads out of itself"))),
            }
            at = chains[at as usize].get(endian);
        }
    }
    Some(Ok(chains.len() as u64))
}
