//! Reading a tool's parameter schema, for people and for `key=value`.

use serde_json::{Map, Value};

/// One parameter, by its path from the root.
pub(crate) struct Parameter<'a> {
    pub(crate) path: String,
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) default: Option<&'a Value>,
    pub(crate) description: &'a str,
}

/// All parameters, the required ones first, the nested ones below the one that they belong to.
pub(crate) fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let mut found = Vec::new();
    collect(schema, "", &mut found);
    found
}

fn collect<'a>(schema: &'a Value, prefix: &str, found: &mut Vec<Parameter<'a>>) {
    let required = |name: &str| {
        schema.get("required").and_then(Value::as_array).is_some_and(|names| names.iter().any(|each| each == name))
    };
    let mut sorted: Vec<_> = properties(schema).into_iter().flatten().collect();
    sorted.sort_by_key(|(name, _)| !required(name));
    for (name, property) in sorted {
        let path = format!("{prefix}{name}");
        let inner = inner(property);
        found.push(Parameter {
            kind: kind(property),
            required: required(name),
            default: property.get("default").filter(|default| !default.is_null()),
            description: text(property, "description").or_else(|| text(inner, "description")).unwrap_or_default(),
            path: path.clone(),
        });
        collect(inner, &format!("{path}."), found);
    }
}

pub(crate) fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

/// The schema itself, without a wrapping that only says that it may be null.
pub(crate) fn inner(schema: &Value) -> &Value {
    let options = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key).and_then(Value::as_array));
    let not_null = |option: &&Value| text(option, "type") != Some("null");
    let mut rest = options.into_iter().flatten().filter(not_null);
    match (rest.next(), rest.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// The first type that is not null.
pub(crate) fn type_of(schema: &Value) -> Option<&str> {
    match inner(schema).get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

/// The type in a few words: `list of string`, `one of lower, upper`.
fn kind(schema: &Value) -> String {
    let schema = inner(schema);
    if let Some(values) = choices(schema) {
        return format!("one of {}", values.join(", "));
    }
    match type_of(schema) {
        Some("array") => match schema.get("items").map(kind) {
            Some(items) if items != "any" => format!("list of {items}"),
            _ => "list".to_owned(),
        },
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    }
}

/// The values that the schema lists, where it lists them all.
fn choices(schema: &Value) -> Option<Vec<String>> {
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().filter(|value| !value.is_null()).map(plain).collect());
    }
    if let Some(value) = schema.get("const") {
        return Some(vec![plain(value)]);
    }
    // Documented variants of an enumeration come as alternatives of one constant each.
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array())?;
    let not_null = alternatives.iter().filter(|each| text(each, "type") != Some("null"));
    let listed: Option<Vec<_>> = not_null.map(choices).collect();
    Some(listed?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_listed_with_types_nested_ones_below() {
        let schema = json!({
            "type": "object",
            "required": ["files"],
            "properties": {
                "files": {"type": "array", "items": {"type": "string"}, "description": "Which."},
                "case": {"anyOf": [{"enum": ["lower", "upper"], "type": "string"}, {"type": "null"}]},
                "mode": {"anyOf": [{"oneOf": [{"const": "a"}, {"enum": ["b"]}]}, {"type": "null"}]},
                "number": {"type": ["object", "null"], "properties": {"start": {"type": "integer", "default": 1}}},
                "what": {}
            }
        });
        let shown: Vec<String> = parameters(&schema)
            .iter()
            .map(|each| {
                let default = each.default.map(ToString::to_string).unwrap_or_default();
                format!("{}|{}|{}|{default}|{}", each.path, each.kind, each.required, each.description)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "files|list of string|true||Which.",
                "case|one of lower, upper|false||",
                "mode|one of a, b|false||",
                "number|object|false||",
                "number.start|integer|false|1|",
                "what|any|false||",
            ]
        );
    }
}
