//! Where a value comes from.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::plain::plain_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    Default,
    /// The option that gave it.
    CommandLine(&'static str),
    /// The variable that gave it.
    Environment(&'static str),
    File {
        path: PathBuf,
        /// From 1.
        line: usize,
    },
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
    pub(crate) source: Source,
}

impl<T> Sourced<T> {
    pub(crate) fn new(value: T, source: Source) -> Self {
        Self { value, source }
    }

    pub(crate) fn default(value: T) -> Self {
        Self::new(value, Source::Default)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::CommandLine(option) => write!(f, "command line ({option})"),
            Self::Environment(variable) => write!(f, "environment ({variable})"),
            Self::File { path, line } => write!(f, "{}:{line}", plain_line(&path.to_string_lossy())),
        }
    }
}

impl Source {
    /// What a program is told.
    pub(crate) fn as_json(&self) -> Value {
        match self {
            Self::Default => json!({"kind": "default"}),
            Self::CommandLine(option) => json!({"kind": "commandLine", "option": option}),
            Self::Environment(variable) => json!({"kind": "environment", "variable": variable}),
            Self::File { path, line } => json!({"kind": "file", "path": path.to_string_lossy(), "line": line}),
        }
    }
}
