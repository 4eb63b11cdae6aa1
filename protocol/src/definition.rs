use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::result::is_false;

/// What a tool says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolDefinition {
    /// The name that a model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    pub name: String,
    /// The name that a person reads.
    #[serde(default)]
    pub label: String,
    /// The name that clients show instead of the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, for the model; the first line stands in lists.
    #[serde(default)]
    pub description: String,
    /// The JSON Schema (2020-12) of its parameters, always of an object.
    #[serde(default = "any_object")]
    pub parameters: Value,
    /// The JSON Schema of the details of its results, always of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What a call does to the world.
    #[serde(default)]
    pub effect: Effect,
    /// Left out of the lists that a person sees.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
    /// Stages changes, so that a model is offered `resolve` together with it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferrable: bool,
    /// Several calls of it may run at once in one session; otherwise they wait for each other.
    #[serde(default, skip_serializing_if = "is_false")]
    pub parallel: bool,
}

impl ToolDefinition {
    /// A definition with this name, the same label, no description, and parameters that any object satisfies.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            label: name.clone(),
            name,
            title: None,
            description: String::new(),
            parameters: any_object(),
            output_schema: None,
            effect: Effect::default(),
            hidden: false,
            deferrable: false,
            parallel: false,
        }
    }

    /// The first line of the description.
    #[must_use]
    pub fn summary(&self) -> &str {
        self.description.trim_start().lines().next().unwrap_or_default().trim_end()
    }
}

/// What a plugin tells its host of a tool besides, as further fields of the definition's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolHints {
    /// It does something at the steps in its session's life; otherwise it need not be told of them. A plugin that is too
    /// old to say is told.
    #[serde(skip_serializing_if = "is_true")]
    pub watches_session: bool,
}

impl Default for ToolHints {
    fn default() -> Self {
        Self { watches_session: true }
    }
}

fn is_true(flag: &bool) -> bool {
    *flag
}

/// What a call of a tool does to the world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Effect {
    /// It only reads.
    ReadOnly,
    /// It only reads, and stages what it would change as a pending action.
    Stages,
    /// It may change the world by itself; also what a newer plugin's unknown effect counts as.
    #[default]
    #[serde(other)]
    Changes,
}

fn any_object() -> Value {
    serde_json::json!({"type": "object"})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_name_is_enough() {
        let definition: ToolDefinition = serde_json::from_value(json!({"name": "x", "later": true})).unwrap();
        assert_eq!(definition.parameters, json!({"type": "object"}));
        assert_eq!(definition.effect, Effect::Changes);
    }

    #[test]
    fn a_tool_is_told_of_its_session_unless_it_says_that_it_need_not_be() {
        let watches = |value| serde_json::from_value::<ToolHints>(value).unwrap().watches_session;
        assert!(watches(json!({"name": "x"})));
        assert!(watches(json!({"watchesSession": true})));
        assert!(!watches(json!({"watchesSession": false})));
        assert_eq!(serde_json::to_value(ToolHints::default()).unwrap(), json!({}));
        assert_eq!(
            serde_json::to_value(ToolHints { watches_session: false }).unwrap(),
            json!({"watchesSession": false})
        );
    }

    #[test]
    fn an_unknown_effect_counts_as_the_gravest() {
        assert_eq!(serde_json::from_value::<Effect>(json!("teleports")).unwrap(), Effect::Changes);
        assert_eq!(serde_json::from_value::<Effect>(json!("readOnly")).unwrap(), Effect::ReadOnly);
    }

    #[test]
    fn the_summary_is_the_first_line() {
        let mut definition = ToolDefinition::new("x");
        definition.description = "\n  Renames files. \nMore.".into();
        assert_eq!(definition.summary(), "Renames files.");
    }
}
