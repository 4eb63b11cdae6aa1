use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost_protocol::PARAMETERS;

use crate::{ToolError, schema_of};

/// What can be the parameters of a [`CustomTool`](crate::CustomTool): every type that derives `Deserialize` and
/// `JsonSchema`, can be sent to another thread and owns what it holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a tool",
    label = "a tool's parameters are read from JSON, and their schema tells a model of them",
    note = "write `#[derive(Deserialize, JsonSchema)]` above it, and above the types of its fields",
    note = "a field owns its value: `String`, not `&str`"
)]
// No bounds here: the compiler would name the first that is not met, and not say what to do.
pub trait Parameters: Sized + Send + 'static {
    #[doc(hidden)]
    fn from_json(json: &[u8]) -> Result<Self, ToolError>;

    #[doc(hidden)]
    fn from_value(value: Value) -> Result<Self, ToolError>;

    #[doc(hidden)]
    fn schema() -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Parameters for T {
    fn from_json(json: &[u8]) -> Result<Self, ToolError> {
        serde_json::from_slice(json).or_else(|_| {
            Self::from_value(serde_json::from_slice(json).map_err(|error| ToolError::new(error.to_string()))?)
        })
    }

    /// A schema takes `1.0` for an integer, and serde does not.
    fn from_value(value: Value) -> Result<Self, ToolError> {
        serde_path_to_error::deserialize(integral(value)).map_err(|error| misfit(&error))
    }

    fn schema() -> Value {
        schema_of::<Self>()
    }
}

/// Which parameter does not fit, and why.
fn misfit(error: &serde_path_to_error::Error<serde_json::Error>) -> ToolError {
    let (path, why) = (error.path().to_string(), error.inner());
    let text = if path == "." { why.to_string() } else { format!("the parameter `{path}`: {why}") };
    ToolError::new(text).with_code(PARAMETERS)
}

/// The value with every whole number as an integer, where one can hold it.
fn integral(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            #[allow(clippy::cast_possible_truncation)]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < MOST_EXACT => (float as i64).into(),
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(integral).collect(),
        Value::Object(fields) => fields.into_iter().map(|(key, value)| (key, integral(value))).collect(),
        other => other,
    }
}

/// Below this, a float that is whole is exactly that integer.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Params {
        n: u32,
        x: f64,
    }

    #[test]
    fn a_whole_number_may_be_written_with_a_fraction() {
        assert_eq!(Params::from_json(br#"{"n": 3.0, "x": 2.0}"#).unwrap(), Params { n: 3, x: 2.0 });
        assert_eq!(Params::from_json(br#"{"n": 3, "x": 2.5}"#).unwrap(), Params { n: 3, x: 2.5 });
    }

    #[test]
    fn what_does_not_fit_is_named_and_says_why_and_not_at_which_byte() {
        let whole = Params::from_json(br#"{"n": 3}"#).unwrap_err();
        assert_eq!(whole.message(), "missing field `x`");
        let failure = Params::from_json(br#"{"n": 3.5, "x": 1}"#).unwrap_err();
        assert_eq!(failure.message(), "the parameter `n`: invalid type: floating point `3.5`, expected u32");
        assert_eq!(failure.code(), Some(PARAMETERS));
    }
}
