//! Paths and plans as text that a file's name cannot fake.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::plan::Plan;

/// `path` as it is where that is unmistakable, else in double quotes with escapes: control characters, characters that
/// reorder or hide text, bytes that are not UTF-8, and whatever could be taken for the preview's own `->`.
pub(crate) fn show(path: &Path) -> String {
    match path.to_str() {
        Some(plain) if is_plain(plain) => plain.to_owned(),
        _ => quote(path),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.contains("->") && !text.contains(needs_escape)
}

fn quote(path: &Path) -> String {
    let mut out = String::from("\"");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if needs_escape(c) { out.extend(c.escape_debug()) } else { out.push(c) }
        }
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

fn needs_escape(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}'
            | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{1d173}'..='\u{1d17a}' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    c.is_control() || invisible || matches!(c, '"' | '\\')
}

/// `path` without `root` before it; a path outside of `root` stays whole.
pub(crate) fn relative<'p>(root: &Path, path: &'p Path) -> &'p Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// `1 file`, `2 files`.
pub(crate) fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// The preview: a heading, then each `old -> new`, relative to the session's directory. A plan without renames says that
/// nothing would change.
pub(crate) fn preview(plan: &Plan) -> String {
    let unchanged = plan.unchanged();
    if plan.is_empty() {
        return format!("Nothing would change: {} would keep the same name.", count(unchanged, "file"));
    }
    let mut out = format!("{} to rename", count(plan.len(), "file"));
    if unchanged > 0 {
        out.push_str(&format!(", {unchanged} unchanged"));
    }
    out.push(':');
    out.push_str(&renames(plan));
    out
}

/// What a discard drops: a heading, then each rename.
pub(crate) fn dropped(plan: &Plan, reason: &str) -> String {
    format!("Nothing was renamed. Reason: {reason}\nDropped, {}:{}", count(plan.len(), "file"), renames(plan))
}

/// Each `old -> new` on a line of its own, relative to the session's directory.
fn renames(plan: &Plan) -> String {
    let mut out = String::new();
    for (old, new) in plan.renames() {
        let (old, new) = (show(relative(plan.root(), &old)), show(relative(plan.root(), &new)));
        out.push_str(&format!("\n{old} -> {new}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn shown(name: &str) -> String {
        show(Path::new(name))
    }

    #[test]
    fn ordinary_names_are_shown_as_they_are() {
        for name in ["a.txt", "my file.txt", "-rf", "日本\u{3000}語.txt", "e\u{301}.txt", "don't.txt", "sub/a"] {
            assert_eq!(shown(name), name);
        }
    }

    #[test]
    fn names_that_could_mislead_are_quoted() {
        assert_eq!(shown("a\nb -> c"), r#""a\nb -> c""#);
        assert_eq!(shown("a -> b"), r#""a -> b""#);
        assert_eq!(shown("\u{1b}[2Ja"), r#""\u{1b}[2Ja""#);
        assert_eq!(shown("a\u{202e}gpj.exe"), r#""a\u{202e}gpj.exe""#);
        assert_eq!(shown("a\u{85}b\u{2028}c"), r#""a\u{85}b\u{2028}c""#);
        assert_eq!(shown(" a"), r#"" a""#);
        assert_eq!(shown("say \"it's\" \\n"), r#""say \"it's\" \\n""#);
        assert_eq!(shown(""), r#""""#);
        assert_eq!(show(Path::new(OsStr::from_bytes(b"a\xff\nb"))), r#""a\xff\nb""#);
    }

    #[test]
    fn only_the_roots_own_paths_lose_it() {
        assert_eq!(relative(Path::new("/r"), Path::new("/r/a/b")), Path::new("a/b"));
        assert_eq!(relative(Path::new("/r"), Path::new("/rs/a")), Path::new("/rs/a"));
    }
}
