use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::AgentToolResult;

/// What a tool is asked to render for a person. Answered by a list of lines, or by null for the host's own rendering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum RenderRequest {
    /// A call, before or while it runs.
    Call {
        /// The parameters; they need not satisfy the schema, where a model is still writing them.
        parameters: Value,
        /// How many columns a line may have.
        width: usize,
    },
    /// What a call ended with.
    Result {
        /// The result.
        result: AgentToolResult,
        /// How many columns a line may have.
        width: usize,
        /// Whether the person asked for all of it.
        #[serde(default)]
        expanded: bool,
    },
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_kind_has_its_shape() {
        let value = json!({"kind": "result", "result": {"content": []}, "width": 80, "expanded": true});
        let request = RenderRequest::Result { result: AgentToolResult::default(), width: 80, expanded: true };
        assert_eq!(serde_json::to_value(&request).unwrap(), value);
        assert_eq!(serde_json::from_value::<RenderRequest>(value).unwrap(), request);
        assert_eq!(serde_json::from_value::<RenderRequest>(json!({"kind": "hologram"})).unwrap(), RenderRequest::Other);
    }
}
