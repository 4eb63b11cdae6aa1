//! Other people's text as lines for a terminal of a certain width.

use textwrap::core::display_width;
use textwrap::{Options, WordSplitter, wrap};

/// The most lines of one rendering, the one included that says how many are left out.
pub(super) const MOST: usize = 1_000;
/// What one character may need.
const LEAST_WIDTH: usize = 2;
const TAB: usize = 8;

/// Wraps what comes, keeps the first lines, and counts the rest.
pub(super) struct Lines {
    width: usize,
    most: usize,
    kept: Vec<String>,
    left_out: usize,
}

/// A tool's lines, without whatever steers a terminal, of at most `width` columns each.
pub(super) fn fit(lines: &[String], width: usize) -> Vec<String> {
    let mut fitted = Lines::new(width, MOST - 1);
    lines.iter().for_each(|line| fitted.push(line));
    fitted.finish()
}

impl Lines {
    /// Keeps the first `most` lines.
    pub(super) fn new(width: usize, most: usize) -> Self {
        Self { width: width.max(LEAST_WIDTH), most, kept: Vec::new(), left_out: 0 }
    }

    /// Adds a text with all of its lines; an empty one is an empty line.
    pub(super) fn push(&mut self, text: &str) {
        if text.is_empty() {
            self.add(String::new());
        }
        for line in text.lines() {
            let line = plain(line);
            if display_width(&line) <= self.width {
                self.add(line);
                continue;
            }
            let options = Options::new(self.width).word_splitter(WordSplitter::NoHyphenation);
            wrap(&line, options).into_iter().for_each(|piece| self.add(piece.into_owned()));
        }
    }

    fn add(&mut self, line: String) {
        if self.kept.len() < self.most {
            self.kept.push(line);
        } else {
            self.left_out += 1;
        }
    }

    /// The lines, the last of which says how many are left out, if any are.
    pub(super) fn finish(mut self) -> Vec<String> {
        if self.left_out > 0 {
            let s = if self.left_out == 1 { "" } else { "s" };
            self.kept.push(cut(&format!("... ({} more line{s})", self.left_out), self.width));
        }
        self.kept
    }
}

/// The beginning of a text, of at most so many columns.
fn cut(text: &str, width: usize) -> String {
    let mut left = width;
    let fits = |c: &char| match left.checked_sub(width_of(*c)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    text.chars().take_while(fits).collect()
}

/// The same, with dots in place of what is cut off.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if display_width(text) <= width { text.to_owned() } else { cut(text, width.saturating_sub(3)) + "..." }
}

fn width_of(c: char) -> usize {
    display_width(c.encode_utf8(&mut [0; 4]))
}

/// A line without whatever moves the cursor, changes colours, or reorders or hides text; tabs become spaces.
pub(super) fn plain(line: &str) -> String {
    let (mut out, mut column) = (String::with_capacity(line.len()), 0);
    let (mut rest, mut strings) = (line.chars(), Strings::default());
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => rest = after_escape(rest.as_str(), &mut strings).chars(),
            '\u{9b}' => rest = after_parameters(rest.as_str()).chars(),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => rest = strings.after(rest.as_str()).chars(),
            '\t' => {
                let spaces = TAB - column % TAB;
                out.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            c if steers(c) => {}
            c => {
                out.push(c);
                column += width_of(c);
            }
        }
    }
    out
}

/// Whether a character steers a terminal, or reorders or hides text. What joins or varies the characters of some
/// scripts, and of emoji, does not.
pub(super) fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What follows on an escape sequence (ECMA-48) that began just before.
fn after_escape<'a>(text: &'a str, strings: &mut Strings) -> &'a str {
    let mut rest = text.chars();
    match rest.next() {
        Some('[') => after_parameters(rest.as_str()),
        Some(']' | 'P' | 'X' | '^' | '_') => strings.after(rest.as_str()),
        Some(' '..='/') => {
            let rest = text.trim_start_matches(|c| matches!(c, ' '..='/'));
            rest.strip_prefix(|c| matches!(c, '0'..='~')).unwrap_or(rest)
        }
        Some('0'..='~') => rest.as_str(),
        _ => text,
    }
}

/// What follows on parameters and the character that ends them.
fn after_parameters(text: &str) -> &str {
    let rest = text.trim_start_matches(|c| matches!(c, ' '..='?'));
    rest.strip_prefix(|c| matches!(c, '@'..='~')).unwrap_or(rest)
}

