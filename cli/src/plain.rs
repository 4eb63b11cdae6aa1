//! Other people's text, so that it can neither steer the terminal nor pass for this program's own.

use toolhost_core::Pending;

/// The text with escapes for everything that moves the cursor, changes colours, or reorders or hides text. Line feeds
/// and tabs stay.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' => out.push_str("\\r"),
            c if misleads(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The same in one line.
pub(crate) fn plain_line(text: &str) -> String {
    plain(text).replace('\n', "\\n")
}

/// A text whose lines after the first are indented further than any of this program's own, so that none passes for it.
pub(crate) fn continued(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// An action's label and source tool, as every rendering of a resolve shows them.
pub(crate) fn title(pending: &Pending) -> String {
    format!("{} ({})", plain_line(pending.label()), plain_line(pending.source_tool_name()))
}

/// Whether a character steers a terminal, or reorders or hides text.
pub(crate) fn misleads(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}'
            | '\u{ffa0}' | '\u{fe00}'..='\u{fe0f}' | '\u{1d173}'..='\u{1d17a}' | '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_keeps_its_lines_and_loses_its_power() {
        assert_eq!(plain("a\tb\nä 東"), "a\tb\nä 東");
        assert_eq!(plain("\u{1b}[31mred\r\u{202e}x"), "\\u{1b}[31mred\\r\\u{202e}x");
        assert_eq!(plain_line("x\nApplied: y"), "x\\nApplied: y");
    }
}
