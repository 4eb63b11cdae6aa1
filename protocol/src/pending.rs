use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Dependency;

/// What a plugin says of a pending action when it pushes it; the callbacks travel beside it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct PendingHead {
    /// What a person decides on, in a few words.
    pub label: String,
    /// The tool that staged it; the host's default stands where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_tool_name: Option<String>,
    /// What programs may show of it, such as a `changes` list of [`FileChange`](crate::FileChange).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What has to be as it was at the preview for it to be applied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
}

impl PendingHead {
    /// A head with a label alone.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }
}

/// The host's answer to a push.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PushReceipt {
    /// The action's id.
    pub id: String,
}

impl PushReceipt {
    /// The receipt for this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into() }
    }
}

/// One pending action, as a tool result lists what its call staged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PendingSummary {
    /// The action's id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// The tool that staged it.
    pub source_tool_name: String,
}

impl PendingSummary {
    /// A summary of these three.
    pub fn new(id: impl Into<String>, label: impl Into<String>, source_tool_name: impl Into<String>) -> Self {
        Self { id: id.into(), label: label.into(), source_tool_name: source_tool_name.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_head_lists_what_it_depends_on() {
        let mut head = PendingHead::new("Delete a");
        assert_eq!(serde_json::to_value(&head).unwrap(), json!({"label": "Delete a"}));
        head.depends_on.push(Dependency::absent("/b"));
        let value = serde_json::to_value(&head).unwrap();
        assert_eq!(value, json!({"label": "Delete a", "dependsOn": [{"path": "/b", "absent": true}]}));
        assert_eq!(serde_json::from_value::<PendingHead>(value).unwrap(), head);
    }
}