/// The strings for the terminal in one line.
#[derive(Default)]
struct Strings {
    /// Nothing in the rest of the line ends a string, so that nobody needs to look for it again.
    endless: bool,
}

impl Strings {
    /// What follows on a string that began just before; all of the text, where the string has no end.
    fn after<'a>(&mut self, text: &'a str) -> &'a str {
        let end = if self.endless { None } else { string_end(text) };
        self.endless = end.is_none();
        end.map_or(text, |end| &text[end..])
    }
}

/// Where the first end of a string is over. One pass for all kinds of ends: each must not be looked for beyond the first.
fn string_end(text: &str) -> Option<usize> {
    text.char_indices().find_map(|(at, c)| match c {
        '\u{7}' | '\u{9c}' => Some(at + c.len_utf8()),
        '\u{1b}' if text[at..].starts_with("\u{1b}\\") => Some(at + 2),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_what_misleads_are_taken_out() {
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m \u{1b}[2Kx"), "red x");
        assert_eq!(plain("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7}!"), "link!");
        assert_eq!(plain("\u{1b}Pq#1\u{9c}a\u{1b}(Bb\u{1b}7c\u{1b}"), "abc");
        assert_eq!(plain("\u{9b}31ma\u{9d}0;title\u{7}b"), "ab");
        assert_eq!(plain("\u{1b}]0;no end"), "0;no end");
        assert_eq!(plain("\u{1b}[31"), "");
        assert_eq!(plain("\u{1b}é\u{1b}[é"), "éé");
        assert_eq!(plain("a\rb\u{8}c\u{202e}d\u{200b}e\u{feff}"), "abcde");
        assert_eq!(plain("e\u{301} 👨\u{200d}👩 ✔\u{fe0f} 東"), "e\u{301} 👨\u{200d}👩 ✔\u{fe0f} 東");
    }

    #[test]
    fn many_strings_with_and_without_an_end_are_passed_once() {
        const MANY: usize = 200_000;
        for start in
            ["\u{1b}]", "\u{1b}P", "\u{1b}X", "\u{1b}^", "\u{1b}_", "\u{90}", "\u{98}", "\u{9d}", "\u{9e}", "\u{9f}"]
        {
            assert_eq!(plain(&format!("{start}x").repeat(MANY)), "x".repeat(MANY), "{start:?}");
            for end in ["\u{7}", "\u{9c}", "\u{1b}\\"] {
                let ended = format!("{start}x{end}y").repeat(MANY);
                assert_eq!(plain(&format!("{ended}{start}z")), "y".repeat(MANY) + "z", "{start:?} {end:?}");
            }
        }
    }

    #[test]
    fn tabs_lead_to_the_next_stop() {
        assert_eq!(plain("\ta\tb"), "        a       b");
        assert_eq!(plain("東東\t|"), "東東    |");
    }

    fn fitted(lines: &[&str], width: usize) -> Vec<String> {
        fit(&lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>(), width)
    }

    #[test]
    fn lines_that_fit_stay_as_they_are() {
        assert_eq!(fitted(&["  a  b  ", "", "12345678"], 8), ["  a  b  ", "", "12345678"]);
        assert_eq!(fitted(&["a\nb\r\n\nc"], 8), ["a", "b", "", "c"]);
        assert_eq!(fitted(&[], 8), [""; 0]);
    }

    #[test]
    fn longer_lines_are_wrapped_between_words_if_they_can_be() {
        assert_eq!(fitted(&["one two-three four"], 9), ["one", "two-three", "four"]);
        assert_eq!(fitted(&["  abcdefgh"], 4), ["", "abcd", "efgh"]);
        assert_eq!(fitted(&["東東東a"], 5), ["東東", "東a"]);
    }

    #[test]
    fn no_line_is_wider_than_it_may_be() {
        for width in 0..12 {
            for line in fitted(&["one 東東東 \t two\u{1b}[3m-three four", "x\ty"], width) {
                assert!(display_width(&line) <= width.max(2), "{width}: {line:?}");
            }
        }
    }

    #[test]
    fn no_more_than_a_thousand_lines_are_shown() {
        let numbers = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(fit(&numbers(999), 80), numbers(999));
        assert_eq!(fit(&numbers(1_000), 80), [numbers(999), vec!["... (1 more line)".to_owned()]].concat());
        let shown = fit(&[numbers(5_000).join("\n")], 20);
        assert_eq!((shown.len(), &*shown[998], &*shown[999]), (1_000, "999", "... (4001 more lines"));
    }
}
