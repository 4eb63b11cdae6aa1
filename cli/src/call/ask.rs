//! Asking a person at the terminal.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use toolhost_core::Pending;

use super::diff;
use crate::output::{BOLD, Output};
use crate::plain::title;
use crate::signals::Signals;

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
    signals: &Signals,
) -> Answer {
    let (at, of) = place;
    let count = if of > 1 { format!(" ({at} of {of})") } else { String::new() };
    output.note(&format!("\n{BOLD}{}{BOLD:#}{count}", title(pending)));
    loop {
        let Some(line) = line("[a]pply / [d]iscard / [v]iew / [q]uit and discard: ", signals).await else {
            return Answer::Quit;
        };
        match line.trim().to_ascii_lowercase().as_str() {
            "a" | "apply" => return reason(signals).await.map_or(Answer::Quit, Answer::Apply),
            "d" | "discard" => return reason(signals).await.map_or(Answer::Quit, Answer::Discard),
            "v" | "view" => output.note(&diff::view(pending, cwd)),
            "q" | "quit" => return Answer::Quit,
            "" => {}
            "?" | "h" | "help" => output.note("a makes the change, d drops it, v shows it, q drops it and all others."),
            other => output.note(&format!("`{other}` is no answer; type a, d, v or q, then Enter.")),
        }
    }
}

async fn reason(signals: &Signals) -> Option<String> {
    let line = line(&format!("Reason (Enter for \"{DEFAULT_REASON}\"): "), signals).await?;
    let reason = line.trim();
    Some(if reason.is_empty() { DEFAULT_REASON } else { reason }.to_owned())
}

/// One line of standard input; `None` at its end, and where a signal arrives first.
async fn line(prompt: &str, signals: &Signals) -> Option<String> {
    let mut stderr = io::stderr();
    let _ = stderr.write_all(prompt.as_bytes()).and_then(|()| stderr.flush());
    // The thread that reads cannot be interrupted; the end of the process takes it along.
    let reading = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|read| (read > 0).then_some(line))
    });
    let answer = tokio::select! {
        answer = reading => answer.ok().and_then(Result::ok).flatten(),
        _ = signals.wait() => None,
    };
    if answer.is_none() {
        // The prompt has no line's end of the person's.
        let _ = stderr.write_all(b"\n");
    }
    answer
}
