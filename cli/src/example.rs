//! A call that a tool's schema accepts, made from the schema.

use serde_json::{Map, Value, json};
use toolhost_core::{ToolDefinition, ToolSet};

use crate::schema::{inner, properties, type_of};

/// Deeper than this, a schema that refers to itself would never end.
const DEEPEST: usize = 8;

/// Parameters that the tool accepts: the schema's own example where it has one, else the required ones. `None` where
/// neither satisfies the schema.
pub(crate) fn parameters(tools: &ToolSet, tool: &ToolDefinition) -> Option<Value> {
    let own = tool.parameters.get("examples").and_then(Value::as_array).into_iter().flatten().cloned();
    let accepted = |example: &Value| example.is_object() && tools.check(&tool.name, example).is_ok();
    own.chain([sample(&tool.parameters, 0)]).find(accepted)
}

fn sample(schema: &Value, depth: usize) -> Value {
    let given = |key: &str| schema.get(key).cloned();
    let first = |key: &str| schema.get(key).and_then(|values| values.get(0)).cloned();
    if depth > 0
        && let Some(value) = first("examples").or_else(|| given("default")).or_else(|| given("const"))
    {
        return value;
    }
    if let Some(value) = first("enum") {
        return value;
    }
    let schema = inner(schema);
    match type_of(schema) {
        Some("object") if depth < DEEPEST => object(schema, depth),
        Some("array") => list(schema, depth),
        Some("boolean") => json!(true),
        Some("integer" | "number") => number(schema),
        Some("null") => Value::Null,
        _ => schema
            .get("oneOf")
            .and_then(|options| options.get(0))
            .map_or(json!("text"), |option| sample(option, depth + 1)),
    }
}

fn object(schema: &Value, depth: usize) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let fields: Map<String, Value> = required
        .map(|name| {
            let property = properties(schema).and_then(|properties| properties.get(name));
            (name.to_owned(), property.map_or(json!("text"), |property| sample(property, depth + 1)))
        })
        .collect();
    Value::Object(fields)
}

fn list(schema: &Value, depth: usize) -> Value {
    match schema.get("items") {
        Some(items) if depth < DEEPEST => json!([sample(items, depth + 1)]),
        _ => json!([]),
    }
}

fn number(schema: &Value) -> Value {
    schema.get("minimum").cloned().unwrap_or(json!(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_what_is_required() {
        let schema = json!({
            "type": "object",
            "required": ["files", "n", "mode", "deep"],
            "properties": {
                "files": {"type": "array", "items": {"type": "string", "examples": ["a.txt"]}},
                "n": {"type": "integer", "minimum": 3},
                "mode": {"enum": ["fast", "slow"]},
                "deep": {"type": "object", "required": ["on"], "properties": {"on": {"type": "boolean"}}},
                "optional": {"type": "string"}
            }
        });
        assert_eq!(sample(&schema, 0), json!({"files": ["a.txt"], "n": 3, "mode": "fast", "deep": {"on": true}}));
    }
}
