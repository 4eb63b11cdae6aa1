use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// One way in which parameters do not satisfy a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// Where, as a JSON pointer; empty for the parameters as a whole.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

impl Violation {
    pub(super) fn whole(message: &str) -> Self {
        Self { path: String::new(), message: message.to_owned() }
    }

    /// What a validator's error says, in words that tell what would be right: all values of an enumeration, and of
    /// alternatives the one that is meant.
    pub(super) fn of(error: &ValidationError<'_>) -> Vec<Self> {
        let here = |message: String| vec![Self { path: error.instance_path().to_string(), message }];
        if let Some(choices) = choices(error) {
            let choices: Vec<_> = choices.iter().map(ToString::to_string).collect();
            return here(format!("{} is not one of {}", error.instance(), choices.join(", ")));
        }
        match alternatives(error).as_deref() {
            Some([only]) => only.iter().flat_map(Self::of).collect(),
            _ => here(error.to_string()),
        }
    }
}

/// The alternatives that failed, without that of being null.
fn alternatives<'e>(error: &'e ValidationError<'_>) -> Option<Vec<&'e [ValidationError<'static>]>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return None;
    };
    Some(context.iter().map(Vec::as_slice).filter(|errors| !wants_null(errors)).collect())
}

fn wants_null(errors: &[ValidationError<'_>]) -> bool {
    let null = |error: &ValidationError<'_>| {
        matches!(error.kind(), ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) })
    };
    matches!(errors, [only] if null(only))
}

/// The values that would be right, where the schema lists them all; null goes without saying.
fn choices(error: &ValidationError<'_>) -> Option<Vec<Value>> {
    let listed = match error.kind() {
        ValidationErrorKind::Enum { options } => options.as_array()?.clone(),
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.as_ref().clone()],
        _ => {
            let alternatives = alternatives(error)?;
            let listed: Option<Vec<_>> = alternatives
                .into_iter()
                .map(|errors| match errors {
                    [only] => choices(only),
                    _ => None,
                })
                .collect();
            listed.filter(|listed| !listed.is_empty())?.concat()
        }
    };
    Some(listed.into_iter().filter(|value| !value.is_null()).collect())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&at(&self.path, &self.message))
    }
}

pub(super) fn at(path: &str, message: &str) -> String {
    if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(schema: Value, value: Value) -> Vec<String> {
        let schema = json!({"type": "object", "properties": {"x": schema}});
        let validator = jsonschema::validator_for(&schema).unwrap();
        let value = json!({"x": value});
        validator.iter_errors(&value).flat_map(|error| Violation::of(&error)).map(|each| each.to_string()).collect()
    }

    #[test]
    fn all_choices_are_named_and_null_is_none() {
        let choices = r#"/x: "uper" is not one of "lower", "upper", "title", "none", "other""#;
        let names = ["lower", "upper", "title", "none", "other"];
        let with_null: Vec<Value> = names.iter().map(|name| json!(name)).chain([Value::Null]).collect();
        let constants: Vec<Value> = names.iter().map(|name| json!({"const": name})).collect();
        for schema in [
            json!({"enum": names}),
            json!({"enum": with_null}),
            json!({"anyOf": [{"enum": names, "type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [{"oneOf": constants}, {"type": "null"}]}),
        ] {
            assert_eq!(said(schema, json!("uper")), [choices]);
        }
    }

    #[test]
    fn what_may_be_null_is_judged_as_what_it_else_is() {
        let schema = json!({"anyOf": [
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["m"]}, {"type": "null"}
        ]});
        assert_eq!(
            said(schema, json!({"n": "a"})),
            [r#"/x: "m" is a required property"#, r#"/x/n: "a" is not of type "integer""#]
        );
    }

    #[test]
    fn real_alternatives_are_left_to_the_validator() {
        let schema = json!({"anyOf": [{"type": "string"}, {"type": "integer"}]});
        let said = said(schema, json!(true));
        assert_eq!(said, ["/x: true is not valid under any of the schemas listed in the 'anyOf' keyword"]);
    }
}
