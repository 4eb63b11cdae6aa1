//! Text that what stands in a database cannot fake.

use std::fmt::Write;

/// The bytes as text, with escapes for control characters, for characters that reorder or hide text, for quotes and
/// backslashes, and for what is not UTF-8.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if needs_escape(c) { out.extend(c.escape_debug()) } else { out.push(c) }
        }
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// A statement in one line, with the same escapes but for quotes and backslashes, which end nothing here.
pub(crate) fn statement(sql: &str) -> String {
    let words: Vec<_> = sql.split_whitespace().collect();
    let escape = |c: char| match c {
        '"' | '\\' => c.to_string(),
        c if needs_escape(c) => c.escape_debug().collect(),
        c => c.to_string(),
    };
    words.join(" ").chars().map(escape).collect()
}

/// Whether a character steers a terminal, reorders or hides text, or ends a quote.
fn needs_escape(c: char) -> bool {
    let invisible = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{1d173}'..='\u{1d17a}' | '\u{a0}'
            | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    c.is_control() || invisible || matches!(c, '"' | '\\')
}

/// The name of a table, a column or a file: as it is where that is unmistakable, else in double quotes with escapes.
pub(crate) fn name(name: &str) -> String {
    let safe = escaped(name.as_bytes());
    let is_plain = safe == name && !name.is_empty() && name.trim() == name && !name.contains([':', ',', '|', '>']);
    if is_plain { safe } else { format!("\"{safe}\"") }
}

/// `1 row`, `2 rows`.
pub(crate) fn count(n: u64, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(items: &[impl AsRef<str>]) -> String {
    let Some((last, before)) = items.split_last() else {
        return String::new();
    };
    if before.is_empty() {
        return last.as_ref().to_owned();
    }
    let before: Vec<_> = before.iter().map(AsRef::as_ref).collect();
    format!("{} and {}", before.join(", "), last.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mislead_are_quoted() {
        for plain in ["orders", "first name", "Kündigung", "日本"] {
            assert_eq!(name(plain), plain);
        }
        assert_eq!(name("a: 5 deleted\nb"), r#""a: 5 deleted\nb""#);
        assert_eq!(name(""), r#""""#);
        assert_eq!(name("say \"x\""), r#""say \"x\"""#);
        assert_eq!(name("a\u{202e}b"), r#""a\u{202e}b""#);
    }

    #[test]
    fn a_statement_is_one_line_that_cannot_steer() {
        assert_eq!(
            statement("CREATE TABLE \"a\"(\n  b DEFAULT '\u{1b}\\'\n)"),
            r#"CREATE TABLE "a"( b DEFAULT '\u{1b}\' )"#
        );
    }

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!((count(1, "row"), count(0, "row")), ("1 row".to_owned(), "0 rows".to_owned()));
    }
}
