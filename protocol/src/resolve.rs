use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name of the tool that applies or discards a pending action.
pub const RESOLVE: &str = "resolve";

/// What to do with a pending action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ResolveAction {
    /// Make the change.
    Apply,
    /// Drop it.
    Discard,
}

impl fmt::Display for ResolveAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Apply => "apply",
            Self::Discard => "discard",
        })
    }
}

/// Who asks for a resolve, or decides on one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Actor {
    /// The program that owns the session.
    #[default]
    Host,
    /// The model, through a tool call.
    Model,
    /// A person.
    Human,
}

/// The parameters of `resolve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResolveRequest {
    /// What to do.
    pub action: ResolveAction,
    /// Why; handed to the action's callback.
    pub reason: String,
    /// Which pending action; the topmost where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who asks. Never part of the parameters, which a model writes.
    #[serde(skip)]
    pub by: Actor,
}

impl ResolveRequest {
    /// Applies the topmost action.
    pub fn apply(reason: impl Into<String>) -> Self {
        Self { action: ResolveAction::Apply, reason: reason.into(), id: None, by: Actor::Host }
    }

    /// Discards the topmost action.
    pub fn discard(reason: impl Into<String>) -> Self {
        Self { action: ResolveAction::Discard, reason: reason.into(), id: None, by: Actor::Host }
    }

    /// The same for the action with this id, wherever it stands in the stack.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same, asked for by somebody else than the program.
    #[must_use]
    pub fn by(mut self, actor: Actor) -> Self {
        self.by = actor;
        self
    }
}

/// The `details` of a resolve's result. Without an action there are only the first two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResolveDetails {
    /// What was asked for.
    pub action: ResolveAction,
    /// Why.
    pub reason: String,
    /// The tool that staged the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_tool_name: Option<String>,
    /// The action's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The action's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who decided, where somebody else than the asking program or model had a say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// The details that apply or reject returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_result_details: Option<Value>,
}

impl ResolveDetails {
    /// The details of a resolve that had no action.
    pub fn new(action: ResolveAction, reason: impl Into<String>) -> Self {
        Self {
            action,
            reason: reason.into(),
            source_tool_name: None,
            label: None,
            id: None,
            resolved_by: None,
            source_result_details: None,
        }
    }
}
