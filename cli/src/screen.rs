//! Standard error, on which several speak at once: whole lines, at most one question, and a line on what is going on.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use textwrap::core::display_width;

/// The process's own.
pub(crate) static SCREEN: Screen = Screen { state: Mutex::new(State::new()) };

/// Columns of a terminal that does not say how many it has.
pub(crate) const COLUMNS: usize = 80;

/// How many statuses one plugin may have; those beyond are left out.
const MOST_STATUSES: usize = 100;
/// How much of a status is looked at: far more than any line has columns.
const MOST_CHARACTERS: usize = 1_000;

pub(crate) struct Screen {
    state: Mutex<State>,
}

struct State {
    /// What a person is asked, at the beginning of the last line.
    prompt: Option<String>,
    /// In the order in which they came.
    statuses: Vec<Status>,
    /// How many columns of the last line the statuses take.
    drawn: usize,
    closed: bool,
}

struct Status {
    plugin: String,
    key: String,
    text: String,
}

impl Screen {
    /// Writes a line of this program's own.
    pub(crate) fn line(&self, text: &str) {
        self.beside(|| write_line(text));
    }

    /// The same for whoever must not wait, whatever holds up the others.
    pub(crate) fn urgent_line(&self, text: &str) {
        match self.state.try_lock() {
            Ok(mut state) => state.beside(|| write_line(text)),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().beside(|| write_line(text)),
            Err(TryLockError::WouldBlock) => write_line(text),
        }
    }

    /// Does what writes to the terminal by another way.
    pub(crate) fn beside<R>(&self, write: impl FnOnce() -> R) -> R {
        self.lock().beside(write)
    }

    /// Asks; the answer begins behind the prompt. One at a time.
    pub(crate) fn ask(&self, prompt: &str) -> Prompt<'_> {
        let mut state = self.lock();
        state.hide();
        state.prompt = Some(prompt.to_owned());
        state.show();
        drop(state);
        Prompt { screen: self }
    }

    /// Ends the line on which a question waits. True where one did.
    pub(crate) fn take_back(&self) -> bool {
        let mut state = self.lock();
        if state.prompt.is_none() {
            return false;
        }
        state.hide();
        state.prompt = None;
        state.show();
        true
    }

    /// Shows what a plugin says is going on, or takes it away.
    pub(crate) fn status(&self, plugin: &str, key: &str, text: Option<String>) {
        let mut state = self.lock();
        if state.set(plugin, key, text) && state.prompt.is_none() {
            state.hide();
            state.show();
        }
    }

    /// Takes away what is not meant to stay; from now on there is none of it.
    pub(crate) fn close(&self) {
        self.lock().close();
    }

    /// The same for whoever must not wait.
    pub(crate) fn urgent_close(&self) {
        if let Ok(mut state) = self.state.try_lock() {
            state.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    const fn new() -> Self {
        Self { prompt: None, statuses: Vec::new(), drawn: 0, closed: false }
    }

    /// False where nothing changes.
    fn set(&mut self, plugin: &str, key: &str, text: Option<String>) -> bool {
        let of_plugin = |status: &&Status| status.plugin == plugin;
        let known = self.statuses.iter().position(|status| status.plugin == plugin && status.key == key);
        match (known, text) {
            (Some(at), Some(text)) => self.statuses[at].text = beginning(&text),
            (Some(at), None) => drop(self.statuses.remove(at)),
            (None, Some(text)) if self.statuses.iter().filter(of_plugin).count() < MOST_STATUSES => {
                let (plugin, key) = (plugin.to_owned(), key.to_owned());
                self.statuses.push(Status { plugin, key, text: beginning(&text) });
            }
            (None, _) => return false,
        }
        true
    }

    fn beside<R>(&mut self, write: impl FnOnce() -> R) -> R {
        self.hide();
        let written = write();
        self.show();
        written
    }

    /// Leaves the cursor at the beginning of an empty line.
    fn hide(&mut self) {
        if self.prompt.is_some() {
            write("\n");
        }
        if self.drawn > 0 {
            // Not every terminal can erase a line, but all of them can write over one.
            write(&format!("\r{}\r", " ".repeat(self.drawn)));
            self.drawn = 0;
        }
    }

    /// Writes what stands on the last line again.
    fn show(&mut self) {
        if self.closed {
            return;
        }
        if let Some(prompt) = &self.prompt {
            write(prompt);
            return;
        }
        if self.statuses.is_empty() || !io::stderr().is_terminal() {
            return;
        }
        // In the last column many terminals would begin a new line.
        let line = self.last_line(columns().saturating_sub(1));
        write(&line);
        self.drawn = display_width(&line);
    }

    fn last_line(&self, width: usize) -> String {
        let text = |status: &Status| format!("{}: {}", status.plugin, status.text);
        cut(&self.statuses.iter().map(text).collect::<Vec<_>>().join(" | "), width)
    }

    fn close(&mut self) {
        self.hide();
        self.prompt = None;
        self.closed = true;
    }
}

/// A question that waits for its answer. Dropped without one, it is taken back.
pub(crate) struct Prompt<'a> {
    screen: &'a Screen,
}

