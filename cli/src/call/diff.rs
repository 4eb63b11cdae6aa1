//! What staged actions would change, as text that neither a file's name nor its content can fake.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use toolhost_core::Pending;
use toolhost_protocol::{ChangeKind, FileChange};

use crate::output::BOLD;
use crate::plain::{misleads, plain_line};

/// How many lines of one file's diff are shown.
const FILE_LINES: usize = 200;
/// How many lines are shown in all.
const ALL_LINES: usize = 1_000;
/// How many characters of one line are shown.
const LINE_CHARS: usize = 1_000;

const RED: Style = AnsiColor::Red.on_default();
const GREEN: Style = AnsiColor::Green.on_default();
const CYAN: Style = AnsiColor::Cyan.on_default();

/// What a person should see before deciding, besides what the tool said: all changes of the actions that do more than
/// to rename, since a list of renames is what the tool said already. `None` where there is no such action.
pub(crate) fn preview(staged: &[Arc<Pending>], cwd: &Path) -> Option<String> {
    let mut sheet = Sheet::new(cwd);
    for (at, pending) in staged.iter().enumerate() {
        if sheet.lines.len() >= ALL_LINES {
            sheet.lines.push(format!("[not shown: {}]", count(staged.len() - at, "more action")));
            break;
        }
        let Some(changes) = changes(pending).filter(|changes| !changes.iter().all(is_plain_rename)) else {
            continue;
        };
        if staged.len() > 1 {
            let (label, source) = (escape(pending.label()), escape(pending.source_tool_name()));
            sheet.lines.push(format!("{BOLD}{label}{BOLD:#} ({source}):"));
        }
        sheet.add(&changes);
    }
    (!sheet.lines.is_empty()).then(|| sheet.text())
}

/// All that an action says of what it would change.
pub(crate) fn view(pending: &Pending, cwd: &Path) -> String {
    let mut sheet = Sheet::new(cwd);
    match (changes(pending), pending.details()) {
        (Some(changes), _) if changes.is_empty() => "It changes no file.".to_owned(),
        (Some(changes), _) => {
            sheet.add(&changes);
            sheet.text()
        }
        (None, Some(details)) => {
            let json = serde_json::to_string_pretty(details).unwrap_or_default();
            sheet.lines = bounded(json.lines(), ALL_LINES, "", escape);
            sheet.text()
        }
        (None, None) => "It says nothing more about itself.".to_owned(),
    }
}

fn changes(pending: &Pending) -> Option<Vec<FileChange>> {
    serde_json::from_value(pending.details()?.get("changes")?.clone()).ok()
}

fn is_plain_rename(change: &FileChange) -> bool {
    change.kind == ChangeKind::Rename && change.diff.is_none()
}

/// Lines for one reader, up to [`ALL_LINES`] of them.
struct Sheet<'a> {
    cwd: &'a Path,
    lines: Vec<String>,
}

impl<'a> Sheet<'a> {
    fn new(cwd: &'a Path) -> Self {
        Self { cwd, lines: Vec::new() }
    }

    /// Adds as many whole changes as there is room for, and says what is left out.
    fn add(&mut self, changes: &[FileChange]) {
        for (at, change) in changes.iter().enumerate() {
            let lines = self.change(change);
            if self.lines.len() + lines.len() > ALL_LINES {
                let rest = &changes[at..];
                let diffs = rest.iter().flat_map(body).count();
                self.lines.push(format!(
                    "[not shown: {} with {} of diffs]",
                    count(rest.len(), "more change"),
                    count(diffs, "line")
                ));
                return;
            }
            self.lines.extend(lines);
        }
    }

    fn text(self) -> String {
        self.lines.join("\n")
    }

    fn change(&self, change: &FileChange) -> Vec<String> {
        let mut lines = vec![format!("{BOLD}{}{BOLD:#}", self.heading(change))];
        lines.extend(bounded(body(change), FILE_LINES, " of this diff", diff_line));
        if change.truncated && change.diff.is_some() {
            lines.push("[the diff was cut here by the tool]".to_owned());
        }
        lines
    }

