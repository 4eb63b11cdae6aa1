//! What a call prints.

use serde_json::{Map, Value, json};
use toolhost_core::{AgentToolResult, Content, Resolution, ResolveStatus};

use crate::output::{BOLD, Output};

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

    pub(crate) fn output(&self) -> &'a Output {
        self.output
    }

    pub(crate) fn tool_failed(&self) -> bool {
        self.result.is_error
    }

    pub(crate) fn show_preview(&self) {
        if self.output.is_json() {
            return;
        }
        if self.tool_failed() {
            self.output.failure(&text(&self.result));
            return;
        }
        self.output.print(&text(&self.result));
        if let Some(hash) = &self.preview_hash {
            self.output.print(&format!("Preview hash: {hash}"));
        }
    }

    /// Shows how a resolve went.
    pub(crate) fn resolved(&mut self, resolution: Resolution) {
        self.resolved.push(resolution.result.clone());
        if self.output.is_json() {
            return;
        }
        let text = text(&resolution.result);
        let what = resolution
            .pending
            .as_ref()
            .map(|pending| format!("{} ({})", pending.label(), pending.source_tool_name()))
            .unwrap_or_default();
        match resolution.status {
            ResolveStatus::Applied => self.output.print(&format!("{BOLD}Applied:{BOLD:#} {what}\n{text}")),
            ResolveStatus::Discarded => self.output.print(&format!("{BOLD}Discarded:{BOLD:#} {what}\n{text}")),
            _ if what.is_empty() => self.output.failure(&text),
            ResolveStatus::CleanupFailed => self.output.failure(&format!("Discarded: {what}\n{text}")),
            _ => self.output.failure(&format!("Not applied: {what}\n{text}")),
        }
    }

    /// Prints the JSON object.
    pub(crate) fn finish(self) {
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
        self.output.print_json(&Value::Object(object));
    }
}

/// A result's content for a terminal.
fn text(result: &AgentToolResult) -> String {
    let piece = |content: &Content| match content {
        Content::Text { text } => text.clone(),
        Content::Image { data, mime_type } => format!("[image: {mime_type}, {} bytes]", data.len() / 4 * 3),
        _ => "[content of a kind that cannot be shown here]".to_owned(),
    };
    let pieces: Vec<_> = result.content.iter().map(piece).collect();
    if pieces.is_empty() { "(no content)".to_owned() } else { pieces.join("\n") }
}
