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
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let fix = match fs::exists(params) {
            Ok(true) => format!("write --params @{params} to read that file"),
            _ => "give an object, such as --params '{\"files\":[\"a.txt\"]}'".to_owned(),
        };
        invalid(format!("{source} is no valid JSON: {error}"), &fix)
    })?;
    if !value.is_object() {
        return Err(invalid(format!("{source} is valid JSON, but no object"), "put the parameters into `{...}`"));
    }
    Ok(value)
}

/// The text that `--params` names, and how to call it in a message.
fn read(params: &str) -> Result<(String, String), CliError> {
    let fix = "give JSON, @FILE with an existing file, or - for standard input";
    let failed = |source: &str, error: io::Error| invalid(format!("{source} cannot be read: {error}"), fix);
    if params == "-" {
        let mut text = String::new();
        let source = "standard input";
        io::stdin().read_to_string(&mut text).map_err(|error| failed(source, error))?;
        return Ok((text, source.to_owned()));
    }
    match params.strip_prefix('@') {
        Some("") => Err(invalid("`@` names no file".to_owned(), fix)),
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
        let Some((key, text)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            let fix = "write each parameter as key=value, or all of them as --params JSON";
            return Err(invalid(format!("`{pair}` is no key=value"), fix));
        };
        let place = Place { key, at: key, prefix: "" };
        place.set(&mut parameters, schema, text).map_err(|(message, fix)| invalid(message, &fix))?;
    }
    Ok(Value::Object(parameters))
}

/// A message, and what to do.
type Misplaced = (String, String);

/// Where a value goes; a key with dots reaches into objects.
#[derive(Clone, Copy)]
struct Place<'k> {
    /// The key as it was given.
    key: &'k str,
    /// What is left of it at this depth.
    at: &'k str,
    /// What led here, with its dot.
    prefix: &'k str,
}

impl Place<'_> {
    fn set(self, parameters: &mut Map<String, Value>, schema: &Value, text: &str) -> Result<(), Misplaced> {
        let schema = inner(schema);
        if let Some(property) = properties(schema).and_then(|properties| properties.get(self.at)) {
            return self.put(parameters, property, text);
        }
        if let Some((outer, rest)) = self.at.split_once('.')
            && let Some(property) = properties(schema).and_then(|properties| properties.get(outer))
            && type_of(property) == Some("object")
        {
            let nested = parameters.entry(outer).or_insert_with(|| Value::Object(Map::new()));
            let prefix = &self.key[..self.key.len() - rest.len()];
            return match nested {
                Value::Object(fields) => Place { at: rest, prefix, ..self }.set(fields, property, text),
                _ => {
                    Err((format!("`{outer}` was given as a whole already"), format!("give it once, or only {outer}.*")))
                }
            };
        }
        match schema.get("additionalProperties") {
            Some(others) if *others != Value::Bool(false) => self.put(parameters, others, text),
            _ => Err((format!("there is no parameter `{}`", self.key), self.alternatives(schema))),
        }
    }

    /// The names that there are, those near the one that was given first.
    fn alternatives(self, schema: &Value) -> String {
        let mut names: Vec<_> = properties(schema).into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        names.sort_by(|a, b| strsim::jaro_winkler(b, self.at).total_cmp(&strsim::jaro_winkler(a, self.at)));
        if names.is_empty() {
            return "leave it out; there are no parameters to give".to_owned();
        }
        let names: Vec<_> = names.iter().map(|name| format!("{}{name}", self.prefix)).collect();
        format!("use one of: {}", names.join(", "))
    }

    fn put(self, parameters: &mut Map<String, Value>, schema: &Value, text: &str) -> Result<(), Misplaced> {
        let value = typed(schema, text);
        match parameters.get_mut(self.at) {
            None => {
                parameters.insert(self.at.to_owned(), value);
            }
            // Each repetition adds to a list.
            Some(Value::Array(items)) if type_of(schema) == Some("array") => match value {
                Value::Array(more) => items.extend(more),
                other => items.push(other),
            },
            Some(_) => {
                return Err((
                    format!("`{}` was given twice, and takes one value", self.key),
                    "give it once".to_owned(),
                ));
            }
        }
        Ok(())
    }
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
        let error = |pairs: &[&str]| parse(pairs).unwrap_err();
        let names = "use one of: find, files, number, literal, sizes";
        assert_eq!(error(&["fnd=x"]), format!("there is no parameter `fnd`; {names}"));
        assert_eq!(error(&["number.stop=x"]), "there is no parameter `number.stop`; use one of: number.start");
        assert_eq!(error(&["find=a", "find=b"]), "`find` was given twice, and takes one value; give it once");
        assert!(error(&["find"]).starts_with("`find` is no key=value"));
        assert!(error(&["=a"]).starts_with("`=a` is no key=value"));
    }
}
