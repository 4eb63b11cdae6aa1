//! The dynamic table, by which the system's loader finds every other.

use std::collections::HashMap;

use object::elf::{self, DynamicTag};
use object::read::elf::{Dyn, ProgramHeader};

use super::Image;
use crate::LoadErrorKind;
use crate::inspect::{Linkage, damaged};

/// Entries of a table of relocations with addends, of one without, and of one of addresses.
pub(super) const RELA_SIZE: u64 = 24;
const REL_SIZE: u64 = 16;
pub(super) const ADDRESS_SIZE: u64 = 8;
pub(super) const SYMBOL_SIZE: u64 = 24;

/// A table that the dynamic table describes by its address and its size in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table {
    pub(super) what: &'static str,
    address: DynamicTag,
    size: DynamicTag,
    /// What says how large an entry is, if anything does, and what it has to say.
    entry: Option<DynamicTag>,
    entry_size: u64,
}

impl Table {
    const fn new(
        what: &'static str,
        address: DynamicTag,
        size: DynamicTag,
        entry: Option<DynamicTag>,
        entry_size: u64,
    ) -> Self {
        Self { what, address, size, entry, entry_size }
    }
}

pub(super) const STRINGS: Table = Table::new("string table", elf::DT_STRTAB, elf::DT_STRSZ, None, 1);
pub(super) const RELA: Table =
    Table::new("relocation table", elf::DT_RELA, elf::DT_RELASZ, Some(elf::DT_RELAENT), RELA_SIZE);
pub(super) const PLT: Table =
    Table::new("table of relocated functions", elf::DT_JMPREL, elf::DT_PLTRELSZ, None, RELA_SIZE);
pub(super) const RELR: Table =
    Table::new("packed relocation table", elf::DT_RELR, elf::DT_RELRSZ, Some(elf::DT_RELRENT), ADDRESS_SIZE);
const REL: Table = Table::new("short relocation table", elf::DT_REL, elf::DT_RELSZ, Some(elf::DT_RELENT), REL_SIZE);
pub(super) const INIT: Table =
    Table::new("list of constructors", elf::DT_INIT_ARRAY, elf::DT_INIT_ARRAYSZ, None, ADDRESS_SIZE);
pub(super) const FINI: Table =
    Table::new("list of destructors", elf::DT_FINI_ARRAY, elf::DT_FINI_ARRAYSZ, None, ADDRESS_SIZE);
const PREINIT: Table =
    Table::new("list of early constructors", elf::DT_PREINIT_ARRAY, elf::DT_PREINIT_ARRAYSZ, None, ADDRESS_SIZE);

/// Entries that may stand there more than once.
const REPEATED: [DynamicTag; 5] = [elf::DT_NEEDED, elf::DT_AUXILIARY, elf::DT_FILTER, elf::DT_AUDIT, elf::DT_DEPAUDIT];
/// Entries whose value is the place of a string.
const STRING_ENTRIES: [DynamicTag; 9] = [
    elf::DT_NEEDED,
    elf::DT_SONAME,
    elf::DT_RPATH,
    elf::DT_RUNPATH,
    elf::DT_AUXILIARY,
    elf::DT_FILTER,
    elf::DT_CONFIG,
    elf::DT_AUDIT,
    elf::DT_DEPAUDIT,
];

pub(super) struct Dynamic<'image, 'data> {
    image: &'image Image<'data>,
    entries: Vec<(DynamicTag, u64)>,
    values: HashMap<DynamicTag, u64>,
    strings: &'data [u8],
}

impl<'image, 'data> Dynamic<'image, 'data> {
    pub(super) fn read(image: &'image Image<'data>) -> Result<Self, LoadErrorKind> {
        let Some(segment) = image.of_type(elf::PT_DYNAMIC).next() else {
            return Err(LoadErrorKind::NotALibrary { what: "a static program".to_owned() });
        };
        let all = segment.dynamic(image.endian, image.data).map_err(damaged)?.unwrap_or_default();
        let mut entries: Vec<_> = all.iter().map(|entry| (entry.tag(image.endian), entry.val(image.endian))).collect();
        let end = entries.iter().position(|(tag, _)| *tag == elf::DT_NULL);
        let end = end.ok_or_else(|| damaged("its dynamic table does not end"))?;
        if entries[end..].iter().any(|(tag, _)| *tag != elf::DT_NULL) {
            return Err(damaged("its dynamic table ends before its last entry"));
        }
        entries.truncate(end);
        let mut values = HashMap::with_capacity(end);
        for (tag, value) in &entries {
            if values.insert(*tag, *value).is_some() && !REPEATED.contains(tag) {
                return Err(damaged(format!("its dynamic table has two entries with the tag {:#x}", tag.0)));
            }
        }
        let mut dynamic = Self { image, entries, values, strings: &[] };
        dynamic.strings = dynamic.table(STRINGS)?.ok_or_else(|| damaged("it has no dynamic string table"))?;
        if dynamic.strings.last() != Some(&0) {
            return Err(damaged("its dynamic string table does not end"));
        }
        Ok(dynamic)
    }

