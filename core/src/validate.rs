use std::fmt;

use serde_json::Value;

/// A tool's parameter schema, compiled once.
pub(crate) struct Validator(jsonschema::Validator);

impl Validator {
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err("its type has to be `object`".to_owned());
        }
        jsonschema::options()
            // Linear in the text, so that no pattern of a plugin can stall its host.
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(schema)
            .map(Self)
            .map_err(|error| at(&error.instance_path().to_string(), &error.to_string()))
    }

    /// Every violation, in the order of the schema.
    pub(crate) fn check(&self, tool: &str, parameters: &Value) -> Result<(), InvalidParameters> {
        if self.0.is_valid(parameters) {
            return Ok(());
        }
        let violations = self
            .0
            .iter_errors(parameters)
            .map(|error| Violation { path: error.instance_path().to_string(), message: error.to_string() })
            .collect();
        Err(InvalidParameters { tool: tool.to_owned(), violations, received: parameters.clone() })
    }
}

/// One way in which parameters do not satisfy a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where, as a JSON pointer; empty for the parameters as a whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&at(&self.path, &self.message))
    }
}

fn at(path: &str, message: &str) -> String {
    if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") }
}

/// Parameters that do not satisfy a tool's schema. The text lists every violation, then what was received.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct InvalidParameters {
    /// The tool's name.
    pub tool: String,
    /// Every violation, at least one.
    pub violations: Vec<Violation>,
    /// The parameters as they were received.
    pub received: Value,
}

impl InvalidParameters {
    pub(crate) fn new(tool: &str, message: &str, received: &Value) -> Self {
        let violation = Violation { path: String::new(), message: message.to_owned() };
        Self { tool: tool.to_owned(), violations: vec![violation], received: received.clone() }
    }
}

impl fmt::Display for InvalidParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid parameters for tool `{}`:", self.tool)?;
        for violation in &self.violations {
            write!(f, "\n- {violation}")?;
        }
        write!(f, "\nreceived: {}", self.received)
    }
}

impl std::error::Error for InvalidParameters {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_violation_is_listed_by_path() {
        let schema = json!({
            "type": "object",
            "properties": {"files": {"type": "array", "items": {"type": "string"}}, "n": {"type": "integer"}},
            "required": ["files", "find"],
        });
        let validator = Validator::new(&schema).unwrap();
        let error = validator.check("rename", &json!({"files": ["a", 1], "n": "x"})).unwrap_err();
        let mut paths: Vec<_> = error.violations.iter().map(|violation| violation.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["", "/files/1", "/n"]);
        let text = error.to_string();
        assert!(text.starts_with("invalid parameters for tool `rename`:\n- "), "{text}");
        assert!(text.contains("- /files/1: 1 is not of type \"string\""), "{text}");
        assert!(text.ends_with(r#"received: {"files":["a",1],"n":"x"}"#), "{text}");
    }
}
