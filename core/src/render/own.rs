//! What the host renders where a tool does not.

use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Content, RESOLVE, ToolDefinition};

use super::lines::{Lines, MOST, plain, shortened, steers};
use crate::Pending;

/// How many lines stand for a call, and for a result that the person did not ask for all of.
const FOLDED: usize = 10;
/// How many columns one parameter's value may have.
const VALUE: usize = 60;

/// A call: the tool's title or label, the action that it resolves, if it is known, and the parameters.
pub(super) fn call(
    definition: Option<&ToolDefinition>,
    name: &str,
    about: Option<&Pending>,
    parameters: &Value,
    width: usize,
) -> Vec<String> {
    let titles = definition.map(|definition| [definition.title.as_deref().unwrap_or_default(), &definition.label]);
    let title = titles.into_iter().flatten().map(one_line).find(|title| !title.is_empty());
    let mut words: Vec<String> =
        about.map(|pending| source(pending.label(), pending.source_tool_name())).into_iter().collect();
    match parameters {
        Value::Null => {}
        Value::Object(fields) => {
            words.extend(fields.iter().map(|(key, value)| format!("{}={}", text(key), shown(value))));
        }
        other => words.push(shown(other)),
    }
    let colon = if words.is_empty() { "" } else { ": " };
    let mut lines = Lines::new(width, FOLDED);
    lines.push(&format!("{}{colon}{}", title.unwrap_or_else(|| one_line(name)), words.join(" ")));
    lines.finish()
}

/// A result: what it says, with a line for each image, after the action that it resolved.
pub(super) fn result(name: &str, result: &AgentToolResult, width: usize, expanded: bool) -> Vec<String> {
    let mut pieces: Vec<String> = resolved(name, result).into_iter().collect();
    pieces.extend(result.content.iter().map(piece));
    if result.content.is_empty() {
        pieces.push("(no content)".to_owned());
    }
    if result.is_error {
        pieces[0].insert_str(0, "error: ");
    }
    let mut lines = Lines::new(width, if expanded { MOST - 1 } else { FOLDED });
    pieces.iter().for_each(|piece| lines.push(piece));
    lines.finish()
}

/// The label and source tool of the action that a resolve was about.
fn resolved(name: &str, result: &AgentToolResult) -> Option<String> {
    let details = result.details.as_ref().filter(|_| name == RESOLVE)?;
    Some(source(details["label"].as_str()?, details["sourceToolName"].as_str()?))
}

fn source(label: &str, tool: &str) -> String {
    format!("{} ({})", one_line(label), one_line(tool))
}

