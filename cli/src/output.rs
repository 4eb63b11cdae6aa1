//! What the command says: results on standard output, everything else on standard error.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::error::CliError;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// For headings.
pub(crate) const BOLD: Style = Style::new().bold();

/// Where the command's own output goes.
pub(crate) struct Output {
    stdout: Mutex<AutoStream<File>>,
    json: bool,
}

impl Output {
    pub(crate) fn new(stdout: File) -> Self {
        let choice = AutoStream::choice(&stdout);
        Self { stdout: Mutex::new(AutoStream::new(stdout, choice)), json: false }
    }

    /// The same output, as one JSON object or as text.
    pub(crate) fn json(mut self, json: bool) -> Self {
        self.json = json;
        self
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints text with a line's end. A reader that went away is no failure of the command.
    pub(crate) fn print(&self, text: &str) {
        let mut stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        if let Err(error) = stdout.write_all(format!("{text}{end}").as_bytes()).and_then(|()| stdout.flush())
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.warn(&format!("standard output cannot be written: {error}"));
        }
    }

    /// Prints a JSON object on one line.
    pub(crate) fn print_json(&self, value: &Value) {
        self.print(&value.to_string());
    }

    pub(crate) fn help(&self, help: &clap::Error) {
        self.print(&help.render().ansi().to_string());
    }

    /// Says what went wrong, and returns the exit code.
    pub(crate) fn fail(&self, error: &CliError) -> u8 {
        if self.json {
            self.print_json(&json!({
                "error": {"code": error.code, "message": error.message, "fix": error.fix}
            }));
        } else {
            say(&format!("{RED}error:{RED:#} {}\n  {BOLD}fix:{BOLD:#} {}", error.message, error.fix));
        }
        error.exit
    }

    /// Says on standard error that a tool or a resolve failed.
    pub(crate) fn failure(&self, text: &str) {
        if !self.json {
            say(&format!("{RED}error:{RED:#} {text}"));
        }
    }

    /// Says on standard error what a person should know, whatever form the output has.
    pub(crate) fn warn(&self, text: &str) {
        say(&format!("{YELLOW}warning:{YELLOW:#} {text}"));
    }

    /// Says on standard error what happened.
    pub(crate) fn note(&self, text: &str) {
        say(text);
    }

    /// Shows progress on a terminal.
    pub(crate) fn progress(&self, text: &str) {
        if !self.json && io::stderr().is_terminal() {
            say(text);
        }
    }

    /// How wide a table may be.
    pub(crate) fn width(&self) -> Option<u16> {
        let stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        let size = rustix::termios::tcgetwinsize(stdout.as_inner()).ok()?;
        (size.ws_col > 0).then_some(size.ws_col)
    }
}

fn say(text: &str) {
    let mut stderr = anstream::stderr();
    // There is nowhere left to say that this failed.
    let _ = writeln!(stderr, "{text}");
}
