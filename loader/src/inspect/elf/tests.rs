//! One damage at a time to a real file: this very program, which is laid out as a library is.

use std::sync::LazyLock;

use object::elf::{self, DynamicTag};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};

use super::{Header, Segment};

static REAL: LazyLock<Vec<u8>> = LazyLock::new(|| std::fs::read(std::env::current_exe().unwrap()).unwrap());

/// What is said of the file after this was done to it.
fn verdict(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = REAL.clone();
    damage(&mut bytes);
    match crate::inspect::library(&bytes) {
        Ok(_) => "sound".to_owned(),
        Err(error) => {
            assert_eq!(error.code(), "TH0203", "{error}");
            error.to_string().trim_start_matches("it is damaged: ").to_owned()
        }
    }
}

fn write(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
}

fn read(at: usize) -> u64 {
    u64::from_ne_bytes(REAL[at..at + 8].try_into().unwrap())
}

fn segments() -> (object::Endianness, &'static [Segment]) {
    let header = Header::parse(&**REAL).unwrap();
    let endian = header.endian().unwrap();
    (endian, header.program_headers(endian, &**REAL).unwrap())
}

/// Where the header of the first segment of this type lies in the file.
fn segment(wanted: elf::ProgramType) -> usize {
    let (endian, segments) = segments();
    let at = segments.iter().position(|segment| segment.p_type(endian) == wanted).unwrap();
    Header::parse(&**REAL).unwrap().e_phoff(endian) as usize + at * size_of::<Segment>()
}

/// Where an entry of the dynamic table lies in the file.
fn entry(wanted: DynamicTag) -> usize {
    let (endian, segments) = segments();
    let dynamic = segments.iter().find(|segment| segment.p_type(endian) == elf::PT_DYNAMIC).unwrap();
    let entries = dynamic.dynamic(endian, &**REAL).unwrap().unwrap();
    let at = entries.iter().position(|entry| entry.tag(endian) == wanted).unwrap();
    dynamic.p_offset(endian) as usize + at * 16
}

/// Where what lies at this address in memory lies in the file.
fn offset(address: u64) -> usize {
    let (endian, segments) = segments();
    let loads = segments.iter().filter(|segment| segment.p_type(endian) == elf::PT_LOAD);
    let mut found = loads.filter_map(|load| {
        let skip = address.checked_sub(load.p_vaddr(endian)).filter(|skip| *skip < load.p_filesz(endian))?;
        Some((load.p_offset(endian) + skip) as usize)
    });
    found.next().unwrap()
}

/// Where a table lies in the file, by the entry that names it.
fn table(tag: DynamicTag) -> usize {
    offset(read(entry(tag) + 8))
}

#[test]
fn this_program_is_sound() {
    assert_eq!(verdict(|_| {}), "sound");
}

#[test]
fn a_dynamic_table_that_leads_astray_is_refused() {
    let far = 1 << 40;
    let cases: [(DynamicTag, u64, &str); 14] = [
        (elf::DT_STRTAB, far, "its string table is not in the file"),
        (elf::DT_STRSZ, far, "its string table is not in the file"),
        (elf::DT_SYMTAB, far, "its dynamic symbol table is not in the file"),
        (elf::DT_SYMENT, 25, "its dynamic symbol table has entries of another size than this machine's"),
        (elf::DT_GNU_HASH, far, "its hash table is not in the file"),
        (elf::DT_RELA, far, "its relocation table is not in the file"),
        (elf::DT_RELAENT, 16, "its relocation table has entries of another size than this machine's"),
        (elf::DT_RELASZ, 25, "its relocation table ends within an entry"),
        (elf::DT_RELACOUNT, far, "fewer of its relocations are relative than it says"),
        (elf::DT_INIT_ARRAY, far, "its list of constructors is not in the file"),
        (elf::DT_FINI_ARRAYSZ, far, "its list of destructors is not in the file"),
        (elf::DT_VERSYM, far, "its table of the symbols' versions is not in the file"),
        (elf::DT_VERNEED, far, "its table of needed versions is not in the file"),
        (elf::DT_NEEDED, far, "a name in its dynamic table is not in the file"),
    ];
    for (tag, value, text) in cases {
        assert_eq!(verdict(|bytes| write(bytes, entry(tag) + 8, value)), text);
    }
}

#[test]
fn a_dynamic_table_that_contradicts_itself_is_refused() {
    let renamed = |tag: DynamicTag, to: DynamicTag| verdict(|bytes| write(bytes, entry(tag), to.0.cast_unsigned()));
    let unknown = DynamicTag(0x6fff_0000);
    assert_eq!(renamed(elf::DT_RELASZ, unknown), "its relocation table has an address or a size, and not both");
    assert_eq!(renamed(elf::DT_SYMTAB, unknown), "it has no dynamic symbol table");
    assert_eq!(renamed(elf::DT_GNU_HASH, unknown), "it has no hash table of its symbols");
    assert_eq!(renamed(elf::DT_FLAGS, elf::DT_STRSZ), "its dynamic table has two entries with the tag 0xa");
    assert_eq!(renamed(elf::DT_RELA, elf::DT_NULL), "its dynamic table ends before its last entry");
    assert_eq!(renamed(elf::DT_FLAGS, unknown), "sound");
}

