//! Whether two texts of Rust say the same, comments, documentation and formatting apart.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A word or a sign of the language, and the line that it begins on.
#[derive(Debug)]
struct Token {
    text: String,
    line: usize,
}

/// What differs first in each file of the two directories, for people to read; empty where nothing does.
pub(super) fn differences(ours: &Path, frozen: &Path) -> Result<String> {
    let (ours, frozen) = (sources(ours)?, sources(frozen)?);
    let mut report = String::new();
    for (name, path) in &ours {
        let difference = match frozen.get(name) {
            Some(copy) => {
                difference(&read(path)?, &read(copy)?).with_context(|| format!("could not compare {name}"))?
            }
            None => Some("  the frozen copy has no such file".to_owned()),
        };
        if let Some(difference) = difference {
            writeln!(report, "{name}\n{difference}")?;
        }
    }
    for name in frozen.keys().filter(|name| !ours.contains_key(*name)) {
        writeln!(report, "{name}\n  the frozen copy alone has this file")?;
    }
    Ok(report)
}

/// The first difference between two texts, with the lines that it is on.
fn difference(ours: &str, frozen: &str) -> Result<Option<String>> {
    let (our_tokens, frozen_tokens) = (tokens(ours)?, tokens(frozen)?);
    let alike = our_tokens.iter().zip(&frozen_tokens).take_while(|(a, b)| a.text == b.text).count();
    let (our, their) = (our_tokens.get(alike), frozen_tokens.get(alike));
    if our.is_none() && their.is_none() {
        return Ok(None);
    }
    Ok(Some(format!("  now     {}\n  frozen  {}", place(ours, our), place(frozen, their))))
}

fn place(text: &str, token: Option<&Token>) -> String {
    let Some(Token { text: word, line }) = token else {
        return "(nothing more)".to_owned();
    };
    let content = text.lines().nth(line - 1).unwrap_or_default().trim();
    format!("`{word}` in line {line}: {content}")
}

fn tokens(text: &str) -> Result<Vec<Token>> {
    let stream: TokenStream = text.parse().map_err(|error| anyhow!("it is no Rust: {error}"))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut rest = trees.as_slice();
    while let Some((first, others)) = rest.split_first() {
        if let Some(after) = after_documentation(rest) {
            rest = after;
            continue;
        }
        rest = others;
        let TokenTree::Group(group) = first else {
            tokens.push(Token { text: first.to_string(), line: first.span().start().line });
            continue;
        };
        let (open, close) = signs(group.delimiter());
        tokens.push(Token { text: open.to_owned(), line: group.span_open().start().line });
        flatten(group.stream(), tokens);
        drop_last_comma(group.delimiter(), group.stream(), tokens);
        tokens.push(Token { text: close.to_owned(), line: group.span_close().start().line });
    }
}

/// What follows the documentation that these begin with: an attribute to the compiler, as it is to this reader.
fn after_documentation(trees: &[TokenTree]) -> Option<&[TokenTree]> {
    let sign = |tree: &TokenTree, sign| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign);
    let (hash, rest) = trees.split_first()?;
    let rest = rest.split_first().filter(|(first, _)| sign(first, '!')).map_or(rest, |(_, rest)| rest);
    match rest.split_first()? {
        (TokenTree::Group(attribute), after) if sign(hash, '#') && attribute.delimiter() == Delimiter::Bracket => {
            let name = attribute.stream().into_iter().next()?;
            (name.to_string() == "doc").then_some(after)
        }
        _ => None,
    }
}

/// A list that is broken into lines ends with a comma, and means the same. A tuple of one does not.
fn drop_last_comma(delimiter: Delimiter, list: TokenStream, tokens: &mut Vec<Token>) {
    let is_comma = |tree: &TokenTree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ',');
    let trees: Vec<TokenTree> = list.into_iter().collect();
    let commas = trees.iter().filter(|tree| is_comma(tree)).count();
    if trees.last().is_some_and(is_comma) && (commas > 1 || delimiter != Delimiter::Parenthesis) {
        tokens.pop();
    }
}

fn signs(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))
}

/// The files of Rust among them.
pub(super) fn sources(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = files(directory)?;
    files.retain(|name, _| name.ends_with(".rs"));
    Ok(files)
}

/// All files of a directory, however deep, by their name in it.
pub(super) fn files(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    let entries = fs::read_dir(directory).with_context(|| format!("could not list {}", directory.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("could not list {}", directory.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            found.extend(files(&path)?.into_iter().map(|(below, path)| (format!("{name}/{below}"), path)));
        } else {
            found.insert(name, path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
//! A module.
use a::{B, C};
/// A trait.
pub trait Host: Send {
    /// Logs.
    #[sabi(last_prefix_field)]
    fn log(&self, level: u8, record: RSlice<'_, u8>) -> (u8,);
}
";

    fn changed(from: &str, to: &str) -> Option<String> {
        assert!(TEXT.contains(from), "{from}");
        difference(&TEXT.replace(from, to), TEXT).unwrap()
    }

    #[test]
    fn comments_documentation_and_formatting_are_no_difference() {
        assert_eq!(changed("/// Logs.", "/** Logs\n a line. */ // Never blocks."), None);
        assert_eq!(changed("    /// Logs.\n", ""), None);
        assert_eq!(changed("//! A module.", "//! Another\n//! one."), None);
        assert_eq!(changed("/// A trait.", "#[doc = \"A trait.\"] #[doc(hidden)]"), None);
        assert_eq!(changed("{B, C}", "{\n    B,\n    C, /* more */\n}"), None);
        assert_eq!(
            changed("(&self, level: u8, record: RSlice<'_, u8>)", "(\n&self, level: u8, record: RSlice<'_,u8>,\n)"),
            None
        );
    }

    #[test]
    fn every_change_of_a_meaning_is_a_difference() {
        for (from, to) in [
            ("level: u8", "level: u16"),
            ("fn log", "fn clock(&self) -> u64;\nfn log"),
            ("    #[sabi(last_prefix_field)]\n", ""),
            ("#[sabi(last_prefix_field)]", "#[cfg(unix)]\n#[sabi(last_prefix_field)]"),
            ("Host: Send", "Host: Send + Sync"),
            ("(u8,)", "(u8)"),
            ("RSlice<'_, u8>", "RSlice<'static, u8>"),
            ("'_, u8>) -> (u8,);", "'_, u8>) -> (u8,);\n    fn more(&self);"),
            (TEXT, ""),
        ] {
            assert!(changed(from, to).is_some(), "{to}");
        }
    }

    #[test]
    fn a_difference_says_where_it_is_on_both_sides() {
        let expected = "  now     `u16` in line 10: level: u16,\n  \
                        frozen  `u8` in line 8: fn log(&self, level: u8, record: RSlice<'_, u8>) -> (u8,);";
        assert_eq!(changed("level: u8,", "// new\n\nlevel: u16,\n"), Some(expected.to_owned()));
        let expected = "  now     `pub` in line 10: pub mod more;\n  frozen  (nothing more)";
        assert_eq!(difference(&format!("{TEXT}pub mod more;"), TEXT).unwrap(), Some(expected.to_owned()));
    }

    #[test]
    fn what_is_no_rust_is_an_error() {
        let error = difference("fn f( {", "").unwrap_err().to_string();
        assert!(error.starts_with("it is no Rust: "), "{error}");
    }
}
