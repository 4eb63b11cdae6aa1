//! Makes versions of the interface that do not exist, for the tests: the newest frozen one, with what each changes.

use std::path::Path;
use std::{env, fs};

/// The frozen version that the imagined ones begin from.
const BASE: &str = "../../frozen/1.0.0/src/objects";

/// One change to a file of the interface's module.
enum Edit {
    /// Adds text at the end of the item that begins with these words.
    Append(&'static str, &'static str, &'static str),
    /// Replaces a text, which is there once, by another.
    Replace(&'static str, &'static str, &'static str),
}

use Edit::{Append, Replace};

// A default body has more than one line: abi_stable puts braces of its own around it, which the compiler warns of.

/// The next minor version: a method more in what each side calls, a field more in the root. Plugins that were written
/// before it compile with it, so that `Entry` has a default, too.
const NEXT: &[Edit] = &[
    Append("host", "pub trait Host:", "fn clock(&self) -> u64 {\n0 }"),
    Append("tool", "pub trait Tool:", "fn weight(&self) -> u64 {\n0 }"),
    Append("root", "pub struct PluginRoot ", "pub weight: extern \"C\" fn() -> u64,"),
    Append("root", "pub trait Entry ", "extern \"C\" fn weight() -> u64 {\n0 }"),
    Replace("root", "create: E::create }", "create: E::create, weight: E::weight }"),
];

/// The one after the next: everything of the next, and more in every object.
const AFTER_NEXT: &[Edit] = &[
    Append("host", "pub trait Host:", "fn place(&self) -> RVec<u8> {\nRVec::new() }"),
    Append("tool", "pub trait Tool:", "fn notes(&self) -> RVec<u8> {\nRVec::new() }"),
    Append("call", "pub trait Call:", "fn deadline(&self) -> u64 {\n0 }"),
    Append("change", "pub trait Change:", "fn cost(&self) -> u64 {\n0 }"),
    Append("root", "pub struct PluginRoot ", "pub notes: extern \"C\" fn() -> RVec<u8>,"),
    Append("root", "pub trait Entry ", "extern \"C\" fn notes() -> RVec<u8> {\nRVec::new() }"),
    Replace("root", "weight: E::weight }", "weight: E::weight, notes: E::notes }"),
];

/// What no minor version may do, each in a module of its own.
const FORBIDDEN: &[(&str, &[Edit])] = &[
    ("inserted", &[Replace("host", "fn log(", "fn clock(&self) -> u64;\n\nfn log(")]),
    ("removed", &[Replace("host", "fn log(&self, level: u8, record: RSlice<'_, u8>);", "")]),
    (
        "swapped",
        &[
            Replace("tool", "fn definition(&self) -> RVec<u8>;", ""),
            Replace("tool", "fn on_session(", "fn definition(&self) -> RVec<u8>;\n\nfn on_session("),
        ],
    ),
    ("retyped", &[Replace("call", "json: RVec<u8>", "json: RVec<u16>")]),
    ("answered", &[Replace("change", "fn apply(&self, reason: RVec<u8>) -> FfiFuture<Bytes>", APPLY_OF_NOTHING)]),
    (
        "moved",
        &[
            Replace("host", "#[sabi(last_prefix_field)]", ""),
            Append("host", "pub trait Host:", "#[sabi(last_prefix_field)]\nfn clock(&self) -> u64;"),
        ],
    ),
];

const APPLY_OF_NOTHING: &str = "fn apply(&self, reason: RVec<u8>) -> FfiFuture<()>";

/// A minor version that does not follow on the next, but stands beside it.
const FORKED: &[Edit] = &[Append("host", "pub trait Host:", "fn weather(&self) -> RVec<u8> {\nRVec::new() }")];

fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    println!("cargo::rerun-if-changed={BASE}");
    let package = env::var("CARGO_PKG_NAME").expect("cargo names the package");
    let text = match package.as_str() {
        "toolhost-abi-next" => module("objects", &[NEXT]),
        "toolhost-abi-after-next" => module("objects", &[NEXT, AFTER_NEXT]),
        _ => {
            let forbidden = FORBIDDEN.iter().map(|(name, edits)| module(name, &[edits]));
            forbidden.chain([module("forked", &[FORKED])]).collect()
        }
    };
    let directory = env::var("OUT_DIR").expect("cargo names the directory");
    fs::write(Path::new(&directory).join("interface.rs"), text).expect("the directory can be written to");
    // The types are those of the interface's own crate, as abi_stable sees them.
    println!("cargo::rustc-env=CARGO_PKG_NAME=toolhost-abi");
}

/// The interface's module with these changes, in one text.
fn module(name: &str, edits: &[&[Edit]]) -> String {
    let mut text = read("mod");
    for file in ["call", "change", "host", "root", "tool"] {
        let edited = edits.iter().copied().flatten().fold(read(file), |text, edit| edit.apply(file, text));
        text = replace(&text, &format!("pub mod {file};"), &format!("pub mod {file} {{\n{edited}}}"));
    }
    format!("pub mod {name} {{\n{text}}}\n")
}

fn read(file: &str) -> String {
    let path = Path::new(BASE).join(file).with_extension("rs");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Edit {
    fn apply(&self, file: &str, text: String) -> String {
        match *self {
            Append(of, item, more) if of == file => {
                let (before, rest) = text.split_once(item).unwrap_or_else(|| panic!("no `{item}` in {file}.rs"));
                let (body, after) = rest.split_once("\n}\n").unwrap_or_else(|| panic!("no end of `{item}`"));
                format!("{before}{item}{body}\n\n{more}\n}}\n{after}")
            }
            Replace(of, old, new) if of == file => replace(&text, old, new),
            _ => text,
        }
    }
}

fn replace(text: &str, old: &str, new: &str) -> String {
    assert_eq!(text.matches(old).count(), 1, "`{old}` has to be there once in\n{text}");
    text.replace(old, new)
}