fn piece(content: &Content) -> String {
    match content {
        Content::Text { text } => text.clone(),
        Content::Image { data, mime_type } => {
            let padding = data.bytes().rev().take_while(|&byte| byte == b'=').count();
            format!("[image: {}, {} bytes]", one_line(mime_type), (data.len() - padding) * 3 / 4)
        }
        _ => "[content of a kind that cannot be shown here]".to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.lines().map(plain).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// A value: text as it is where it cannot be taken for anything else, everything else as JSON.
fn shown(value: &Value) -> String {
    let value = match value {
        Value::String(value) => text(value),
        other => other.to_string(),
    };
    shortened(&value, VALUE)
}

fn text(text: &str) -> String {
    let is_clear = |c: char| !c.is_whitespace() && !steers(c) && !matches!(c, '"' | '=');
    let looks_like_json = || serde_json::from_str::<Value>(text).is_ok();
    let bare = !text.is_empty() && text.chars().all(is_clear) && !looks_like_json();
    if bare { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn called(parameters: &Value) -> String {
        let lines = call(None, "t", None, parameters, 200);
        assert_eq!(lines.len(), 1);
        lines.join("\n")
    }

    #[test]
    fn a_call_is_its_title_and_its_parameters() {
        let mut definition = ToolDefinition::new("rename");
        let lines = |definition: &ToolDefinition| call(Some(definition), "rename", None, &json!({"n": 1}), 80);
        definition.label = " \u{1b}[1mRename\nFiles ".into();
        assert_eq!(lines(&definition), ["Rename Files: n=1"]);
        definition.title = Some("Renames".into());
        assert_eq!(lines(&definition), ["Renames: n=1"]);
        (definition.title, definition.label) = (Some(String::new()), " ".into());
        assert_eq!(lines(&definition), ["rename: n=1"]);
        assert_eq!(call(None, "gone", None, &json!({}), 80), ["gone"]);
        let two = json!({"a": 1, "b": 2});
        assert_eq!(call(None, "t", None, &two, 80), ["t: a=1 b=2"]);
    }

    #[test]
    fn values_are_text_where_they_cannot_be_mistaken() {
        let cases = [
            (json!({"path": "src/a.rs"}), "t: path=src/a.rs"),
            (json!({"find": "a b"}), r#"t: find="a b""#),
            (json!({"text": ""}), r#"t: text="""#),
            (json!({"digits": "5"}), r#"t: digits="5""#),
            (json!({"digits": 5}), "t: digits=5"),
            (json!({"quote": "\""}), r#"t: quote="\"""#),
            (json!({"list": ["a", 1]}), r#"t: list=["a",1]"#),
            (json!({"nested": {"a": {"b": null}}}), r#"t: nested={"a":{"b":null}}"#),
            (json!({"odd key": "x\ny\u{202e}"}), r#"t: "odd key"="x\ny""#),
        ];
        for (parameters, shown) in cases {
            assert_eq!(called(&parameters), shown);
        }
    }

    #[test]
    fn long_values_are_cut() {
        assert_eq!(called(&json!({"text": "x".repeat(60)})), format!("t: text={}", "x".repeat(60)));
        assert_eq!(called(&json!({"text": "x".repeat(61)})), format!("t: text={}...", "x".repeat(57)));
        assert_eq!(called(&json!({"list": ["東".repeat(60)]})), format!("t: list=[\"{}...", "東".repeat(27)));
    }

    #[test]
    fn parameters_that_are_not_written_yet_are_shown_as_they_are() {
        assert_eq!(called(&Value::Null), "t");
        assert_eq!(called(&json!(["a"])), r#"t: ["a"]"#);
        assert_eq!(called(&json!("{\"a\": ")), r#"t: "{\"a\": ""#);
    }

    #[test]
    fn a_call_is_wrapped_and_has_an_end() {
        let parameters = Value::Object((10..60).map(|n| (format!("key{n}"), json!(n))).collect());
        let lines = call(None, "t", None, &parameters, 20);
        assert_eq!(lines[..2], ["t: key10=10 key11=11", "key12=12 key13=13"]);
        assert_eq!((lines.len(), &*lines[9], &*lines[10]), (11, "key28=28 key29=29", "... (15 more lines)"));
    }

    fn image() -> Content {
        Content::Image { data: "AAECAwQFBgcICQoL".into(), mime_type: "image/png".into() }
    }

    #[test]
    fn a_result_is_its_text_and_a_line_for_each_image() {
        let other = serde_json::from_value(json!({"type": "video"})).unwrap();
        let said = vec![Content::text("a line that is long\n\nb\n"), image(), Content::text("c"), other];
        let lines = result("t", &said.into(), 15, false);
        assert_eq!(
            lines,
            [
                "a line that is",
                "long",
                "",
                "b",
                "[image:",
                "image/png, 12",
                "bytes]",
                "c",
                "[content of a",
                "kind that",
                "... (2 more lin"
            ]
        );
        assert_eq!(result("t", &image().into(), 80, false), ["[image: image/png, 12 bytes]"]);
        assert_eq!(result("t", &AgentToolResult::default(), 80, false), ["(no content)"]);
    }

    #[test]
    fn a_result_is_folded_unless_all_of_it_is_asked_for() {
        let numbers = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>();
        let lines = |n: usize, expanded| result("t", &numbers(n).join("\n").into(), 80, expanded);
        assert_eq!(lines(10, false), numbers(10));
        assert_eq!(lines(11, false), [numbers(10), vec!["... (1 more line)".to_owned()]].concat());
        assert_eq!(lines(11, true), numbers(11));
        assert_eq!(lines(2_000, true), [numbers(999), vec!["... (1001 more lines)".to_owned()]].concat());
    }

    #[test]
    fn a_failure_is_marked() {
        assert_eq!(result("t", &AgentToolResult::error("no disk\nreally"), 80, false), ["error: no disk", "really"]);
        let mut failed = AgentToolResult::default();
        failed.is_error = true;
        assert_eq!(result("t", &failed, 80, false), ["error: (no content)"]);
    }

    #[test]
    fn a_resolve_says_what_it_was_about() {
        let details = json!({"action": "apply", "label": "Rename\n2 files", "sourceToolName": "rename"});
        let applied = AgentToolResult::text("Renamed.").with_details(details.clone());
        assert_eq!(result("resolve", &applied, 80, false), ["Rename 2 files (rename)", "Renamed."]);
        assert_eq!(result("rename", &applied, 80, false), ["Renamed."]);
        let failed = AgentToolResult::error("Apply failed: busy").with_details(details);
        assert_eq!(result("resolve", &failed, 80, false), ["error: Rename 2 files (rename)", "Apply failed: busy"]);
        let nothing = AgentToolResult::error("No.").with_details(json!({"action": "apply"}));
        assert_eq!(result("resolve", &nothing, 80, false), ["error: No."]);
    }
}