    pub(super) fn value(&self, tag: DynamicTag) -> Option<u64> {
        self.values.get(&tag).copied()
    }

    /// The strings, the last of which ends.
    pub(super) fn strings(&self) -> &'data [u8] {
        self.strings
    }

    /// The text that begins at this place of the strings.
    pub(super) fn text(&self, offset: u64) -> Option<&'data [u8]> {
        let rest = self.strings.get(usize::try_from(offset).ok()?..)?;
        rest.split(|&byte| byte == 0).next().filter(|_| !rest.is_empty())
    }

    /// The bytes of a table. `None` where there is no such table.
    pub(super) fn table(&self, table: Table) -> Result<Option<&'data [u8]>, LoadErrorKind> {
        let Some((address, size)) = self.range(table)? else { return Ok(None) };
        if size == 0 {
            return Ok(Some(&[]));
        }
        let bytes = self.image.bytes(address, size);
        Some(bytes.ok_or_else(|| damaged(format!("its {} is not in the file", table.what)))).transpose()
    }

    /// The address and the size of a table.
    pub(super) fn range(&self, table: Table) -> Result<Option<(u64, u64)>, LoadErrorKind> {
        let wrong = |what: &str| Err(damaged(format!("its {} {what}", table.what)));
        let (address, size) = match (self.value(table.address), self.value(table.size)) {
            (None, None) => return Ok(None),
            (Some(address), Some(size)) => (address, size),
            _ => return wrong("has an address or a size, and not both"),
        };
        if table.entry.is_some_and(|entry| self.value(entry) != Some(table.entry_size)) {
            return wrong("has entries of another size than this machine's");
        }
        if !size.is_multiple_of(table.entry_size) {
            return wrong("ends within an entry");
        }
        Ok(Some((address, size)))
    }

    pub(super) fn linkage(&self) -> Result<Linkage, LoadErrorKind> {
        let mut linkage = Linkage::default();
        for (tag, value) in &self.entries {
            if !STRING_ENTRIES.contains(tag) {
                continue;
            }
            let text = self.text(*value).ok_or_else(|| damaged("a name in its dynamic table is not in the file"))?;
            if *tag == elf::DT_NEEDED && text.is_empty() {
                return Err(damaged("it needs a library without a name"));
            }
            linkage.add(*tag, &String::from_utf8_lossy(text));
        }
        Ok(linkage)
    }

    pub(super) fn has_static_tls(&self) -> bool {
        let flags = self.value(elf::DT_FLAGS).unwrap_or(0);
        flags & elf::DF_STATIC_TLS.0 != 0
    }

    /// Whether relocations may change what cannot be written otherwise.
    pub(super) fn relocates_text(&self) -> bool {
        let flags = self.value(elf::DT_FLAGS).unwrap_or(0);
        self.value(elf::DT_TEXTREL).is_some() || flags & elf::DF_TEXTREL.0 != 0
    }

    /// How many functions run as the library is opened.
    pub(super) fn constructors(&self) -> u64 {
        let listed = self.value(elf::DT_INIT_ARRAYSZ).unwrap_or(0) / ADDRESS_SIZE;
        listed + u64::from(self.value(elf::DT_INIT).is_some())
    }

    /// Checks what no other part looks at.
    pub(super) fn check(&self) -> Result<(), LoadErrorKind> {
        for table in [REL, INIT, FINI, PREINIT] {
            self.table(table)?;
        }
        for (tag, what) in [(elf::DT_INIT, "constructor"), (elf::DT_FINI, "destructor")] {
            if self.value(tag).is_some_and(|address| !self.image.is_code(address)) {
                return Err(damaged(format!("its {what} is no code")));
            }
        }
        if self.value(elf::DT_JMPREL).is_some() && self.value(elf::DT_PLTREL) != Some(elf::DT_RELA.0 as u64) {
            return Err(damaged("its table of relocated functions is of an unknown kind"));
        }
        if let (Some((rela, size)), Some((plt, plt_size))) = (self.range(RELA)?, self.range(PLT)?)
            && (rela..rela.saturating_add(size)).contains(&plt)
            // They may be the last of the others.
            && rela.saturating_add(size) != plt.saturating_add(plt_size)
        {
            return Err(damaged("its table of relocated functions lies within the other relocations"));
        }
        if self.value(elf::DT_PLTGOT).is_some_and(|address| self.image.load(address, 0).is_none()) {
            return Err(damaged("its table of addresses is not in the file"));
        }
        Ok(())
    }
}
