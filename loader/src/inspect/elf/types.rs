//! The kinds of relocations that the system's loader knows, by machine.

use object::elf::{self, Machine, RelocationType};

/// What a relocation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Effect {
    /// How many bytes it writes.
    pub(super) width: u64,
    pub(super) refers: Refers,
}

/// What its value is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refers {
    /// Nothing: it is void.
    Nothing,
    /// An address within the library.
    Base,
    /// What the function at an address within the library returns.
    Resolver,
    /// A symbol.
    Symbol,
    /// A thread-local symbol, or a place in the library's own thread-local memory.
    ThreadLocal,
    /// The library that has a thread-local symbol, or this one.
    Module,
    /// Something else of a machine whose kinds are not listed here.
    Unlisted,
}

/// What a relocation of this type does. `None` where the system's loader knows none of that type, or where the type has
/// no place in a library.
pub(super) fn effect(machine: Machine, kind: RelocationType) -> Option<Effect> {
    match machine {
        elf::EM_X86_64 => x86_64(kind),
        elf::EM_AARCH64 => aarch64(kind),
        _ => effect_of(0, Refers::Unlisted),
    }
}

#[allow(clippy::unnecessary_wraps)]
fn effect_of(width: u64, refers: Refers) -> Option<Effect> {
    Some(Effect { width, refers })
}

fn x86_64(kind: RelocationType) -> Option<Effect> {
    match kind {
        elf::R_X86_64_NONE => effect_of(0, Refers::Nothing),
        elf::R_X86_64_RELATIVE | elf::R_X86_64_RELATIVE64 => effect_of(8, Refers::Base),
        elf::R_X86_64_IRELATIVE => effect_of(8, Refers::Resolver),
        elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT => effect_of(8, Refers::Symbol),
        elf::R_X86_64_SIZE64 | elf::R_X86_64_PC64 => effect_of(8, Refers::Symbol),
        elf::R_X86_64_32 | elf::R_X86_64_PC32 | elf::R_X86_64_SIZE32 => effect_of(4, Refers::Symbol),
        elf::R_X86_64_DTPMOD64 => effect_of(8, Refers::Module),
        elf::R_X86_64_DTPOFF64 | elf::R_X86_64_TPOFF64 => effect_of(8, Refers::ThreadLocal),
        elf::R_X86_64_TLSDESC => effect_of(16, Refers::ThreadLocal),
        _ => None,
    }
}

fn aarch64(kind: RelocationType) -> Option<Effect> {
    /// The other number of the void one.
    const NONE_OF_OLD: RelocationType = RelocationType(256);
    match kind {
        elf::R_AARCH64_NONE | NONE_OF_OLD => effect_of(0, Refers::Nothing),
        elf::R_AARCH64_RELATIVE => effect_of(8, Refers::Base),
        elf::R_AARCH64_IRELATIVE => effect_of(8, Refers::Resolver),
        elf::R_AARCH64_ABS64 | elf::R_AARCH64_GLOB_DAT | elf::R_AARCH64_JUMP_SLOT => effect_of(8, Refers::Symbol),
        elf::R_AARCH64_ABS32 => effect_of(4, Refers::Symbol),
        elf::R_AARCH64_TLS_DTPMOD => effect_of(8, Refers::Module),
        elf::R_AARCH64_TLS_DTPREL | elf::R_AARCH64_TLS_TPREL => effect_of(8, Refers::ThreadLocal),
        elf::R_AARCH64_TLSDESC => effect_of(16, Refers::ThreadLocal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_from_another_library_belongs_in_a_program() {
        assert_eq!(effect(elf::EM_X86_64, elf::R_X86_64_COPY), None);
        assert_eq!(effect(elf::EM_AARCH64, elf::R_AARCH64_COPY), None);
        assert_eq!(effect(elf::EM_RISCV, elf::R_RISCV_64), effect_of(0, Refers::Unlisted));
    }
}
