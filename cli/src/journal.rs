//! `toolhost journal`, and the journal that `toolhost call` keeps.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::{Value, json};
use toolhost_core::ResolveAction;
use toolhost_core::journal::{Fate, Interrupted, JournalAction, SessionJournal, read_all, recover};

use crate::error::{CliError, OK};
use crate::output::{BOLD, Output};
use crate::plain::plain_line;

/// Shows all journals, the oldest first.
pub(crate) fn run(directory: Option<&Path>, output: &Output) -> Result<u8, CliError> {
    let Some(directory) = directory.map(Path::to_owned).or_else(default_directory) else {
        let fix = "name it with --journal-dir";
        return Err(CliError::usage("journal", "this user has no state directory for a journal", fix));
    };
    let failed = |error: std::io::Error| {
        let message = format!("the journal in {} cannot be read: {error}", directory.display());
        CliError::usage("journal", message, "name another directory with --journal-dir")
    };
    let interrupted = recover(&directory).map_err(failed)?;
    let sessions = read_all(&directory).map_err(failed)?;
    if output.is_json() {
        output.print_json(&json!({"interrupted": interrupted, "sessions": sessions}));
        return Ok(OK);
    }
    warn_of(&interrupted, output);
    let shown: Vec<_> = sessions.iter().filter(|session| !is_empty(session)).map(session_text).collect();
    if shown.is_empty() {
        output.note(&format!("Nothing is on record in {}.", directory.display()));
    } else {
        output.print(&shown.join("\n\n"));
    }
    Ok(OK)
}

/// The directory for the journal of a call. `None`, with a warning, where none can be kept. Says first what earlier
/// calls have left half way.
pub(crate) fn prepare(directory: Option<&Path>, output: &Output) -> Option<PathBuf> {
    let directory = directory.map(Path::to_owned).or_else(default_directory)?;
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
        let place = directory.display();
        output.warn(&format!(
            "no journal is kept, since {place} cannot be made: {error}; name another with --journal-dir"
        ));
        return None;
    }
    match recover(&directory) {
        Ok(interrupted) => warn_of(&interrupted, output),
        Err(error) => output.warn(&format!("the journal in {} cannot be read: {error}", directory.display())),
    }
    Some(directory)
}

fn default_directory() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("toolhost/journal"))
}

fn warn_of(interrupted: &[Interrupted], output: &Output) {
    for action in interrupted {
        let (label, source) = (plain_line(&action.label), plain_line(&action.source_tool_name));
        let paths = changed_paths(action.details.as_ref());
        let paths = if paths.is_empty() { String::new() } else { format!(": {}", paths.join(", ")) };
        output.warn(&format!(
            "the apply of {label} ({source}) was cut off after {}; check what it was about to change{paths}",
            action.began_at
        ));
    }
}

/// The paths of a `changes` list, as many as fit into a line.
fn changed_paths(details: Option<&Value>) -> Vec<String> {
    const SHOWN: usize = 5;
    let changes = details.and_then(|details| details.get("changes")).and_then(Value::as_array);
    let paths: Vec<_> = changes.into_iter().flatten().filter_map(|change| change.get("path")?.as_str()).collect();
    let mut shown: Vec<_> = paths.iter().take(SHOWN).map(|path| plain_line(path)).collect();
    if paths.len() > SHOWN {
        shown.push(format!("and {} more", paths.len() - SHOWN));
    }
    shown
}

fn is_empty(session: &SessionJournal) -> bool {
    session.actions.is_empty() && session.problems.is_empty()
}

fn session_text(session: &SessionJournal) -> String {
    let started = session.started_at.map_or_else(|| "at an unknown time".to_owned(), |time| time.to_string());
    let live = if session.live { ", still running" } else { "" };
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}, {started}{live}", plain_line(&session.session))];
    lines.extend(session.actions.iter().map(action_line));
    lines.extend(session.problems.iter().map(|problem| format!("  ! {}: {problem}", session.path.display())));
    lines.join("\n")
}

fn action_line(action: &JournalAction) -> String {
    let reason = action.reason.as_ref().map(|reason| format!("; reason: {}", plain_line(reason))).unwrap_or_default();
    let (label, source) = (plain_line(&action.label), plain_line(&action.source_tool_name));
    format!("  {}  {label} ({source}): {}{reason}", action.at, fate(&action.fate))
}

fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Pending => "never decided".to_owned(),
        Fate::Claimed { action: ResolveAction::Discard } => {
            "its discard was cut off; a clean-up may have run in part".to_owned()
        }
        Fate::Claimed { action } => format!("claimed to {action}, never begun"),
        Fate::Applying => "being applied".to_owned(),
        Fate::Applied => "applied".to_owned(),
        Fate::Failed { message } => format!("apply failed: {}", plain_line(message)),
        Fate::Discarded { cleanup_failure: None } => "discarded".to_owned(),
        Fate::Discarded { cleanup_failure: Some(failure) } => {
            format!("discarded, clean-up failed: {}", plain_line(failure))
        }
        Fate::Expired => "expired".to_owned(),
        Fate::Removed => "removed".to_owned(),
        Fate::Unknown => "unknown; its apply was cut off".to_owned(),
        _ => "something that this version does not know".to_owned(),
    }
}
