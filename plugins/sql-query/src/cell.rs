//! Values of a database, as text for people and models and as JSON for programs.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use crate::text::escaped;

/// The largest integer up to which every JSON reader keeps each integer apart from its neighbours.
const EXACT: u64 = (1 << 53) - 1;
/// How many bytes of a blob are shown.
const BLOB_SHOWN: usize = 32;

/// One value, cut where it is long.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    kept: Kept,
    /// How many bytes a text or a blob has that was cut.
    cut_from: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Null,
    Integer(i64),
    Real(f64),
    /// UTF-8, unless a program wrote something else.
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl Cell {
    /// The value; of a text or a blob at most `limit` bytes.
    pub(crate) fn new(value: ValueRef<'_>, limit: usize) -> Self {
        let (kept, length) = match value {
            ValueRef::Null => (Kept::Null, 0),
            ValueRef::Integer(n) => (Kept::Integer(n), 0),
            ValueRef::Real(x) => (Kept::Real(x), 0),
            ValueRef::Text(text) => (Kept::Text(text[..whole_characters(text, limit)].to_vec()), text.len()),
            ValueRef::Blob(blob) => (Kept::Blob(blob[..blob.len().min(limit)].to_vec()), blob.len()),
        };
        let cut_from = (kept.len() < length).then_some(length);
        Self { kept, cut_from }
    }

    /// Whether it is a number, which stands at the right of its column.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self.kept, Kept::Integer(_) | Kept::Real(_))
    }

    /// Whether it is NULL.
    pub(crate) fn is_null(&self) -> bool {
        self.kept == Kept::Null
    }

    /// Whether the value has more than is kept of it.
    pub(crate) fn is_cut(&self) -> bool {
        self.cut_from.is_some()
    }

    /// About how many bytes it takes in a result.
    pub(crate) fn size(&self) -> usize {
        self.kept.len().max(1)
    }

    /// For programs: null, a number, a string, or an object for what JSON has no word for.
    ///
    /// `{"integer": ".."}` is one beyond 2^53, `{"real": "Infinity"}` no finite number, `{"blob": ".."}` base64,
    /// `{"textBytes": ".."}` base64 of a text that is not UTF-8, `{"text": ".."}` a text that was cut. What was cut has
    /// `cutFrom`, the number of its bytes.
    pub(crate) fn json(&self) -> Value {
        let mut object = match &self.kept {
            Kept::Null => return Value::Null,
            Kept::Integer(n) if n.unsigned_abs() <= EXACT => return json!(n),
            Kept::Integer(n) => return json!({"integer": n.to_string()}),
            Kept::Real(x) if x.is_finite() => return json!(x),
            Kept::Real(x) => return json!({"real": real(*x)}),
            Kept::Text(bytes) => match (std::str::from_utf8(bytes), self.cut_from) {
                (Ok(text), None) => return json!(text),
                (Ok(text), Some(_)) => json!({"text": text}),
                (Err(_), _) => json!({"textBytes": BASE64_STANDARD.encode(bytes)}),
            },
            Kept::Blob(bytes) => json!({"blob": BASE64_STANDARD.encode(bytes)}),
        };
        if let Some(length) = self.cut_from {
            object["cutFrom"] = json!(length);
        }
        object
    }

    /// In a table: a text stands bare where nothing else could be meant, and else in double quotes with escapes.
    pub(crate) fn shown(&self) -> String {
        match &self.kept {
            Kept::Text(bytes) if self.cut_from.is_none() => match std::str::from_utf8(bytes) {
                Ok(text) if is_plain(text) => text.to_owned(),
                _ => self.quoted(),
            },
            _ => self.quoted(),
        }
    }

    /// In a line of text: a text always stands in double quotes.
    pub(crate) fn quoted(&self) -> String {
        let mut out = match &self.kept {
            Kept::Null => "NULL".to_owned(),
            Kept::Integer(n) => n.to_string(),
            Kept::Real(x) => real(*x),
            Kept::Text(bytes) => format!("\"{}\"", escaped(bytes)),
            Kept::Blob(bytes) => {
                let shown = &bytes[..bytes.len().min(BLOB_SHOWN)];
                format!("x'{}'", hex::encode(shown))
            }
        };
        let length = match &self.kept {
            Kept::Blob(bytes) if bytes.len() > BLOB_SHOWN => Some(self.cut_from.unwrap_or(bytes.len())),
            _ => self.cut_from,
        };
        if let Some(length) = length {
            // Writing to a String cannot fail.
            let _ = write!(out, "… ({length} bytes)");
        }
        out
    }
}

