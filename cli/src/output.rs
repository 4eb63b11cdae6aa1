//! What the command says: results on standard output, everything else on standard error.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde_json::Value;
use toolhost_core::service::NoticeLevel;

use crate::error::{CliError, FAILED, OK};
use crate::plain::{continued, plain, plain_line};
use crate::screen::{COLUMNS, SCREEN};

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
/// For headings.
pub(crate) const BOLD: Style = Style::new().bold();

/// Where the command's own output goes.
pub(crate) struct Output {
    stdout: Mutex<AutoStream<File>>,
    json: bool,
    /// Something could not be written.
    lost: AtomicBool,
}

impl Output {
    pub(crate) fn new(stdout: File) -> Self {
        let choice = AutoStream::choice(&stdout);
        Self { stdout: Mutex::new(AutoStream::new(stdout, choice)), json: false, lost: AtomicBool::new(false) }
    }

    /// The same output, as one JSON object or as text.
    pub(crate) fn json(mut self, json: bool) -> Self {
        self.json = json;
        if json {
            let stdout = self.stdout.get_mut().unwrap_or_else(PoisonError::into_inner);
            LAST_WORDS.get_or_init(|| stdout.as_inner().try_clone().ok());
        }
        self
    }

    /// The exit code, unless what the command said was lost on the way.
    pub(crate) fn exit_code(&self, code: u8) -> u8 {
        if code == OK && self.lost.load(Ordering::Relaxed) { FAILED } else { code }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints text with a line's end. A reader that went away is no failure of the command.
    pub(crate) fn print(&self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let write = || {
            let mut stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
            stdout.write_all(format!("{text}{end}").as_bytes()).and_then(|()| stdout.flush())
        };
        // A pipe that nobody reads holds up this alone.
        let written = if self.is_terminal() { SCREEN.beside(write) } else { write() };
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.lost.store(true, Ordering::Relaxed);
            self.warn(&format!("standard output cannot be written: {error}"));
        }
    }

    /// Prints a JSON object on one line.
    pub(crate) fn print_json(&self, value: &Value) {
        if !SAID.swap(true, Ordering::Relaxed) {
            self.print(&value.to_string());
        }
    }

    pub(crate) fn help(&self, help: &clap::Error) {
        self.print(&help.render().ansi().to_string());
    }

    /// Says what went wrong, and returns the exit code.
    pub(crate) fn fail(&self, error: &CliError) -> u8 {
        if self.json {
            self.print_json(&error.as_json());
        } else {
            say(&failed(error));
        }
        error.exit
    }

    /// Says on standard error that a tool or a resolve failed.
    pub(crate) fn failure(&self, text: &str) {
        if !self.json {
            say(&format!("{RED}error:{RED:#} {}", continued(text)));
        }
    }

    /// Says on standard error, in one line, what a person should know, whatever form the output has.
    pub(crate) fn warn(&self, text: &str) {
        say(&format!("{YELLOW}warning:{YELLOW:#} {}", plain_line(text)));
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

    /// How many columns there are for somebody who reads; `None` where a program does.
    pub(crate) fn columns_of_person(&self) -> Option<usize> {
        (self.is_terminal() && !self.json).then(|| self.width().map_or(COLUMNS, usize::from))
    }

    fn is_terminal(&self) -> bool {
        self.stdout.lock().unwrap_or_else(PoisonError::into_inner).as_inner().is_terminal()
    }
}

fn failed(error: &CliError) -> String {
    let [message, fix] = [&error.message, &error.fix].map(|text| continued(&plain(text)));
    format!("{RED}error:{RED:#} {message}\n  {BOLD}fix:{BOLD:#} {fix}")
}

/// Whether the one JSON object was printed.
static SAID: AtomicBool = AtomicBool::new(false);
/// Standard output, where a JSON object is due, for whoever ends the process without asking anybody.
static LAST_WORDS: OnceLock<Option<File>> = OnceLock::new();

/// Prints the JSON object that is still due, if one is.
pub(crate) fn last_words(error: &CliError) {
    if let Some(Some(mut stdout)) = LAST_WORDS.get().map(Option::as_ref)
        && !SAID.swap(true, Ordering::Relaxed)
    {
        let _ = writeln!(stdout, "{}", error.as_json());
    }
}

/// Says on standard error what a plugin wants to be known.
pub(crate) fn notice(level: NoticeLevel, text: &str) {
    match level {
        NoticeLevel::Error => say(&format!("{RED}error:{RED:#} {text}")),
        NoticeLevel::Warning => say(&format!("{YELLOW}warning:{YELLOW:#} {text}")),
        _ => say(text),
    }
}

fn say(text: &str) {
    SCREEN.line(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_has_one_error_and_one_fix_whatever_its_message_says() {
        let panicked = "panicked: p\nerror: e\r\n  fix: f\u{1b}[2J\u{202e}\0";
        let said = failed(&CliError::usage("code", panicked, "really\nfix: that"));
        let shown = "panicked: p\n    error: e\\r\n      fix: f\\u{1b}[2J\\u{202e}\\u{0}";
        assert_eq!(
            anstream::adapter::strip_str(&said).to_string(),
            format!("error: {shown}\n  fix: really\n    fix: that")
        );
    }
}
