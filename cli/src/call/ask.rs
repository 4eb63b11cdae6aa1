//! Asking a person at the terminal.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use toolhost_core::Pending;
use toolhost_protocol::FileChange;

use crate::output::{BOLD, Output};
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

/// Asks until there is a decision. The end of input, like a signal, is `Quit`; Enter alone asks again.
pub(crate) async fn decide(pending: &Pending, place: (usize, usize), output: &Output, signals: &Signals) -> Answer {
    let (at, of) = place;
    let count = if of > 1 { format!(" ({at} of {of})") } else { String::new() };
    output.note(&format!("\n{BOLD}{}{BOLD:#} ({}){count}", pending.label(), pending.source_tool_name()));
    loop {
        let Some(line) = line("[a]pply / [d]iscard / [v]iew / [q]uit and discard: ", signals).await else {
            return Answer::Quit;
        };
        match line.trim().to_ascii_lowercase().as_str() {
            "a" | "apply" => return reason(signals).await.map_or(Answer::Quit, Answer::Apply),
            "d" | "discard" => return reason(signals).await.map_or(Answer::Quit, Answer::Discard),
            "v" | "view" => output.note(&view(pending)),
            "q" | "quit" => return Answer::Quit,
            "" => {}
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

/// What an action would change, as far as it says so.
fn view(pending: &Pending) -> String {
    let Some(details) = pending.details() else {
        return "It says nothing more about itself.".to_owned();
    };
    let changes =
        details.get("changes").and_then(|changes| serde_json::from_value::<Vec<FileChange>>(changes.clone()).ok());
    match changes {
        Some(changes) => changes.iter().map(change).collect::<Vec<_>>().join("\n"),
        None => serde_json::to_string_pretty(details).unwrap_or_default(),
    }
}

fn change(change: &FileChange) -> String {
    let shown = |path: Option<std::path::PathBuf>| path.map(|path| format!("{path:?}")).unwrap_or_default();
    let kind = match serde_json::to_value(change.kind) {
        Ok(Value::String(kind)) => kind,
        _ => "change".to_owned(),
    };
    let paths = match change.old_path() {
        Some(old) => format!("{} -> {}", shown(Some(old)), shown(change.path())),
        None => shown(change.path()),
    };
    match &change.diff {
        Some(diff) => format!("{kind} {paths}\n{diff}"),
        None => format!("{kind} {paths}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolhost_core::{PendingAction, PendingActionStore};

    fn viewed(details: Option<Value>) -> String {
        let action = PendingAction::new("x", |_| async { Ok("".into()) });
        let action = details.into_iter().fold(action, PendingAction::details);
        view(&PendingActionStore::new().push(action).unwrap())
    }

    #[test]
    fn changes_are_listed_and_other_details_shown_as_they_are() {
        let changes = json!({"changes": [
            {"path": "/b c", "kind": "rename", "oldPath": "/a\n"},
            {"path": "/d", "kind": "modify", "diff": "-x\n+y"},
        ]});
        assert_eq!(viewed(Some(changes)), "rename \"/a\\n\" -> \"/b c\"\nmodify \"/d\"\n-x\n+y");
        assert_eq!(viewed(Some(json!({"n": 1}))), "{\n  \"n\": 1\n}");
        assert_eq!(viewed(None), "It says nothing more about itself.");
    }
}
