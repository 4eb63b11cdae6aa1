//! What a plugin's file says of itself without being run.
//!
//! In ELF a note in the section [`SECTION`], found through `PT_NOTE`, so that it survives `strip` and zeroed section
//! headers; in Mach-O the same bytes in [`MACH_SECTION`]. The note's descriptor is [`MAGIC`], [`FORMAT`] as a `u32` in
//! the machine's byte order, then JSON: a [`Metadata`]. A reader looks at the family before it touches any symbol.

use serde::{Deserialize, Serialize};

/// The ELF section.
pub const SECTION: &str = ".note.toolhost";
/// The Mach-O segment and section.
pub const MACH_SECTION: (&str, &str) = ("__DATA", "__toolhost");
/// The note's owner, without the NUL that ends it in the file.
pub const OWNER: &str = "toolhost";
/// The note's type.
pub const KIND: u32 = 1;
/// The first bytes of the descriptor.
pub const MAGIC: [u8; 8] = *b"TOOLHOST";
/// The format of the descriptor; a reader refuses a higher one.
pub const FORMAT: u32 = 1;
/// The family of interfaces that this crate defines.
pub const FAMILY: &str = "abi_stable";
/// The symbol of the header that a plugin of this family exports.
pub const SYMBOL: &str = "toolhost_plugin_abi_stable";
/// The least size of that header in bytes.
pub const HEADER_SIZE: usize = size_of::<abi_stable::library::LibHeader>();

const OWNER_FIELD: usize = 12;
/// Bytes of the descriptor before its JSON.
pub const PREAMBLE: usize = MAGIC.len() + 4;

/// The JSON of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metadata {
    /// The family of interfaces, such as [`FAMILY`].
    pub abi_family: String,
    /// The version of the interface within its family.
    pub abi_version: String,
    /// The plugin's package.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// The package's description; may be empty.
    #[serde(default)]
    pub description: String,
    /// The version of the SDK that built it.
    #[serde(default)]
    pub sdk_version: String,
    /// The target triple that it was built for.
    #[serde(default)]
    pub target: String,
    /// The compiler that built it, as `rustc --version` prints it.
    #[serde(default)]
    pub rustc: String,
    /// The panic strategy: `unwind` or `abort`.
    #[serde(default)]
    pub panic: String,
    /// Whether its tool definitions are decided at run time.
    #[serde(default)]
    pub dynamic: bool,
    /// The names of its tools, where the note declares them.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// What goes into a note, known at compile time.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a> {
    /// The plugin's package.
    pub name: &'a str,
    /// The package's version.
    pub version: &'a str,
    /// The package's description.
    pub description: &'a str,
    /// The version of the SDK.
    pub sdk_version: &'a str,
    /// The target triple.
    pub target: &'a str,
    /// The compiler.
    pub rustc: &'a str,
    /// Whether panics unwind.
    pub unwind: bool,
    /// Whether the definitions are decided at run time.
    pub dynamic: bool,
    /// The names of its tools, as far as they are known.
    pub tools: ToolNames<'a>,
}

/// Names of tools that are known at compile time, put together as a factory puts its tools together.
#[derive(Debug, Clone, Copy, Default)]
pub enum ToolNames<'a> {
    /// None is known.
    #[default]
    Unknown,
    /// A tool with this name.
    One(&'a str),
    /// All of these.
    All(&'a [ToolNames<'a>]),
}

/// A note as it lies in the file; `N` is [`Fields::size`].
#[repr(C, align(4))]
#[derive(Debug)]
pub struct Note<const N: usize> {
    owner_size: u32,
    descriptor_size: u32,
    kind: u32,
    owner: [u8; OWNER_FIELD],
    descriptor: [u8; N],
}

