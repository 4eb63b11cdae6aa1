//! Parameters against a tool's schema.

mod coerce;
#[cfg(test)]
mod tests;
mod violation;

use std::fmt;

use serde_json::Value;

pub use violation::Violation;
use violation::at;

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

    /// The parameters as the schema wants them: as they came where they satisfy it, else with what a model is known to
    /// get wrong put right, see [`coerce`]. The error is about the parameters as they came.
    pub(crate) fn accept(&self, tool: &str, parameters: Value) -> Result<Value, InvalidParameters> {
        match self.check(tool, &parameters) {
            Ok(()) => Ok(parameters),
            Err(invalid) => coerce::coerced(&self.0, parameters).ok_or(invalid),
        }
    }

    /// Every violation, in the order of the schema.
    pub(crate) fn check(&self, tool: &str, parameters: &Value) -> Result<(), InvalidParameters> {
        if self.0.is_valid(parameters) {
            return Ok(());
        }
        let violations = self.0.iter_errors(parameters).flat_map(|error| Violation::of(&error)).collect();
        Err(InvalidParameters { tool: tool.to_owned(), violations, received: parameters.clone() })
    }
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
        let violations = vec![Violation::whole(message)];
        Self { tool: tool.to_owned(), violations, received: received.clone() }
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