impl Kept {
    fn len(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => 0,
            Self::Text(bytes) | Self::Blob(bytes) => bytes.len(),
        }
    }
}

/// How many of at most `limit` bytes do not split a character.
fn whole_characters(text: &[u8], limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    let is_inside = |at: usize| text[at] & 0b1100_0000 == 0b1000_0000;
    (limit.saturating_sub(3)..=limit).rev().find(|&at| !is_inside(at)).unwrap_or(limit)
}

fn real(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    // With a point or an exponent even where it is whole, which tells it from an integer.
    format!("{x:?}")
}

/// Whether a text cannot be taken for another value, or for a part of the table around it.
fn is_plain(text: &str) -> bool {
    let is_other = text.eq_ignore_ascii_case("null") || text.parse::<f64>().is_ok() || text.starts_with("x'");
    !text.is_empty() && text.trim() == text && !is_other && !text.contains('|') && escaped(text.as_bytes()) == text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], limit: usize) -> Cell {
        Cell::new(ValueRef::Text(bytes), limit)
    }

    #[test]
    fn every_kind_of_value_can_be_told_apart() {
        let cases = [
            (ValueRef::Null, "NULL", Value::Null),
            (ValueRef::Integer(-7), "-7", json!(-7)),
            (ValueRef::Integer(9_007_199_254_740_991), "9007199254740991", json!(9_007_199_254_740_991_i64)),
            (ValueRef::Integer(9_007_199_254_740_992), "9007199254740992", json!({"integer": "9007199254740992"})),
            (ValueRef::Integer(i64::MIN), "-9223372036854775808", json!({"integer": "-9223372036854775808"})),
            (ValueRef::Real(2.0), "2.0", json!(2.0)),
            (ValueRef::Real(f64::NEG_INFINITY), "-Infinity", json!({"real": "-Infinity"})),
            (ValueRef::Text(b"Z\xc3\xbcrich"), "Zürich", json!("Zürich")),
            (ValueRef::Text(b""), "\"\"", json!("")),
            (ValueRef::Text(b"null"), "\"null\"", json!("null")),
            (ValueRef::Text(b"0123"), "\"0123\"", json!("0123")),
            (ValueRef::Text(b"x'00'"), "\"x'00'\"", json!("x'00'")),
            (ValueRef::Text(b" a"), "\" a\"", json!(" a")),
            (ValueRef::Text(b"a|b"), "\"a|b\"", json!("a|b")),
            (ValueRef::Text(b"a\n\"b\x1b"), "\"a\\n\\\"b\\u{1b}\"", json!("a\n\"b\u{1b}")),
            (ValueRef::Text(b"a\xff"), "\"a\\xff\"", json!({"textBytes": "Yf8="})),
            (ValueRef::Blob(b"\x00\xff"), "x'00ff'", json!({"blob": "AP8="})),
            (ValueRef::Blob(b""), "x''", json!({"blob": ""})),
        ];
        for (value, shown, json) in cases {
            let cell = Cell::new(value, 100);
            assert_eq!((cell.shown().as_str(), cell.json()), (shown, json), "{value:?}");
            assert!(!cell.is_cut());
        }
        assert_eq!(text(b"plain", 100).quoted(), "\"plain\"");
    }

    #[test]
    fn what_is_long_is_cut_between_characters_and_says_how_long_it_was() {
        let cell = text("aé漢𝄞".as_bytes(), 5);
        assert_eq!(cell.shown(), "\"aé\"… (10 bytes)");
        assert_eq!(cell.json(), json!({"text": "aé", "cutFrom": 10}));
        assert!(cell.is_cut());
        assert_eq!(text("aé漢𝄞".as_bytes(), 6).json(), json!({"text": "aé漢", "cutFrom": 10}));
        assert_eq!(text("aé漢𝄞".as_bytes(), 10).json(), json!("aé漢𝄞"));
        assert_eq!(text(&[0xbf; 9], 5).json(), json!({"textBytes": "v7+/v78=", "cutFrom": 9}));

        let blob = Cell::new(ValueRef::Blob(&[1; 40]), 36);
        assert_eq!(blob.shown(), format!("x'{}'… (40 bytes)", "01".repeat(32)));
        let whole = Cell::new(ValueRef::Blob(&[1; 40]), 40);
        assert_eq!(whole.shown(), format!("x'{}'… (40 bytes)", "01".repeat(32)));
        assert_eq!(whole.json(), json!({"blob": BASE64_STANDARD.encode([1; 40])}));
    }
}