impl Prompt<'_> {
    /// A person has typed a line's end.
    pub(crate) fn answered(self) {
        let mut state = self.screen.lock();
        state.prompt = None;
        state.show();
    }

    /// There is no answer.
    pub(crate) fn unanswered(self) {
        self.screen.take_back();
    }
}

impl Drop for Prompt<'_> {
    fn drop(&mut self) {
        if self.screen.take_back() {
            self.screen.line("The question was taken back.");
        }
    }
}

/// Standard error for a log, of which every piece is a number of whole lines.
pub(crate) struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SCREEN.beside(|| anstream::stderr().write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As much of a status as is looked at.
fn beginning(text: &str) -> String {
    text.chars().take(MOST_CHARACTERS).collect()
}

/// The text's beginning in so many columns. Characters without a width count, too, in that they are not without end.
fn cut(text: &str, width: usize) -> String {
    let (mut line, mut left) = (String::new(), width);
    for c in text.chars().take(MOST_CHARACTERS) {
        let Some(rest) = left.checked_sub(display_width(c.encode_utf8(&mut [0; 4]))) else {
            break;
        };
        line.push(c);
        left = rest;
    }
    line
}

/// How many columns the terminal behind standard error has.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr());
    size.ok().map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0).unwrap_or(COLUMNS)
}

fn write_line(text: &str) {
    write(&format!("{text}\n"));
}

fn write(text: &str) {
    let mut stderr = anstream::stderr();
    // There is nowhere left to say that this failed.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_the_columns_end() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc");
        assert_eq!(cut("東東", 3), "東");
        assert_eq!(cut("e\u{301}e", 1), "e\u{301}");
        assert_eq!(cut("a", 0), "");
    }

    #[test]
    fn a_long_status_is_not_measured_to_its_end() {
        let mut state = State::new();
        assert!(state.set("p", "k", Some("x".repeat(10_000_000))));
        assert_eq!(state.statuses[0].text, "x".repeat(MOST_CHARACTERS));
        assert_eq!(state.last_line(79), format!("p: {}", "x".repeat(76)));
        assert_eq!(cut(&"x".repeat(10_000_000), 79), "x".repeat(79));
        assert_eq!(cut(&"\u{301}".repeat(10_000_000), 79), "\u{301}".repeat(MOST_CHARACTERS));
    }

    #[test]
    fn one_plugin_has_no_more_than_a_hundred_statuses() {
        let mut state = State::new();
        for key in 0..200 {
            assert_eq!(state.set("p", &key.to_string(), Some(format!("{key}"))), key < 100, "{key}");
        }
        assert_eq!(state.statuses.len(), 100);
        assert!(state.set("p", "99", Some("new".to_owned())), "one that is there changes");
        assert!(state.set("q", "100", Some("other".to_owned())), "another plugin has its own");
        assert!(!state.set("p", "100", None), "one that was left out cannot go");
        assert!(state.set("p", "0", None) && state.set("p", "100", Some("next".to_owned())));
        let last = &state.statuses[98..];
        assert_eq!(last.iter().map(|status| &*status.text).collect::<Vec<_>>(), ["new", "other", "next"]);
    }
}
