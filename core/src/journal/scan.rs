use std::io::{self, BufReader, Read};

use serde::de::DeserializeOwned;

use super::ledger::Ledger;
use super::line::{Line, Lines, verified};
use super::record::{FormatOnly, Header};
use super::{FORMAT, Problem};

/// One file, read line by line.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) header: Option<Header>,
    pub(super) ledger: Ledger,
    pub(super) problems: Vec<Problem>,
    /// Whether it is of a format that this version does not know, and so neither reads nor writes to.
    pub(super) is_newer: bool,
    /// How far the file is worth keeping, in bytes: all of it but a torn last line.
    pub(super) length: u64,
    pub(super) ending: Ending,
}

/// How a file ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// In a line feed, or at once.
    #[default]
    Whole,
    /// In a line that is whole but for its line feed.
    NoLineFeed,
    /// In a part of a line.
    Torn,
}

impl Scan {
    /// Reads on to the end.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read; what was read so far stands.
    pub(super) fn read(&mut self, file: impl Read) -> io::Result<()> {
        let mut lines = Lines::new(BufReader::new(file));
        while let Some(line) = lines.next()? {
            let taken = if line.number == 1 { self.header(&line) } else { self.record(&line) };
            self.settle(&line, taken);
            if self.is_newer {
                return Ok(());
            }
        }
        if self.length == 0 && self.problems.is_empty() {
            self.problems.push(Problem::Empty);
        }
        Ok(())
    }

    fn header(&mut self, line: &Line<'_>) -> Result<(), String> {
        let FormatOnly { format } = decode(line)?;
        if format > FORMAT {
            self.problems.push(Problem::NewerFormat { format });
            self.is_newer = true;
            self.header = decode(line).ok();
            return Ok(());
        }
        self.header = Some(decode(line)?);
        Ok(())
    }

    fn record(&mut self, line: &Line<'_>) -> Result<(), String> {
        self.ledger.enter(decode(line)?);
        Ok(())
    }

    fn settle(&mut self, line: &Line<'_>, taken: Result<(), String>) {
        match taken {
            Err(_) if !line.terminated => {
                self.ending = Ending::Torn;
                self.problems.push(Problem::Torn { line: line.number });
                return;
            }
            Err(why) => self.problems.push(Problem::BadLine { line: line.number, why }),
            Ok(()) if !line.terminated => self.ending = Ending::NoLineFeed,
            Ok(()) => {}
        }
        self.length = line.end;
    }
}

fn decode<T: DeserializeOwned>(line: &Line<'_>) -> Result<T, String> {
    let json = line.text.and_then(verified).map_err(|flaw| flaw.to_string())?;
    serde_json::from_slice(json).map_err(|error| {
        let text = error.to_string();
        // Where in the line it is would read as another number of a line.
        let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
        format!("it says something else than expected: {what}")
    })
}
