//! Damaged copies of a file.

use std::collections::BTreeSet;
use std::ops::Range;

use object::Endianness;
use object::elf::{DT_FINI, DT_INIT, FileHeader64, PT_DYNAMIC};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};

/// A copy of a file, by what was done to it.
pub(super) struct Damaged {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Damaged {
    pub(super) fn cut(original: &[u8], length: usize) -> Self {
        Self { name: format!("cut {length}"), bytes: original[..length].to_owned() }
    }

    pub(super) fn zeroed(original: &[u8], from: usize) -> Self {
        let mut bytes = original.to_owned();
        bytes[from..].fill(0);
        Self { name: format!("zeroed {from}"), bytes }
    }

    pub(super) fn flipped(original: &[u8], bit: u64) -> Self {
        let mut bytes = original.to_owned();
        bytes[(bit / 8) as usize] ^= 1 << (bit % 8);
        Self { name: format!("flipped {bit}"), bytes }
    }
}

/// The bit that was flipped in a file of this name, whatever follows it.
pub(super) fn bit_of(name: &str) -> u64 {
    let digits = name.trim_start_matches("flipped ").split(':').next().unwrap();
    digits.parse().unwrap()
}

/// Numbers that are the same at every run: SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// A part of a file.
pub(super) struct Region {
    pub(super) name: String,
    bytes: Range<u64>,
}

impl Region {
    /// What the system's loader goes by: headers, the dynamic table, and the tables for looking up symbols.
    pub(super) fn of_loader(file: &[u8]) -> Vec<Self> {
        let header = FileHeader64::<Endianness>::parse(file).unwrap();
        let endian = header.endian().unwrap();
        let segments = header.program_headers(endian, file).unwrap();
        let start = header.e_phoff(endian);
        let headers = Self { name: "segments".to_owned(), bytes: start..start + size_of_val(segments) as u64 };
        let dynamic = segments.iter().find(|segment| segment.p_type(endian) == PT_DYNAMIC).unwrap();
        let (start, size) = dynamic.file_range(endian);
        let dynamic = Self { name: "dynamic table".to_owned(), bytes: start..start + size };
        let elf = Self { name: "header".to_owned(), bytes: 0..size_of_val(header) as u64 };
        let sections = [".gnu.hash", ".gnu.version", ".gnu.version_r"].map(|name| Self::section(file, name));
        [elf, headers, dynamic].into_iter().chain(sections).collect()
    }

    /// Addresses that the plugin's own code goes by.
    pub(super) fn of_addresses(file: &[u8]) -> Vec<Self> {
        [".dynsym", ".rela.dyn", ".rela.plt"].map(|name| Self::section(file, name)).into()
    }

    /// The two addresses of code in the dynamic table: every other one of code fits as well.
    pub(super) fn of_calls(file: &[u8]) -> Vec<Self> {
        let header = FileHeader64::<Endianness>::parse(file).unwrap();
        let endian = header.endian().unwrap();
        let segments = header.program_headers(endian, file).unwrap();
        let dynamic = segments.iter().find(|segment| segment.p_type(endian) == PT_DYNAMIC).unwrap();
        let entries = dynamic.dynamic(endian, file).unwrap().unwrap();
        let size = size_of_val(&entries[0]) as u64;
        let calls = (0..).zip(entries).filter(|(_, entry)| [DT_INIT, DT_FINI].contains(&entry.tag(endian)));
        let value =
            |at: u64| dynamic.p_offset(endian) + at * size + size / 2..dynamic.p_offset(endian) + (at + 1) * size;
        calls.map(|(at, _)| Self { name: "entry point".to_owned(), bytes: value(at) }).collect()
    }

    fn section(file: &[u8], name: &str) -> Self {
        let header = FileHeader64::<Endianness>::parse(file).unwrap();
        let endian = header.endian().unwrap();
        let sections = header.sections(endian, file).unwrap();
        let (_, section) = sections.section_by_name(endian, name.as_bytes()).unwrap();
        let (start, size) = section.file_range(endian).unwrap();
        Self { name: name.to_owned(), bytes: start..start + size }
    }

    /// A whole file.
    pub(super) fn whole(file: &[u8]) -> Self {
        Self { name: "flipped".to_owned(), bytes: 0..file.len() as u64 }
    }

    pub(super) fn holds(&self, bit: u64) -> bool {
        self.bytes.contains(&(bit / 8))
    }

    /// Some of its bits, each once.
    pub(super) fn some_bits(&self, random: &mut Random, count: usize) -> BTreeSet<u64> {
        let Range { start, end } = self.bits();
        let count = count.min((end - start) as usize);
        let mut bits = BTreeSet::new();
        while bits.len() < count {
            bits.insert(start + random.below(end - start));
        }
        bits
    }

    pub(super) fn bits(&self) -> Range<u64> {
        self.bytes.start * 8..self.bytes.end * 8
    }
}
