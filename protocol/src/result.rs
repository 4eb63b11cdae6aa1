use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Content;

/// What a tool call, an apply or a reject returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct AgentToolResult {
    /// What the model reads, in order.
    pub content: Vec<Content>,
    /// What programs read; the model does not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether this result reports a failure.
    #[serde(skip_serializing_if = "is_false")]
    pub is_error: bool,
}

impl AgentToolResult {
    /// A result with one piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// A failure with one piece of text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// The same result with these `details`, replacing any that it had.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same result with one more piece of content at the end.
    #[must_use]
    pub fn with_content(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// All text of the content, joined by line feeds; empty where there is none.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
    }
}

impl From<String> for AgentToolResult {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<&str> for AgentToolResult {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<Content> for AgentToolResult {
    fn from(content: Content) -> Self {
        Self::default().with_content(content)
    }
}

impl From<Vec<Content>> for AgentToolResult {
    fn from(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }
}

// serde's `skip_serializing_if` passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_fields_stay_absent() {
        let result = AgentToolResult::text("done");
        assert_eq!(serde_json::to_value(&result).unwrap(), json!({"content": [{"type": "text", "text": "done"}]}));
        assert_eq!(serde_json::from_value::<AgentToolResult>(json!({})).unwrap(), AgentToolResult::default());
    }

    #[test]
    fn a_failure_says_so() {
        let value = serde_json::to_value(AgentToolResult::error("no").with_details(json!({"a": 1}))).unwrap();
        assert_eq!(value, json!({"content": [{"type": "text", "text": "no"}], "details": {"a": 1}, "isError": true}));
    }
}