#[test]
fn a_segment_that_cannot_be_mapped_is_refused() {
    const OFFSET: usize = 8;
    const ADDRESS: usize = 16;
    const FILE_SIZE: usize = 32;
    const SIZE: usize = 40;
    const ALIGN: usize = 48;
    let changed = |wanted, field, change: fn(u64) -> u64| {
        let said = verdict(|bytes| write(bytes, segment(wanted) + field, change(read(segment(wanted) + field))));
        said.trim_start_matches(|c: char| !c.is_ascii_digit())
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .to_owned()
    };
    assert_eq!(changed(elf::PT_LOAD, ALIGN, |align| align + 1), " has an alignment that is no power of two");
    let unaligned = " does not lie in the file as its alignment wants it";
    assert_eq!(changed(elf::PT_LOAD, ADDRESS, |address| address + 1), unaligned);
    assert_eq!(changed(elf::PT_LOAD, FILE_SIZE, |size| size + (1 << 40)), " lies beyond the end of the file");
    assert_eq!(changed(elf::PT_LOAD, SIZE, |_| 0), " is larger in the file than in memory");
    assert_eq!(changed(elf::PT_LOAD, SIZE, |_| u64::MAX), " reaches beyond the end of memory");
    assert_eq!(changed(elf::PT_LOAD, SIZE, |size| size + (1 << 40)), " overlaps the one before it");
    assert_eq!(changed(elf::PT_DYNAMIC, ADDRESS, |address| address + 16), " is not where it is mapped");
    assert_eq!(changed(elf::PT_GNU_EH_FRAME, OFFSET, |offset| offset + 4), " is not where it is mapped");
    let beyond = " takes the right to write from more than there is";
    assert_eq!(changed(elf::PT_GNU_RELRO, SIZE, |size| size + (1 << 30)), beyond);
    assert_eq!(changed(elf::PT_TLS, ALIGN, |_| 3), " asks for more thread-local memory than there can be");
}

#[test]
fn a_relocation_that_leads_astray_is_refused() {
    let first = table(elf::DT_RELA);
    let changed = |field: usize, value: u64| verdict(|bytes| write(bytes, first + field, value));
    assert_eq!(changed(0, 0), "its relocation 0 changes what cannot be written");
    assert_eq!(changed(0, 1 << 40), "its relocation 0 changes what is not in the library");
    assert_eq!(changed(16, 1 << 40), "its relocation 0 points out of the library");
    assert_eq!(changed(8, 0xffff), "its relocation 0 is of a type that belongs in no library");
    let relative = read(first + 8);
    // Where nothing is exported, only what relocations name says how many symbols there are.
    assert_eq!(changed(8, relative | 0xff_ffff << 32), "its dynamic symbol table is not in the file");
    let dynamic = read(segment(elf::PT_DYNAMIC) + 16);
    assert_eq!(changed(0, dynamic), "its relocation 0 changes the table that says where it is");
}

#[test]
fn tables_that_lie_elsewhere_than_their_sections_are_refused() {
    let moved =
        |tag: DynamicTag, by: u64| verdict(|bytes| write(bytes, entry(tag) + 8, read(entry(tag) + 8).wrapping_add(by)));
    let within = "its table of relocated functions lies within the other relocations";
    assert_eq!(
        moved(elf::DT_JMPREL, read(entry(elf::DT_RELA) + 8).wrapping_sub(read(entry(elf::DT_JMPREL) + 8))),
        within
    );
    assert_eq!(moved(elf::DT_INIT_ARRAY, 8), "its list of constructors is not where its section is");
    assert_eq!(moved(elf::DT_FINI_ARRAY, 8), "its list of destructors is not where its section is");
}

#[test]
fn a_constructor_that_is_no_code_is_refused() {
    let data = read(segment(elf::PT_DYNAMIC) + 16);
    let slot = read(entry(elf::DT_INIT_ARRAY) + 8);
    let relocation = |wanted: u64| {
        let (start, size) = (table(elf::DT_RELA), read(entry(elf::DT_RELASZ) + 8) as usize);
        (start..start + size).step_by(24).find(|&at| read(at) == wanted).unwrap()
    };
    let text = verdict(|bytes| write(bytes, relocation(slot) + 16, data));
    assert!(text.ends_with(" makes something else than code of what is called"), "{text}");
    let elsewhere = read(entry(elf::DT_PLTGOT) + 8);
    let text = verdict(|bytes| write(bytes, relocation(slot), elsewhere));
    assert_eq!(text, "its constructor 0 has no address");
}

#[test]
fn tables_of_symbols_that_lead_out_of_themselves_are_refused() {
    let hash = table(elf::DT_GNU_HASH);
    let changed = |at: usize, value: u32| verdict(|bytes| bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes()));
    let impossible = "its hash table has an impossible size";
    assert_eq!(changed(hash, 0), impossible);
    assert_eq!(changed(hash + 8, 3), impossible);
    assert_eq!(changed(hash + 12, 32), impossible);
    assert_eq!(changed(hash, u32::MAX), "its hash table is not in the file");
    assert_eq!(
        changed(table(elf::DT_SYMTAB) + 24, u32::MAX),
        "its dynamic symbol 1 has a name that is not in the file"
    );
    let needed = table(elf::DT_VERNEED);
    let out = "its needed versions lead out of the file";
    assert_eq!(changed(needed, 2), out);
    assert_eq!(changed(needed + 8, u32::MAX), out);
    assert_eq!(changed(needed + 12, u32::MAX), out);
    let unknown = verdict(|bytes| bytes[table(elf::DT_VERSYM) + 2..][..2].copy_from_slice(&0x7ffe_u16.to_ne_bytes()));
    assert_eq!(unknown, "its dynamic symbol 1 has an unknown version");
}
