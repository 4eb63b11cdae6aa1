//! Lines: framed, checked, and read one by one.

use std::fmt;
use std::io::{self, BufRead, Read};

use serde::Serialize;

/// The longest line, its line feed included, that is written or read, in bytes. It bounds the memory that damage can
/// cost.
pub(super) const MAX_LINE: usize = 64 << 20;

/// Eight hexadecimal digits and a space.
const PREFIX: usize = 9;

/// A line with its checksum and its line feed.
///
/// # Errors
///
/// `InvalidInput` where the line would be longer than [`MAX_LINE`].
pub(super) fn encode(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = vec![b' '; PREFIX];
    serde_json::to_writer(&mut line, value)?;
    let checksum = checksum(&line[PREFIX..]);
    line[..checksum.len()].copy_from_slice(checksum.as_bytes());
    line.push(b'\n');
    if line.len() > MAX_LINE {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, Flaw::TooLong.to_string()));
    }
    Ok(line)
}

/// The JSON of a line without its line feed.
pub(super) fn verified(line: &[u8]) -> Result<&[u8], Flaw> {
    let (prefix, json) = line.split_at_checked(PREFIX).ok_or(Flaw::Frame)?;
    if prefix[PREFIX - 1] != b' ' {
        return Err(Flaw::Frame);
    }
    if prefix[..PREFIX - 1] != *checksum(json).as_bytes() {
        return Err(Flaw::Checksum);
    }
    Ok(json)
}

fn checksum(json: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(json))
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    TooLong,
    Frame,
    Checksum,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "it is longer than {MAX_LINE} bytes"),
            Self::Frame => f.write_str("it is not a checksum, a space and JSON"),
            Self::Checksum => f.write_str("its checksum does not match"),
        }
    }
}

/// A file's lines, of which one is in memory at a time.
pub(super) struct Lines<R> {
    source: R,
    longest: usize,
    buffer: Vec<u8>,
    number: u64,
    offset: u64,
}

pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: u64,
    /// Where the line ends, in bytes from the start of the file.
    pub(super) end: u64,
    /// Whether it ends in a line feed; a file's last line may not.
    pub(super) terminated: bool,
    /// Without the line feed.
    pub(super) text: Result<&'a [u8], Flaw>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, longest: MAX_LINE, buffer: Vec::new(), number: 0, offset: 0 }
    }

    /// The next line; `None` at the end of the file.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        if self.fill()? == 0 {
            return Ok(None);
        }
        let mut too_long = false;
        while self.buffer.len() == self.longest && !self.buffer.ends_with(b"\n") {
            too_long = true;
            if self.fill()? == 0 {
                break;
            }
        }
        self.number += 1;
        let (text, terminated) = match self.buffer.strip_suffix(b"\n") {
            Some(text) => (text, true),
            None => (self.buffer.as_slice(), false),
        };
        let text = if too_long { Err(Flaw::TooLong) } else { Ok(text) };
        Ok(Some(Line { number: self.number, end: self.offset, terminated, text }))
    }

    /// Reads up to the end of the line, or as much of it as may be.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.clear();
        let read = self.source.by_ref().take(self.longest as u64).read_until(b'\n', &mut self.buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_is_a_checksum_a_space_and_json() {
        let line = encode(&json!({"event": "applied"})).unwrap();
        assert_eq!(String::from_utf8(line.clone()).unwrap(), "48ded255 {\"event\":\"applied\"}\n");
        assert_eq!(verified(&line[..line.len() - 1]), Ok(&b"{\"event\":\"applied\"}"[..]));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let line = encode(&json!({"id": "a"})).unwrap();
        for bit in 0..(line.len() - 1) * 8 {
            let mut damaged = line[..line.len() - 1].to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(verified(&damaged).is_err(), "{bit}");
        }
    }

    #[test]
    fn what_has_no_frame_is_told_from_what_is_damaged() {
        assert_eq!(verified(b""), Err(Flaw::Frame));
        assert_eq!(verified(b"00000000{}"), Err(Flaw::Frame));
        assert_eq!(verified(b"00000000 {}"), Err(Flaw::Checksum));
    }

    #[test]
    fn a_line_too_long_is_passed_over_and_the_next_one_read() {
        let mut lines = Lines { longest: 8, ..Lines::new(&b"1234567\n12345678\n1234567890abcdefghi\nend"[..]) };
        let mut seen = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            seen.push((line.number, line.end, line.terminated, line.text.map(<[u8]>::to_vec)));
        }
        let expected = [
            (1, 8, true, Ok(b"1234567".to_vec())),
            (2, 17, true, Err(Flaw::TooLong)),
            (3, 37, true, Err(Flaw::TooLong)),
            (4, 40, false, Ok(b"end".to_vec())),
        ];
        assert_eq!(seen, expected);
        let mut endless = Lines { longest: 8, ..Lines::new(&b"12345678"[..]) };
        assert_eq!(endless.next().unwrap().map(|line| (line.terminated, line.text)), Some((false, Err(Flaw::TooLong))));
        assert!(endless.next().unwrap().is_none());
    }
}
