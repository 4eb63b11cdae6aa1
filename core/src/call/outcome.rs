//! From what a tool returned to what the model gets.

use serde_json::{Map, Value, json};
use toolhost_protocol::{AgentToolResult, Content, Failure, PendingSummary};

use crate::ToolOutcome;
use crate::tool::Registered;

/// The result of a call: a failure as one, what it staged in its details, cut to `most` bytes.
pub(super) fn result(
    tool: &Registered,
    outcome: ToolOutcome,
    staged: &[PendingSummary],
    most: usize,
) -> AgentToolResult {
    let result = outcome.unwrap_or_else(|failure| failed(tool, failure));
    with_staged(cut(result, most), staged)
}

fn failed(tool: &Registered, failure: Failure) -> AgentToolResult {
    let name = &tool.definition.name;
    let text = match (failure.code.as_deref(), tool.tool.origin()) {
        (Some("panic"), Some(origin)) => format!("tool `{name}` of plugin `{}` {}", origin.plugin, failure.message),
        (Some("panic"), None) => format!("tool `{name}` {}", failure.message),
        _ => failure.message,
    };
    let mut result = AgentToolResult::error(text);
    result.details = failure.details;
    result
}

/// Lists what a call staged in its result's details, which become an object where they are none.
fn with_staged(mut result: AgentToolResult, staged: &[PendingSummary]) -> AgentToolResult {
    if staged.is_empty() {
        return result;
    }
    let mut details = match result.details.take() {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(fields)) => fields,
        Some(other) => Map::from_iter([("details".to_owned(), other)]),
    };
    details.insert("pending".to_owned(), json!(staged));
    result.details = Some(Value::Object(details));
    result
}

/// Keeps the content that fits into `most` bytes, in order, and tells the model what is missing.
pub(super) fn cut(mut result: AgentToolResult, most: usize) -> AgentToolResult {
    let all: usize = result.content.iter().map(size).sum();
    if all <= most {
        return result;
    }
    let mut left = most;
    let mut kept = Vec::new();
    for content in std::mem::take(&mut result.content) {
        let size = size(&content);
        if size <= left {
            left -= size;
            kept.push(content);
            continue;
        }
        if let Content::Text { mut text } = content {
            text.truncate(text.floor_char_boundary(left));
            if !text.is_empty() {
                kept.push(Content::Text { text });
            }
        }
        break;
    }
    let shown: usize = kept.iter().map(size).sum();
    kept.push(Content::text(format!(
        "[{} of the {all} bytes of this result were cut. Ask for less, or for a part of it.]",
        all - shown
    )));
    result.content = kept;
    result
}

fn size(content: &Content) -> usize {
    match content {
        Content::Text { text } => text.len(),
        Content::Image { data, .. } => data.len(),
        other => serde_json::to_vec(other).map_or(0, |json| json.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_staged_joins_whatever_details_there_are() {
        let staged = [PendingSummary::new("1", "Rename", "rename")];
        let pending = json!([{"id": "1", "label": "Rename", "sourceToolName": "rename"}]);
        let details = |before: Option<Value>| {
            let mut result = AgentToolResult::text("x");
            result.details = before;
            with_staged(result, &staged).details
        };
        assert_eq!(details(None), Some(json!({"pending": pending})));
        assert_eq!(details(Some(json!({"n": 1}))), Some(json!({"n": 1, "pending": pending})));
        assert_eq!(details(Some(json!([1]))), Some(json!({"details": [1], "pending": pending})));
        assert_eq!(with_staged("x".into(), &[]).details, None);
    }

    #[test]
    fn a_long_result_is_cut_between_characters_and_says_so() {
        let result = AgentToolResult::from(vec![Content::text("abc"), Content::text("dé"), Content::text("f")]);
        assert_eq!(cut(result.clone(), 7), result);
        let texts = |most: usize| {
            let cut = cut(result.clone(), most);
            cut.content.iter().map(|content| content.as_text().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let note = |bytes: usize| {
            format!("[{bytes} of the 7 bytes of this result were cut. Ask for less, or for a part of it.]")
        };
        assert_eq!(texts(6), ["abc", "dé", &note(1)]);
        assert_eq!(texts(5), ["abc", "d", &note(3)]);
    }
}
