//! Versions of symbols: which ones a library asks others for, and which it defines.

use object::elf::{self, Verdaux, Verdef, Vernaux, Verneed};
use object::{Endianness, Pod, ReadRef, U16};

use super::Image;
use super::dynamic::Dynamic;
use crate::LoadErrorKind;
use crate::inspect::{GlibcVersion, damaged};

/// As many as an index can tell apart.
const MOST: usize = 0x8000;
/// Indexes of symbols without a version.
const LOCAL_AND_GLOBAL: u16 = 1;

pub(super) struct Versions<'data> {
    /// By index, whether there is such a version; empty where the library knows none.
    known: Vec<bool>,
    /// The libraries that versions are asked of.
    files: Vec<&'data [u8]>,
    glibc: Option<GlibcVersion>,
}

impl<'data> Versions<'data> {
    pub(super) fn read(image: &Image<'data>, dynamic: &Dynamic<'_, 'data>) -> Result<Self, LoadErrorKind> {
        let mut versions = Self { known: Vec::new(), files: Vec::new(), glibc: None };
        let table = |address, count, what: &str| {
            let bytes = match (dynamic.value(address), dynamic.value(count)) {
                (None, None) => return Ok(None),
                (Some(address), Some(_)) => image.rest(address),
                _ => None,
            };
            bytes.map(Some).ok_or_else(|| damaged(format!("its table of {what} versions is not in the file")))
        };
        if let Some(bytes) = table(elf::DT_VERNEED, elf::DT_VERNEEDNUM, "needed")? {
            versions
                .read_needed(image.endian, bytes, dynamic)
                .ok_or_else(|| damaged("its needed versions lead out of the file"))?;
        }
        if let Some(bytes) = table(elf::DT_VERDEF, elf::DT_VERDEFNUM, "defined")? {
            versions
                .read_defined(image.endian, bytes, dynamic)
                .ok_or_else(|| damaged("its defined versions lead out of the file"))?;
        }
        Ok(versions)
    }

    /// The newest version of glibc that is asked for.
    pub(super) fn glibc(&self) -> Option<GlibcVersion> {
        self.glibc
    }

    fn read_needed(&mut self, endian: Endianness, bytes: &'data [u8], dynamic: &Dynamic<'_, 'data>) -> Option<()> {
        let mut budget = MOST;
        let mut at = 0;
        loop {
            let need = entry::<Verneed<Endianness>>(bytes, at, &mut budget)?;
            if need.vn_version.get(endian) != elf::VER_NEED_CURRENT {
                return None;
            }
            self.files.push(dynamic.text(u64::from(need.vn_file.get(endian)))?);
            let mut part_at = at.checked_add(u64::from(need.vn_aux.get(endian)))?;
            loop {
                let part = entry::<Vernaux<Endianness>>(bytes, part_at, &mut budget)?;
                self.learn(part.vna_other.get(endian).0);
                let name = dynamic.text(u64::from(part.vna_name.get(endian)))?;
                if part.vna_flags.get(endian).0 & elf::VER_FLG_WEAK.0 == 0 {
                    self.glibc = self.glibc.max(GlibcVersion::of_symbols(name));
                }
                match part.vna_next.get(endian) {
                    0 => break,
                    next => part_at = part_at.checked_add(u64::from(next))?,
                }
            }
            match need.vn_next.get(endian) {
                0 => return Some(()),
                next => at = at.checked_add(u64::from(next))?,
            }
        }
    }

    fn read_defined(&mut self, endian: Endianness, bytes: &'data [u8], dynamic: &Dynamic<'_, 'data>) -> Option<()> {
        let mut budget = MOST;
        let mut at = 0;
        loop {
            let defined = entry::<Verdef<Endianness>>(bytes, at, &mut budget)?;
            if defined.vd_version.get(endian) != elf::VER_DEF_CURRENT {
                return None;
            }
            self.learn(defined.vd_ndx.get(endian).0);
            let name_at = at.checked_add(u64::from(defined.vd_aux.get(endian)))?;
            let name = entry::<Verdaux<Endianness>>(bytes, name_at, &mut budget)?;
            dynamic.text(u64::from(name.vda_name.get(endian)))?;
            match defined.vd_next.get(endian) {
                0 => return Some(()),
                next => at = at.checked_add(u64::from(next))?,
            }
        }
    }

    fn learn(&mut self, index: u16) {
        let index = usize::from(index) % MOST;
        if self.known.len() <= index {
            self.known.resize(index + 1, false);
        }
        self.known[index] = true;
    }

    /// Checks that every symbol has a version that is known, and that what versions are asked of is needed.
    pub(super) fn check(
        &self,
        image: &Image<'_>,
        dynamic: &Dynamic<'_, '_>,
        symbols: u64,
        needed: &[String],
    ) -> Result<(), LoadErrorKind> {
        // Whatever else a process has, it has these.
        let is_there = |file: &[u8]| file == b"libc.so.6" || file.starts_with(b"ld-");
        let is_needed = |file: &[u8]| needed.iter().any(|name| name.as_bytes() == file);
        if let Some(file) = self.files.iter().find(|file| !is_needed(file) && !is_there(file)) {
            let file = String::from_utf8_lossy(file);
            return Err(damaged(format!("it wants versions of {file}, which it does not need")));
        }
        if self.known.is_empty() {
            return Ok(());
        }
        let size = symbols.saturating_mul(size_of::<u16>() as u64);
        let bytes = dynamic.value(elf::DT_VERSYM).and_then(|address| image.bytes(address, size));
        let count = usize::try_from(symbols).unwrap_or(usize::MAX);
        let indexes = bytes.and_then(|bytes| bytes.read_slice_at::<U16<Endianness>>(0, count).ok());
        let indexes = indexes.ok_or_else(|| damaged("its table of the symbols' versions is not in the file"))?;
        let unknown = |index: &U16<Endianness>| {
            let index = index.get(image.endian) & elf::VERSYM_VERSION;
            index > LOCAL_AND_GLOBAL && !self.known.get(usize::from(index)).is_some_and(|known| *known)
        };
        match indexes.iter().position(unknown) {
            Some(at) => Err(damaged(format!("its dynamic symbol {at} has an unknown version"))),
            None => Ok(()),
        }
    }
}

/// An entry of a chained table. `None` where it is not in the file, or where there were too many already.
fn entry<'data, T: Pod>(bytes: &'data [u8], at: u64, budget: &mut usize) -> Option<&'data T> {
    *budget = budget.checked_sub(1)?;
    bytes.read_at::<T>(at).ok()
}
