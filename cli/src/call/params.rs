//! The parameters of a call, from JSON or from `key=value`.

use std::fs;
use std::io::{self, Read};

use serde_json::{Map, Value};

use crate::args::Call;
use crate::error::CliError;
use crate::schema::{inner, properties, type_of};

/// The parameters that the command line gives.
pub(crate) fn parameters(call: &Call, schema: &Value) -> Result<Value, CliError> {
    match &call.params {
        Some(params) => from_json(params),
        None => from_pairs(&call.pairs, schema),
    }
}

fn invalid(message: String, fix: &str) -> CliError {
    CliError::usage("invalid-parameters", message, fix)
}

fn from_json(params: &str) -> Result<Value, CliError> {
    let (text, source) = read(params)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        invalid(
            format!("{source} holds no JSON: {error}"),
            "give an object, such as --params '{\"files\":[\"a.txt\"]}'",
        )
    })?;
    if !value.is_object() {
        return Err(invalid(format!("{source} holds JSON, but no object"), "put the parameters into `{...}`"));
    }
    Ok(value)
}

/// The text that `--params` names, and how to call it in a message.
fn read(params: &str) -> Result<(String, String), CliError> {
    let failed = |source: &str, error: io::Error| {
        invalid(
            format!("{source} cannot be read: {error}"),
            "give JSON, @FILE with an existing file, or - for standard input",
        )
    };
    if params == "-" {
        let mut text = String::new();
        let source = "standard input";
        io::stdin().read_to_string(&mut text).map_err(|error| failed(source, error))?;
        return Ok((text, source.to_owned()));
    }
    match params.strip_prefix('@') {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
            Ok((text, path.to_owned()))
        }
        None => Ok((params.to_owned(), "--params".to_owned())),
    }
}

fn from_pairs(pairs: &[String], schema: &Value) -> Result<Value, CliError> {
    let mut parameters = Map::new();
    for pair in pairs {
        let Some((key, text)) = pair.split_once('=') else {
            let fix = "write each parameter as key=value, or all of them as --params JSON";
            return Err(invalid(format!("`{pair}` has no `=`"), fix));
        };
        set(&mut parameters, schema, key, text).map_err(|message| {
            let names: Vec<_> = properties(schema).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            invalid(message, &format!("use one of: {}", names.join(", ")))
        })?;
    }
    Ok(Value::Object(parameters))
}

/// Sets one parameter; a key with dots reaches into objects.
fn set(parameters: &mut Map<String, Value>, schema: &Value, key: &str, text: &str) -> Result<(), String> {
    let schema = inner(schema);
    if let Some(property) = properties(schema).and_then(|properties| properties.get(key)) {
        return put(parameters, key, property, text);
    }
    if let Some((outer, rest)) = key.split_once('.')
        && let Some(property) = properties(schema).and_then(|properties| properties.get(outer))
        && type_of(property) == Some("object")
    {
        let nested = parameters.entry(outer).or_insert_with(|| Value::Object(Map::new()));
        return match nested {
            Value::Object(fields) => set(fields, property, rest, text),
            _ => Err(format!("`{outer}` was given as a whole already")),
        };
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) | None => Err(format!("there is no parameter `{key}`")),
        Some(others) => put(parameters, key, others, text),
    }
}

fn put(parameters: &mut Map<String, Value>, key: &str, schema: &Value, text: &str) -> Result<(), String> {
    let value = typed(schema, text);
    match parameters.get_mut(key) {
        None => {
            parameters.insert(key.to_owned(), value);
        }
        // Each repetition adds to a list.
        Some(Value::Array(items)) if type_of(schema) == Some("array") => match value {
            Value::Array(more) => items.extend(more),
            other => items.push(other),
        },
        Some(_) => return Err(format!("`{key}` was given twice, and takes one value")),
    }
    Ok(())
}

/// The text as the schema wants it; text that does not fit stays text, and the validation says so.
fn typed(schema: &Value, text: &str) -> Value {
    let as_json = || serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    match type_of(schema) {
        Some("string") => Value::String(text.to_owned()),
        Some("array") => match serde_json::from_str(text) {
            Ok(list @ Value::Array(_)) => list,
            _ => {
                let item = inner(schema).get("items").map_or_else(as_json, |items| typed(items, text));
                Value::Array(vec![item])
            }
        },
        _ if inner(schema).get("enum").is_some() => Value::String(text.to_owned()),
        _ => as_json(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(pairs: &[&str]) -> Result<Value, String> {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "files": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": ["array", "null"], "items": {"type": "integer"}},
                "find": {"type": "string"},
                "literal": {"type": "boolean"},
                "number": {"anyOf": [{"type": "object", "properties": {"start": {"type": "integer"}}}, {"type": "null"}]}
            }
        });
        let pairs: Vec<_> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        from_pairs(&pairs, &schema).map_err(|error| format!("{}; {}", error.message, error.fix))
    }

    #[test]
    fn values_take_the_type_of_their_parameter() {
        assert_eq!(
            parse(&["files=a b.txt", "files=5", "find=5", "literal=true", "sizes=7", "number.start=3"]),
            Ok(json!({
                "files": ["a b.txt", "5"], "find": "5", "literal": true, "sizes": [7], "number": {"start": 3}
            }))
        );
        assert_eq!(parse(&[r#"files=["a","b"]"#, "files=c"]), Ok(json!({"files": ["a", "b", "c"]})));
        assert_eq!(parse(&[r#"number={"start":1}"#]), Ok(json!({"number": {"start": 1}})));
        assert_eq!(parse(&["find=a=b", "literal=perhaps"]), Ok(json!({"find": "a=b", "literal": "perhaps"})));
    }

    #[test]
    fn what_cannot_be_placed_says_what_can() {
        let names = "use one of: files, find, literal, number, sizes";
        assert_eq!(parse(&["fnd=x"]), Err(format!("there is no parameter `fnd`; {names}")));
        assert_eq!(parse(&["number.stop=x"]), Err(format!("there is no parameter `stop`; {names}")));
        assert_eq!(parse(&["find=a", "find=b"]), Err(format!("`find` was given twice, and takes one value; {names}")));
        assert!(parse(&["find"]).unwrap_err().starts_with("`find` has no `=`"));
    }
}
