//! A sentence for what is no library of this platform.

use object::{Architecture, FileKind, Object};

use crate::LoadErrorKind;

/// The system and machine that this host loads for, such as `Linux on x86_64`.
pub(super) fn platform() -> String {
    on_machine(system(), std::env::consts::ARCH)
}

/// A platform that a file was built for.
pub(super) fn on_machine(system: &str, machine: &str) -> String {
    format!("{system} on {machine}")
}

/// The system that this host loads for.
pub(crate) fn system() -> &'static str {
    if cfg!(target_vendor = "apple") { "macOS" } else { "Linux" }
}

/// The machine of an object file, named as the compiler does.
pub(super) fn machine(architecture: Architecture) -> String {
    match architecture {
        Architecture::X86_64 => "x86_64".to_owned(),
        Architecture::I386 => "x86".to_owned(),
        Architecture::Aarch64 => "aarch64".to_owned(),
        Architecture::PowerPc64 => "powerpc64".to_owned(),
        other => format!("{other:?}").to_ascii_lowercase(),
    }
}

/// The kind of an object file.
pub(super) fn name(kind: FileKind, data: &[u8]) -> String {
    let name = match kind {
        FileKind::Elf64 => "ELF, 64-bit",
        FileKind::Elf32 => "ELF, 32-bit",
        FileKind::MachO64 => "Mach-O, 64-bit",
        FileKind::MachO32 => "Mach-O, 32-bit",
        FileKind::MachOFat32 | FileKind::MachOFat64 => "Mach-O, universal",
        FileKind::Pe64 => "PE, 64-bit",
        FileKind::Pe32 => "PE, 32-bit",
        FileKind::Archive if is_rlib(data) => "Rust library (`.rlib`)",
        FileKind::Archive => "static archive",
        FileKind::Coff | FileKind::CoffBig => "COFF object file",
        _ => "object file of another kind",
    };
    name.to_owned()
}

/// The system that an object file of this kind is for.
pub(super) fn system_of(kind: FileKind) -> Option<&'static str> {
    match kind {
        FileKind::Elf64 | FileKind::Elf32 => Some("Linux"),
        FileKind::MachO64 | FileKind::MachO32 | FileKind::MachOFat32 | FileKind::MachOFat64 => Some("macOS"),
        FileKind::Pe64 | FileKind::Pe32 => Some("Windows"),
        _ => None,
    }
}

/// The machine that an object file is for, as far as it can be read.
pub(super) fn machine_of(data: &[u8]) -> Option<String> {
    object::File::parse(data).ok().map(|file| machine(file.architecture()))
}

/// The compiler puts its metadata first into what it makes to be linked.
fn is_rlib(data: &[u8]) -> bool {
    const SEARCHED: usize = 1024;
    let head = &data[..data.len().min(SEARCHED)];
    head.windows(b"lib.rmeta".len()).any(|name| name == b"lib.rmeta")
}

/// The refusal for an object file of a kind that this host cannot load.
pub(super) fn refused(kind: FileKind, data: &[u8]) -> LoadErrorKind {
    let other = |found: &str| LoadErrorKind::OtherPlatform { found: found.to_owned(), wanted: platform() };
    let what = match kind {
        FileKind::Elf64 => return other("Linux"),
        FileKind::Elf32 => return other("a 32-bit machine (ELF)"),
        FileKind::MachO64 => return other("macOS"),
        FileKind::MachO32 => return other("a 32-bit macOS machine"),
        FileKind::MachOFat32 | FileKind::MachOFat64 if cfg!(target_vendor = "apple") => {
            "a universal binary (take this machine's part out with `lipo -thin`)"
        }
        FileKind::MachOFat32 | FileKind::MachOFat64 => return other("macOS (a universal binary)"),
        FileKind::Pe32 | FileKind::Pe64 => return other("Windows"),
        FileKind::Archive if is_rlib(data) => "a Rust library to link with (`.rlib`)",
        FileKind::Archive => "a static archive",
        FileKind::Coff | FileKind::CoffBig => "an object file",
        _ => "an object file of another kind",
    };
    LoadErrorKind::NotALibrary { what: what.to_owned() }
}

/// What bytes are that are no object file.
pub(super) fn describe(data: &[u8]) -> String {
    const TEXT_SAMPLE: usize = 512;
    let sample = &data[..data.len().min(TEXT_SAMPLE)];
    if data.is_empty() {
        "an empty file".to_owned()
    } else if data.starts_with(b"version https://git-lfs") {
        "a Git LFS pointer (fetch the file with `git lfs pull`)".to_owned()
    } else if data.starts_with(b"\x7fELF") {
        "the beginning of an ELF file".to_owned()
    } else if data.starts_with(b"!<arch>\n") {
        "a static archive".to_owned()
    } else if sample.iter().all(|&byte| byte >= b' ' || b"\t\n\r".contains(&byte)) {
        "a text file".to_owned()
    } else {
        "a file of an unknown kind".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(data: &[u8]) -> String {
        crate::inspect::plugin(data).unwrap_err().to_string()
    }

    #[test]
    fn each_kind_of_file_has_a_sentence_of_its_own() {
        let here = platform();
        let pe = {
            let mut file = vec![0; 0x200];
            file[..2].copy_from_slice(b"MZ");
            file[0x3c] = 0x80;
            file[0x80..0x84].copy_from_slice(b"PE\0\0");
            // The optional header's mark of a 64-bit file.
            file[0x98..0x9a].copy_from_slice(&[0x0b, 0x02]);
            file
        };
        let mach_o = [&[0xcf, 0xfa, 0xed, 0xfe][..], &[0; 60]].concat();
        let elf32 = [&b"\x7fELF\x01\x01\x01"[..], &[0; 60]].concat();
        let rlib = b"!<arch>\n/               0           0     0     0       4         `\n\0\0\0\0lib.rmeta/      ";
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
        let no_library = |what: &str| format!("it is {what}, not a shared library");
        let other = |found: &str| format!("it was built for {found}, and this host runs on {here}");
        let cases: [(&[u8], String); 10] = [
            (b"", no_library("an empty file")),
            (b"#!/bin/sh\n", no_library("a text file")),
            (b"\0\x01\x02", no_library("a file of an unknown kind")),
            (lfs, no_library("a Git LFS pointer (fetch the file with `git lfs pull`)")),
            (b"\x7fELF", no_library("the beginning of an ELF file")),
            (b"!<arch>\n", no_library("a static archive")),
            (rlib, no_library("a Rust library to link with (`.rlib`)")),
            (&pe, other("Windows")),
            (&elf32, other("a 32-bit machine (ELF)")),
            (&mach_o, if cfg!(target_vendor = "apple") { sentence(&mach_o) } else { other("macOS") }),
        ];
        for (data, text) in cases {
            assert_eq!(sentence(data), text);
        }
    }
}
