//! A sentence for what is no library of this platform.

use object::{Architecture, FileKind};

use crate::LoadErrorKind;

/// The system and machine that this host loads for, such as `Linux on x86_64`.
pub(super) fn platform() -> String {
    on_machine(system(), std::env::consts::ARCH)
}

/// A platform that a file was built for.
pub(super) fn on_machine(system: &str, machine: &str) -> String {
    format!("{system} on {machine}")
}

fn system() -> &'static str {
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

/// The refusal for an object file of a kind that this host cannot load.
pub(super) fn refused(kind: FileKind) -> LoadErrorKind {
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
        FileKind::Archive => "a static archive or an `.rlib`",
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
    } else if sample.iter().all(|&byte| byte >= b' ' || b"\t\n\r".contains(&byte)) {
        "a text file".to_owned()
    } else {
        "a file of an unknown kind".to_owned()
    }
}
