//! Whether somebody who knows what it is about agrees.

use std::io::{self, IsTerminal};
use std::path::Path;

use crate::error::{CliError, STALE};
use crate::keyboard::Keyboard;
use crate::output::Output;
use crate::plain::plain_line;
use crate::signals::Signals;

/// How somebody agrees who is not asked.
pub(crate) enum Unasked<'a> {
    /// By the hash of what it is about, of which this is the right one.
    Hash { given: Option<&'a str>, right: &'a str },
    /// By saying so.
    Flag(bool),
}

/// Whether it is to be done. Asked on a terminal, unless that is said already.
///
/// # Errors
///
/// A hash is not that of the file; nobody can be asked; a signal.
pub(crate) async fn consent(
    question: &str,
    unasked: Unasked<'_>,
    again: &str,
    output: &Output,
    signals: &Signals,
) -> Result<bool, CliError> {
    match unasked {
        Unasked::Flag(true) => return Ok(true),
        Unasked::Hash { given: Some(given), right } if given == right => return Ok(true),
        Unasked::Hash { given: Some(given), right } => {
            return Err(CliError {
                exit: STALE,
                code: "hash-differs",
                message: format!("the file's hash is {right}, not {given}; nothing was done"),
                fix: "look at what the file is now, and give its hash only if that is right".to_owned(),
            });
        }
        _ if output.is_json() || !io::stdin().is_terminal() || !io::stderr().is_terminal() => {
            let fix = format!("run it on a terminal, or say so: `{again}`");
            return Err(CliError::usage("nobody-to-ask", "there is nobody here to ask", fix));
        }
        _ => {}
    }
    let answer = ask(question, output, signals).await;
    signals.received().map_or(Ok(answer), |code| {
        Err(CliError { message: "interrupted; nothing was done".to_owned(), ..CliError::interrupted(code) })
    })
}

async fn ask(question: &str, output: &Output, signals: &Signals) -> bool {
    let keyboard = Keyboard::new(signals.clone());
    let Some(mut turn) = keyboard.turn().await else {
        return false;
    };
    while let Some(line) = turn.line(&format!("{question} [y/N]: ")).await {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return true,
            "" | "n" | "no" | "q" => return false,
            other => output.note(&format!("`{}` is no answer; type y or n, then Enter.", plain_line(other))),
        }
    }
    false
}

/// A path as a word of a command line.
pub(crate) fn word(path: &Path) -> String {
    let path = path.to_string_lossy();
    shlex::try_quote(&path).unwrap_or_default().into_owned()
}
