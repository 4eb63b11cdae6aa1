//! Asking a person at the terminal.

use std::io::{self, IsTerminal};
use std::path::Path;

use toolhost_core::Pending;

use super::diff;
use crate::keyboard::{Keyboard, Turn};
use crate::output::{BOLD, Output};
use crate::plain::title;

const DEFAULT_REASON: &str = "decided at the terminal";

/// What a person decided.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Apply(String),
    Discard(String),
    /// Discard this one and the rest, without a reason.
    Quit,
}

/// Whether there is somebody to ask.
pub(crate) fn possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until there is a decision. The end of input, like a signal, is `Quit`; Enter alone asks again. Paths are shown
/// relative to `cwd`.
pub(crate) async fn decide(
    pending: &Pending,
    place: (usize, usize),
    cwd: &Path,
    output: &Output,
    keyboard: &Keyboard,
) -> Answer {
    let Some(mut turn) = keyboard.turn().await else {
        return Answer::Quit;
    };
    let (at, of) = place;
    let count = if of > 1 { format!(" ({at} of {of})") } else { String::new() };
    output.note(&format!("\n{BOLD}{}{BOLD:#}{count}", title(pending)));
    loop {
        let Some(line) = turn.line("[a]pply / [d]iscard / [v]iew / [q]uit and discard: ").await else {
            return Answer::Quit;
        };
        match line.trim().to_ascii_lowercase().as_str() {
            "a" | "apply" => return reason(&mut turn).await.map_or(Answer::Quit, Answer::Apply),
            "d" | "discard" => return reason(&mut turn).await.map_or(Answer::Quit, Answer::Discard),
            "v" | "view" => output.note(&diff::view(pending, cwd)),
            "q" | "quit" => return Answer::Quit,
            "" => {}
            "?" | "h" | "help" => output.note("a makes the change, d drops it, v shows it, q drops it and all others."),
            other => output.note(&format!("`{other}` is no answer; type a, d, v or q, then Enter.")),
        }
    }
}

async fn reason(turn: &mut Turn) -> Option<String> {
    let line = turn.line(&format!("Reason (Enter for \"{DEFAULT_REASON}\"): ")).await?;
    let reason = line.trim();
    Some(if reason.is_empty() { DEFAULT_REASON } else { reason }.to_owned())
}
