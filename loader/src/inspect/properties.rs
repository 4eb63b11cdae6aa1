//! Whatever the bytes are, the inspection ends with an answer; and what the system itself runs on, it accepts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use toolhost_abi::note::{FORMAT, MAGIC};

use super::{Facts, look, note, plugin};

/// What files of the kinds that are told apart begin with.
const BEGINNINGS: [&[u8]; 8] = [
    b"",
    b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0",
    b"\x7fELF\x01\x01\x01",
    &[0xcf, 0xfa, 0xed, 0xfe],
    &[0xca, 0xfe, 0xba, 0xbe],
    b"MZ",
    b"!<arch>\n",
    b"version https://git-lfs",
];

/// A real library, the smallest that this process has, and the parts of it that other parts are found by.
#[cfg(target_os = "linux")]
static REAL: LazyLock<(Vec<u8>, Vec<std::ops::Range<usize>>)> = LazyLock::new(|| {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = maps.lines().filter_map(|line| Some(&line[line.find('/')?..]));
    let libraries = mapped.filter(|path| path.contains(".so")).filter_map(|path| fs::read(path).ok());
    let bytes = libraries.filter(|bytes| super::library(bytes).is_ok()).min_by_key(Vec::len).unwrap();
    let header = FileHeader64::<object::Endianness>::parse(&*bytes).unwrap();
    let endian = header.endian().unwrap();
    let mut parts = Vec::new();
    let sections = header.sections(endian, &*bytes).unwrap();
    for section in sections.iter() {
        let name = sections.section_name(endian, section).unwrap_or_default();
        let tables = [".dynamic", ".gnu", ".hash", ".rel", ".dyn", ".note", ".init_array", ".fini_array"];
        if let Some((start, size)) = section.file_range(endian)
            && size > 0
            && tables.iter().any(|table| name.starts_with(table.as_bytes()))
        {
            parts.push(start as usize..(start + size) as usize);
        }
    }
    let headers = header.e_shoff(endian) as usize;
    parts.extend([0..0x400, headers..bytes.len()]);
    (bytes, parts)
});

/// One thing that is done to a file.
#[derive(Debug, Clone)]
enum Damage {
    Cut(prop::sample::Index),
    Zero { part: prop::sample::Index, at: prop::sample::Index, length: usize },
    Write { part: prop::sample::Index, at: prop::sample::Index, value: u64, width: usize },
    Flip { part: prop::sample::Index, at: prop::sample::Index, bit: u8 },
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    let value =
        prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(1 << 63), Just(u64::MAX - 7), 0..0x1_0000u64, any::<u64>()];
    let width = prop_oneof![Just(1usize), Just(2), Just(4), Just(8)];
    prop_oneof![
        1 => index().prop_map(Damage::Cut),
        2 => (index(), index(), 1..256usize).prop_map(|(part, at, length)| Damage::Zero { part, at, length }),
        4 => (index(), index(), value, width)
            .prop_map(|(part, at, value, width)| Damage::Write { part, at, value, width }),
        4 => (index(), index(), 0..8u8).prop_map(|(part, at, bit)| Damage::Flip { part, at, bit }),
    ]
}

impl Damage {
    /// What is written is as wide as what stands there, most of the time.
    fn apply(&self, bytes: &mut Vec<u8>, parts: &[std::ops::Range<usize>]) {
        let place = |part: &prop::sample::Index, at: &prop::sample::Index, width: usize| {
            let part = &parts[part.index(parts.len())];
            part.start + at.index(part.len()) / width * width
        };
        match self {
            Self::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
            Self::Zero { part, at, length } => {
                let at = place(part, at, 1).min(bytes.len());
                let end = (at + length).min(bytes.len());
                bytes[at..end].fill(0);
            }
            Self::Write { part, at, value, width } => {
                let at = place(part, at, *width);
                if let Some(target) = bytes.get_mut(at..at + width) {
                    target.copy_from_slice(&value.to_ne_bytes()[..*width]);
                }
            }
            Self::Flip { part, at, bit } => {
                if let Some(byte) = bytes.get_mut(place(part, at, 1)) {
                    *byte ^= 1 << bit;
                }
            }
        }
    }
}

/// Looks at bytes in every way that there is. The same bytes have the same verdict, and a refusal says why.
fn inspected(bytes: &[u8]) {
    let mut facts = Facts::default();
    let looked = look(bytes, &mut facts).map_err(|error| error.to_string());
    let opened = plugin(bytes).map(|inspected| inspected.metadata).map_err(|error| error.to_string());
    assert_eq!(looked, opened);
    assert!(looked.is_ok() || looked.is_err_and(|text| !text.is_empty()));
    assert!(!facts.kind.is_empty());
    let _ = super::library(bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn any_bytes_have_a_verdict(start in prop::sample::select(&BEGINNINGS[..]), rest in vec(any::<u8>(), 0..2_000)) {
        inspected(&[start, &rest].concat());
    }

    #[test]
    fn any_note_is_read_or_refused(
        format in prop_oneof![9 => Just(FORMAT), 1 => any::<u32>()],
        rest in prop_oneof![
            vec(any::<u8>(), 0..200),
            r#"\{("(abiFamily|abiVersion|name|version|panic|x)":("[a-z0-9."\\]{0,9}"|[0-9]{1,9}|null|\[\]),?){0,6}\}?"#
                .prop_map(String::into_bytes),
            vec("[a-z0-9._\\u{1b}é]{0,3}", 5).prop_map(|fields| {
                let [family, version, name, own, panic] = &fields[..] else { unreachable!() };
                let json = json!({
                    "abiFamily": family, "abiVersion": version, "name": name, "version": own, "panic": panic
                });
                json.to_string().into_bytes()
            }),
        ],
        cut in 0..300usize,
    ) {
        let mut descriptor = [&MAGIC[..], &format.to_ne_bytes(), &rest].concat();
        descriptor.truncate(cut);
        if let Ok(metadata) = note::read(Some(&descriptor)) {
            prop_assert!(!metadata.name.is_empty() && !metadata.abi_version.is_empty());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn any_damage_to_a_real_library_has_a_verdict(damages in vec(damage(), 1..5)) {
        let (mut bytes, parts) = (REAL.0.clone(), &REAL.1);
        damages.iter().for_each(|damage| damage.apply(&mut bytes, parts));
        inspected(&bytes);
    }
}

/// Every regular file under these directories that looks like a shared library of this machine.
fn libraries(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() {
            libraries(&entry.path(), found);
        } else if kind.is_file() && (name.ends_with(".so") || name.contains(".so.")) {
            found.push(entry.path());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "by hand, since it reads every library of the system"]
fn every_library_of_the_system_is_accepted() {
    let mut found = Vec::new();
    let roots = std::env::var("TOOLHOST_TEST_LIBRARIES").unwrap_or_else(|_| "/lib:/usr/lib:/usr/local/lib".to_owned());
    roots.split(':').for_each(|root| libraries(Path::new(root), &mut found));
    let (mut accepted, mut refused) = (0, Vec::new());
    for path in &found {
        let bytes = fs::read(path).unwrap();
        match super::library(&bytes) {
            Ok(_) => accepted += 1,
            // Linker scripts, and libraries for other machines.
            Err(error) if ["TH0201", "TH0202"].contains(&error.code()) => {}
            Err(error) => refused.push(format!("{}: {error}", path.display())),
        }
    }
    println!("{accepted} of {} accepted", found.len());
    assert_eq!(refused, Vec::<String>::new());
    assert!(accepted > 0);
}
