use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The code of a failure that means: the world changed since the preview, and nothing was done.
pub const STALE: &str = "stale";

/// The code of a failure that means: the parameters satisfy the schema, and still do not fit the tool.
pub const PARAMETERS: &str = "parameters";

/// The code of a failure that means: a setting of the plugin is wrong.
pub const CONFIG: &str = "config";

/// Why a tool, an apply or a reject failed, as it crosses from plugin to host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Failure {
    /// What went wrong, for the model and for people.
    pub message: String,
    /// A stable code for programs, such as [`STALE`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whatever else programs should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Failure {
    /// A failure with a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same failure with a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same failure with details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
