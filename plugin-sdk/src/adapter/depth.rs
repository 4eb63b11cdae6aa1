//! Details that nest too deep for the host to read.
//!
//! Writing JSON has no limit, and reading it has: 128 levels in serde_json. What only shows there would make a failure
//! of work that has succeeded.

use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Failure};

/// How deep details may nest; the rest is for what the host puts around them.
const DEEPEST: usize = 100;

/// The result of a call, which nobody has acted on yet.
pub(super) fn checked(result: AgentToolResult) -> Result<AgentToolResult, Failure> {
    match &result.details {
        Some(details) if nests_deeper(details, DEEPEST) => Err(Failure::new(message())),
        _ => Ok(result),
    }
}

/// The result of what has happened and stays so: it loses the details alone.
pub(super) fn without_too_deep(mut result: AgentToolResult) -> AgentToolResult {
    leave_out_too_deep(&mut result.details);
    result
}

/// The failure, whose message is to arrive even where its details cannot.
pub(super) fn failure_without_too_deep(mut failure: Failure) -> Failure {
    leave_out_too_deep(&mut failure.details);
    failure
}

fn leave_out_too_deep(details: &mut Option<Value>) {
    if details.as_ref().is_some_and(|details| nests_deeper(details, DEEPEST)) {
        // As JSON, absent and null are the same here.
        *details = None;
        tracing::warn!("{}; they are left out", message());
    }
}

fn message() -> String {
    format!("the details nest deeper than {DEEPEST} levels")
}

/// Looks no further than one level beyond.
fn nests_deeper(value: &Value, levels: usize) -> bool {
    match (value, levels) {
        (Value::Array(_) | Value::Object(_), 0) => true,
        (Value::Array(items), _) => items.iter().any(|item| nests_deeper(item, levels - 1)),
        (Value::Object(fields), _) => fields.values().any(|field| nests_deeper(field, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nested(levels: usize) -> Value {
        (0..levels).fold(json!(1), |inner, level| if level % 2 == 0 { json!([0, inner]) } else { json!({"in": inner}) })
    }

    #[test]
    fn details_of_a_hundred_levels_pass_and_can_be_read() {
        let result = AgentToolResult::text("done").with_details(nested(100));
        assert_eq!(checked(result.clone()), Ok(result.clone()));
        assert_eq!(without_too_deep(result.clone()), result);
        let around = json!({"details": {"sourceResultDetails": result.details}});
        assert_eq!(serde_json::from_str::<Value>(&around.to_string()).unwrap(), around);
    }

    #[test]
    fn deeper_ones_fail_a_call_and_are_left_out_of_what_has_happened() {
        for levels in [101, 200] {
            let result = AgentToolResult::text("done").with_details(nested(levels));
            let failure = checked(result.clone()).unwrap_err();
            assert_eq!(failure.message, "the details nest deeper than 100 levels");
            assert_eq!(without_too_deep(result), AgentToolResult::text("done"));
        }
        let mut failure = Failure::new("busy").with_code("busy");
        failure.details = Some(nested(101));
        assert_eq!(failure_without_too_deep(failure), Failure::new("busy").with_code("busy"));
    }
}