impl Fields<'_> {
    /// The bytes of the descriptor, rounded up to a multiple of four.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.write(&mut []).next_multiple_of(4)
    }

    /// The note.
    #[must_use]
    pub const fn note<const N: usize>(&self) -> Note<N> {
        let mut descriptor = [0; N];
        let length = self.write(&mut descriptor);
        let mut owner = [0; OWNER_FIELD];
        let mut at = 0;
        while at < OWNER.len() {
            owner[at] = OWNER.as_bytes()[at];
            at += 1;
        }
        #[allow(clippy::cast_possible_truncation)]
        Note { owner_size: OWNER.len() as u32 + 1, descriptor_size: length as u32, kind: KIND, owner, descriptor }
    }

    const fn write(&self, out: &mut [u8]) -> usize {
        let mut writer = Writer { out, length: 0 };
        writer.raw(&MAGIC);
        writer.raw(&FORMAT.to_ne_bytes());
        writer.raw(b"{");
        writer.field("abiFamily", FAMILY);
        writer.field("abiVersion", crate::ABI_VERSION);
        writer.field("name", self.name);
        writer.field("version", self.version);
        writer.field("description", self.description);
        writer.field("sdkVersion", self.sdk_version);
        writer.field("target", self.target);
        writer.field("rustc", self.rustc);
        writer.field("panic", if self.unwind { "unwind" } else { "abort" });
        writer.raw(b"\"dynamic\":");
        writer.raw(if self.dynamic { b"true" } else { b"false" });
        writer.raw(b",\"tools\":[");
        writer.names(self.tools, true);
        writer.raw(b"]}");
        writer.length
    }
}

/// Writes as much as fits, and counts all of it.
struct Writer<'a> {
    out: &'a mut [u8],
    length: usize,
}

impl Writer<'_> {
    const fn byte(&mut self, byte: u8) {
        if self.length < self.out.len() {
            self.out[self.length] = byte;
        }
        self.length += 1;
    }

    const fn raw(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            self.byte(bytes[at]);
            at += 1;
        }
    }

    const fn field(&mut self, name: &str, value: &str) {
        self.text(name);
        self.byte(b':');
        self.text(value);
        self.byte(b',');
    }

    /// The names, each but the very first after a comma. Returns whether the next one is the first.
    const fn names(&mut self, names: ToolNames<'_>, first: bool) -> bool {
        match names {
            ToolNames::Unknown => first,
            ToolNames::One(name) => {
                if !first {
                    self.byte(b',');
                }
                self.text(name);
                false
            }
            ToolNames::All(all) => {
                let (mut first, mut at) = (first, 0);
                while at < all.len() {
                    first = self.names(all[at], first);
                    at += 1;
                }
                first
            }
        }
    }

    const fn text(&mut self, text: &str) {
        self.byte(b'"');
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            self.escaped(bytes[at]);
            at += 1;
        }
        self.byte(b'"');
    }

    const fn escaped(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        match byte {
            b'"' | b'\\' => {
                self.byte(b'\\');
                self.byte(byte);
            }
            0..0x20 => {
                self.raw(b"\\u00");
                self.byte(HEX[(byte >> 4) as usize]);
                self.byte(HEX[(byte & 15) as usize]);
            }
            _ => self.byte(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: Fields<'static> = Fields {
        name: "my-plugin",
        version: "1.2.3",
        description: "Says \"hé\\\"\nand goes",
        sdk_version: "0.1.0",
        target: "x86_64-unknown-linux-gnu",
        rustc: "rustc 1.95.0",
        unwind: true,
        dynamic: false,
        tools: ToolNames::All(&[
            ToolNames::Unknown,
            ToolNames::One("first"),
            ToolNames::All(&[ToolNames::One("sec\"ond")]),
        ]),
    };

    #[test]
    fn what_is_written_at_compile_time_is_what_serde_reads() {
        static NOTE: Note<{ FIELDS.size() }> = FIELDS.note();
        assert_eq!(NOTE.owner, *b"toolhost\0\0\0\0");
        assert_eq!(NOTE.owner_size, 9);
        let descriptor = &NOTE.descriptor[..NOTE.descriptor_size as usize];
        assert_eq!(descriptor[..8], MAGIC);
        let metadata: Metadata = serde_json::from_slice(&descriptor[PREAMBLE..]).unwrap();
        assert_eq!(metadata.description, FIELDS.description);
        assert_eq!(metadata.panic, "unwind");
        assert_eq!(metadata.tools, ["first", "sec\"ond"]);
        assert_eq!(metadata.abi_version, crate::ABI_VERSION);
    }

    #[test]
    fn the_size_is_a_multiple_of_four_and_enough() {
        assert_eq!(FIELDS.size() % 4, 0);
        assert!(FIELDS.write(&mut []) <= FIELDS.size());
        assert_eq!(size_of::<Note<{ FIELDS.size() }>>(), 12 + OWNER_FIELD + FIELDS.size());
    }
}
