//! What a call prints.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolhost_core::{AgentToolResult, Content, EndReport, Pending, Resolution, ResolveStatus};

use super::diff;
use crate::output::{BOLD, Output};
use crate::plain::{plain, plain_line, title};

/// Collects what one JSON object says, or prints as things happen.
pub(crate) struct Report<'a> {
    output: &'a Output,
    result: AgentToolResult,
    pub(crate) preview_hash: Option<String>,
    resolved: Vec<AgentToolResult>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(output: &'a Output, result: AgentToolResult, preview_hash: Option<String>) -> Self {
        Self { output, result, preview_hash, resolved: Vec::new() }
    }

    pub(crate) fn tool_failed(&self) -> bool {
        self.result.is_error
    }

    /// Shows what the tool said, in lines of its own if it has them, the diffs of what it staged, with paths relative to
    /// `cwd`, and what waits.
    pub(crate) fn show_preview(&self, rendered: Option<Vec<String>>, staged: &[Arc<Pending>], cwd: &Path) {
        if self.output.is_json() {
            return;
        }
        if self.tool_failed() {
            self.output.failure(&text(&self.result));
            return;
        }
        match rendered {
            Some(lines) if lines.is_empty() => {}
            Some(lines) => self.output.print(&lines.join("\n")),
            None => self.output.print(&text(&self.result)),
        }
        if let Some(diffs) = diff::preview(staged, cwd) {
            self.output.print(&format!("\n{diffs}\n"));
        }
        for pending in staged {
            self.output.print(&format!("{BOLD}Pending:{BOLD:#} {}", title(pending)));
        }
        if let Some(hash) = &self.preview_hash {
            self.output.print(&format!("{BOLD}Preview hash:{BOLD:#} {hash}"));
        }
    }

    /// Shows how a resolve went.
    pub(crate) fn resolved(&mut self, resolution: Resolution) {
        self.resolved.push(resolution.result.clone());
        if self.output.is_json() {
            return;
        }
        let text = text(&resolution.result);
        let Some(pending) = &resolution.pending else {
            self.output.failure(&text);
            return;
        };
        let (done, heading) = match resolution.status {
            ResolveStatus::Applied => (true, "Applied"),
            ResolveStatus::Discarded => (true, "Discarded"),
            ResolveStatus::CleanupFailed | ResolveStatus::Withdrawn => (false, "Discarded"),
            _ => (false, "Not applied"),
        };
        let rest = without_heading(&text, heading, pending.label());
        let lines = [format!("{BOLD}{heading}:{BOLD:#} {}", title(pending)), rest.to_owned()];
        let shown = lines.iter().filter(|line| !line.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n");
        if done { self.output.print(&shown) } else { self.output.failure(&shown) }
    }

    /// Prints the JSON object, with what could not be cleaned up at the end of the session.
    pub(crate) fn finish(self, ended: &EndReport) {
        if !self.output.is_json() {
            return;
        }
        let mut object = Map::new();
        object.insert("result".to_owned(), json!(self.result));
        object.insert("resolved".to_owned(), self.resolved.last().map_or(Value::Null, |last| json!(last)));
        if self.resolved.len() > 1 {
            object.insert("allResolved".to_owned(), json!(self.resolved));
        }
        if let Some(hash) = self.preview_hash {
            object.insert("previewHash".to_owned(), json!(hash));
        }
        let failed = ended.discarded.iter().filter(|resolution| !resolution.status.is_success());
        let failed: Vec<_> = failed.map(|resolution| &resolution.result).collect();
        if !failed.is_empty() {
            object.insert("failedCleanups".to_owned(), json!(failed));
        }
        self.output.print_json(&Value::Object(object));
    }
}

/// The text without what the heading above it says already.
fn without_heading<'t>(text: &'t str, heading: &str, label: &str) -> &'t str {
    let said = format!("{heading}: {}.", plain(label));
    text.strip_prefix(&said).map_or(text, str::trim_start)
}

/// A result's content for a terminal.
fn text(result: &AgentToolResult) -> String {
    let piece = |content: &Content| match content {
        Content::Text { text } => plain(text),
        Content::Image { data, mime_type } => {
            let padding = data.bytes().rev().take_while(|&byte| byte == b'=').count();
            format!("[image: {}, {} bytes]", plain_line(mime_type), (data.len() - padding) * 3 / 4)
        }
        _ => "[content of a kind that cannot be shown here]".to_owned(),
    };
    let pieces: Vec<_> = result.content.iter().map(piece).collect();
    if pieces.is_empty() { "(no content)".to_owned() } else { pieces.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_heading_says_is_not_said_again() {
        assert_eq!(without_heading("Discarded: a b. Reason: r", "Discarded", "a b"), "Reason: r");
        assert_eq!(without_heading("Applied: a b.", "Applied", "a b"), "");
        assert_eq!(without_heading("Renamed 2 files.", "Applied", "a b"), "Renamed 2 files.");
    }
}
