use crate::InvalidParameters;

/// Why a call did not run to its end. A tool that ran and failed is a result with `is_error` instead.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The session has no tool of this name.
    #[error("no tool is named `{name}`{}", suggestion(similar))]
    UnknownTool {
        /// The name that was called.
        name: String,
        /// Up to three names near it.
        similar: Vec<String>,
    },
    /// The parameters do not satisfy the tool's schema; nothing ran.
    #[error(transparent)]
    InvalidParameters(InvalidParameters),
    /// The tool must not be run any more; nothing ran.
    #[error("`{tool}` was not called: {reason}")]
    Refused {
        /// The tool's name.
        tool: String,
        /// Why, as a sentence without a full stop.
        reason: String,
    },
    /// The session has ended.
    #[error("the session `{session}` has ended")]
    SessionEnded {
        /// The session's id.
        session: String,
    },
    /// The call was cancelled: the tool stopped, or was left behind since it did not.
    #[error("the call of `{tool}` was cancelled")]
    Cancelled {
        /// The tool's name.
        tool: String,
    },
    /// The call did not end in time, and was cancelled.
    #[error("the call of `{tool}` did not end within {} s and was cancelled", limit.as_secs_f64())]
    Deadline {
        /// The tool's name.
        tool: String,
        /// The time that it had.
        limit: std::time::Duration,
    },
}

impl CallError {
    /// There is no tool of this name.
    #[must_use]
    pub fn unknown_tool(name: impl Into<String>, similar: Vec<String>) -> Self {
        Self::UnknownTool { name: name.into(), similar }
    }

    /// What the model should read.
    #[must_use]
    pub fn for_model(&self) -> String {
        match self {
            Self::InvalidParameters(_) => format!("{self}\nCorrect the parameters and call the tool again."),
            Self::UnknownTool { similar, .. } if !similar.is_empty() => self.to_string(),
            _ => format!("{self}."),
        }
    }
}

fn suggestion(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        names => format!("; did you mean `{}`?", names.join("` or `")),
    }
}
