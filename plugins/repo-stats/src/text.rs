//! What the model reads.

use crate::period::Period;
use crate::tally::Stats;

pub(crate) fn text(stats: &Stats, period: &Period) -> String {
    if stats.commits == 0 {
        return format!("No commits{period}.");
    }
    let commits = count(stats.commits, "commit");
    let (authors, files) = (count(stats.author_count, "author"), count(stats.file_count, "file"));
    let mut lines = vec![format!("{commits} by {authors}{period}, {files} changed")];
    lines.push("\nAuthors, by commits:".to_owned());
    lines.extend(stats.authors.iter().map(|author| format!("{} {} <{}>", author.commits, author.name, author.email)));
    lines.extend(more(stats.author_count - stats.authors.len()));
    if !stats.files.is_empty() {
        lines.push("\nFiles, by commits that changed them:".to_owned());
        lines.extend(stats.files.iter().map(|file| format!("{} {}", file.commits, file.path)));
        lines.extend(more(stats.file_count - stats.files.len()));
    }
    lines.join("\n")
}

fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn more(n: usize) -> Option<String> {
    (n > 0).then(|| format!("and {n} more"))
}

/// A file's name on one line: as it is, or where it is not UTF-8, has control characters, quotes or backslashes, as git
/// quotes it.
pub(crate) fn quoted(name: &[u8]) -> String {
    match str::from_utf8(name) {
        Ok(text) if !text.contains(|c: char| c.is_control() || c == '"' || c == '\\') => text.to_owned(),
        _ => format!(
            "\"{}\"",
            name.utf8_chunks().map(|chunk| escaped(chunk.valid()) + &octal(chunk.invalid())).collect::<String>()
        ),
    }
}

fn escaped(text: &str) -> String {
    let each = |c: char| match c {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        '\n' => "\\n".to_owned(),
        '\t' => "\\t".to_owned(),
        '\r' => "\\r".to_owned(),
        control if control.is_control() => octal(control.to_string().as_bytes()),
        other => other.to_string(),
    };
    text.chars().map(each).collect()
}

fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_be_misread_is_quoted() {
        for (name, shown) in [
            (&b"a b/Z\xc3\xbcrich.txt"[..], "a b/Zürich.txt"),
            (b"caf\xe9.txt", r#""caf\351.txt""#),
            (b"\xc3\xbc\xff", r#""ü\377""#),
            (b"two\nlines\t\r", r#""two\nlines\t\r""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"bell\x07 \xc2\x85", r#""bell\007 \302\205""#),
        ] {
            assert_eq!(quoted(name), shown);
        }
    }
}
