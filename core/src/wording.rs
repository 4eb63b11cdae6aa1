//! The texts of a tool's definition, which models and people read.

use serde_json::{Map, Value};
use toolhost_protocol::ToolDefinition;

use crate::RegisterError;

/// How long a label or a title may be, in characters.
const LONGEST_NAME: usize = 128;
/// How long a description may be, in bytes.
const LONGEST_DESCRIPTION: usize = 64 * 1024;

/// Refuses texts that are too long for what they are, or that say other things than they show.
pub(crate) fn check(definition: &ToolDefinition) -> Result<(), RegisterError> {
    let refused = |(part, problem)| RegisterError::Text { name: definition.name.clone(), part, problem };
    let mut named = [("label", Some(&definition.label)), ("title", definition.title.as_ref())].into_iter();
    let problem = named.find_map(|(part, text)| Some((part.to_owned(), in_name(text?)?)));
    let problem = problem
        .or_else(|| in_text(&definition.description).map(|problem| ("description".to_owned(), problem)))
        .or_else(|| in_schema(&definition.parameters, "parameters"))
        .or_else(|| in_schema(definition.output_schema.as_ref()?, "output schema"));
    problem.map_or(Ok(()), |problem| Err(refused(problem)))
}

/// What is wrong with a text of one line.
fn in_name(text: &str) -> Option<String> {
    let length = text.chars().count();
    if length > LONGEST_NAME {
        return Some(format!("is {length} characters long, of which {LONGEST_NAME} are the most"));
    }
    text.chars().find(|&c| misleads(c) || c.is_control()).map(found)
}

/// What is wrong with a text of any number of lines.
fn in_text(text: &str) -> Option<String> {
    if text.len() > LONGEST_DESCRIPTION {
        return Some(format!("is {} bytes long, of which {LONGEST_DESCRIPTION} are the most", text.len()));
    }
    text.chars().find(|&c| misleads(c)).map(found)
}

fn found(c: char) -> String {
    format!("has the control character U+{:04X}", u32::from(c))
}

/// Whether a character steers a terminal, turns the order of others around, or is read by models and seen by nobody.
fn misleads(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t' | '\r'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// Where in a schema there is a text with something wrong, and what. What values may be, and examples of them, are no
/// texts.
fn in_schema(schema: &Value, at: &str) -> Option<(String, String)> {
    match schema {
        Value::Array(schemas) => schemas.iter().enumerate().find_map(|(n, each)| in_schema(each, &format!("{at}/{n}"))),
        Value::Object(keywords) => keywords.iter().find_map(|(keyword, value)| {
            let at = format!("{at}/{keyword}");
            match (keyword.as_str(), value) {
                ("title" | "description" | "$comment", Value::String(text)) => {
                    Some((format!("text at {at}"), in_text(text)?))
                }
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(named),
                ) => in_names(named, &at),
                ("default" | "const" | "enum" | "examples", _) => None,
                _ => in_schema(value, &at),
            }
        }),
        _ => None,
    }
}

fn in_names(schemas: &Map<String, Value>, at: &str) -> Option<(String, String)> {
    schemas.iter().find_map(|(name, schema)| match in_name(name) {
        Some(problem) => Some((format!("name of a field at {at}"), problem)),
        None => in_schema(schema, &format!("{at}/{name}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(change: impl FnOnce(&mut ToolDefinition)) -> String {
        let mut definition = ToolDefinition::new("t");
        change(&mut definition);
        check(&definition).map_or_else(|error| error.to_string(), |()| "none".to_owned())
    }

    #[test]
    fn texts_that_people_write_are_taken() {
        assert_eq!(refused(|tool| tool.label = "Wörter zählen, 数える 🧮".to_owned()), "none");
        assert_eq!(refused(|tool| tool.description = "One.\r\n\tTwo.\u{a0}\u{fe0f}".to_owned()), "none");
        assert_eq!(refused(|tool| tool.description = "x".repeat(LONGEST_DESCRIPTION)), "none");
        assert_eq!(refused(|tool| tool.title = Some("ä".repeat(LONGEST_NAME))), "none");
        let values = json!({"type": "object", "properties": {
            "description": {"type": "string", "enum": ["\u{1}"], "default": {"description": "\u{1}"}},
            "default": {"const": "\u{1b}", "pattern": "\u{1}"}
        }});
        assert_eq!(refused(|tool| tool.parameters = values), "none");
    }

    #[test]
    fn texts_that_say_other_things_than_they_show_are_not() {
        assert_eq!(
            refused(|tool| tool.label = "a\u{1b}[2J".to_owned()),
            "the label of tool `t` has the control character U+001B"
        );
        assert_eq!(
            refused(|tool| tool.title = Some("a\nb".to_owned())),
            "the title of tool `t` has the control character U+000A"
        );
        for (character, shown) in [('\u{202e}', "U+202E"), ('\u{e0041}', "U+E0041"), ('\0', "U+0000")] {
            let error = format!("the description of tool `t` has the control character {shown}");
            assert_eq!(refused(|tool| tool.description = format!("a{character}b")), error);
        }
    }

    #[test]
    fn texts_that_are_too_long_are_not() {
        assert_eq!(
            refused(|tool| tool.label = "ä".repeat(129)),
            "the label of tool `t` is 129 characters long, of which 128 are the most"
        );
        assert_eq!(
            refused(|tool| tool.description = "x".repeat(65_537)),
            "the description of tool `t` is 65537 bytes long, of which 65536 are the most"
        );
    }

    #[test]
    fn a_text_in_a_schema_is_named_by_its_place() {
        let property = |name: &str, schema: Value| json!({"type": "object", "properties": {name: schema}});
        let nested = property("a", json!({"anyOf": [true, {"description": "\u{7}"}]}));
        assert_eq!(
            refused(|tool| tool.parameters = nested),
            "the text at parameters/properties/a/anyOf/1/description of tool `t` has the control character U+0007"
        );
        assert_eq!(
            refused(|tool| tool.output_schema = Some(property("\u{9b}2J", json!({})))),
            "the name of a field at output schema/properties of tool `t` has the control character U+009B"
        );
        let named_default = property("default", json!({"title": "\u{1}"}));
        assert_eq!(
            refused(|tool| tool.parameters = named_default),
            "the text at parameters/properties/default/title of tool `t` has the control character U+0001"
        );
    }
}