    /// What happens to which file, in one line.
    fn heading(&self, change: &FileChange) -> String {
        let path = self.shown(change.path());
        let modes = modes(change);
        let mut heading = match change.kind {
            ChangeKind::Create => format!("create {path}"),
            ChangeKind::Modify => format!("modify {path}"),
            ChangeKind::Delete => format!("delete {path}"),
            ChangeKind::Rename => format!("rename {} -> {path}", self.shown(change.old_path())),
            ChangeKind::Mode => return format!("mode {} {path}", modes.as_deref().unwrap_or("?")),
            _ => match change.old_path() {
                Some(old) => format!("change {} -> {path}", self.shown(Some(old))),
                None => format!("change {path}"),
            },
        };
        if let Some(modes) = modes {
            heading.push_str(&format!(" (mode {modes})"));
        }
        if change.binary {
            heading.push_str(" (binary)");
        }
        if change.truncated && change.diff.is_none() {
            heading.push_str(" (too large for a diff)");
        }
        if is_unchanged(change) {
            heading.push_str(" (no difference)");
        }
        heading
    }

    fn shown(&self, path: Option<PathBuf>) -> String {
        path.map_or_else(
            || "(a path that cannot be read)".to_owned(),
            |path| show(path.strip_prefix(self.cwd).unwrap_or(&path)),
        )
    }
}

/// Whether a change of content leaves the content as it is.
fn is_unchanged(change: &FileChange) -> bool {
    change.kind == ChangeKind::Modify && change.old_hash.is_some() && change.old_hash == change.new_hash
}

fn modes(change: &FileChange) -> Option<String> {
    match (change.old_mode, change.new_mode) {
        (Some(old), Some(new)) => Some(format!("{old:03o} -> {new:03o}")),
        (None, Some(new)) => Some(format!("{new:03o}")),
        (Some(old), None) => Some(format!("{old:03o} -> ?")),
        (None, None) => None,
    }
}

/// The lines of a change's diff, without the names of its files, which the heading says.
fn body(change: &FileChange) -> impl Iterator<Item = &str> {
    let diff = change.diff.as_deref().unwrap_or_default();
    let headers = if diff.starts_with("--- ") { 2 } else { 0 };
    // Not `lines()`: it would hide a carriage return before the line feed.
    diff.split_terminator('\n').skip(headers)
}

fn diff_line(line: &str) -> String {
    let text = escape(line);
    let style = match line.as_bytes() {
        [b'+', ..] => GREEN,
        [b'-', ..] => RED,
        [b'@', b'@', ..] => CYAN,
        [] | [b' ' | b'\\', ..] => return text,
        // Anything else stands in no diff, and must not look like a heading.
        _ => return format!(" {text}"),
    };
    format!("{style}{text}{style:#}")
}

/// The first `most` lines as `form` gives them, then how many more there are of `what`.
fn bounded<'l>(
    lines: impl Iterator<Item = &'l str>,
    most: usize,
    what: &str,
    form: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut lines = lines;
    let mut shown: Vec<_> = lines.by_ref().take(most).map(form).collect();
    let more = lines.count();
    if more > 0 {
        shown.push(format!("[not shown: {}{what}]", count(more, "more line")));
    }
    shown
}

fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// A line that is safe to show, cut where it is too long.
fn escape(line: &str) -> String {
    let kept: String = line.chars().take(LINE_CHARS).collect();
    let more = line.chars().count().saturating_sub(LINE_CHARS);
    let mut out = plain_line(&kept);
    if more > 0 {
        out.push_str(&format!(" [not shown: {}]", count(more, "more character")));
    }
    out
}

/// A path as it is where that is unmistakable, else in double quotes with escapes.
fn show(path: &Path) -> String {
    match path.to_str() {
        Some(plain) if is_plain(plain) => plain.to_owned(),
        _ => format!("{path:?}"),
    }
}

fn is_plain(path: &str) -> bool {
    !path.is_empty() && path.trim() == path && !path.contains("->") && !path.contains(|c| misleads(c) || c == '"')
}

#[cfg(test)]
mod tests;
