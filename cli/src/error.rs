//! What goes wrong outside of a tool, with its exit code.

use serde_json::{Value, json};
use toolhost_core::CallError;
use toolhost_loader::StateError;

/// The command ran.
pub(crate) const OK: u8 = 0;
/// A tool, an apply, a reject or a clean-up failed.
pub(crate) const FAILED: u8 = 1;
/// The command was used wrongly, or what it names is not there.
pub(crate) const USAGE: u8 = 2;
/// What would run is not trusted, or is blocked.
pub(crate) const TRUST: u8 = 3;
/// The world, or the preview, is not what it was.
pub(crate) const STALE: u8 = 4;

/// What is said where a tool asked to stop.
pub(crate) fn aborted(by: &str) -> String {
    format!("{by} asked to stop; what was staged and not yet applied is discarded")
}

/// A failure with a code for programs, a message, and what to do.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: u8,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) fix: String,
}

impl CliError {
    pub(crate) fn usage(code: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { exit: USAGE, code, message: message.into(), fix: fix.into() }
    }

    /// What a program is told.
    pub(crate) fn as_json(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message, "fix": self.fix}})
    }

    pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> Self {
        let fix = "try again; if it stays, look at standard error with TOOLHOST_LOG=debug".to_owned();
        Self { exit: FAILED, code, message: message.into(), fix }
    }

    pub(crate) fn interrupted(exit: u8) -> Self {
        let message = "interrupted; what was staged was discarded".to_owned();
        Self { exit, code: "interrupted", message, fix: "run the command again".to_owned() }
    }

    pub(crate) fn killed(exit: u8) -> Self {
        let message = "ended at once, as it was asked again; what was staged is dropped".to_owned();
        let fix = "`toolhost journal` tells what was being applied".to_owned();
        Self { exit, code: "interrupted", message, fix }
    }

    pub(crate) fn aborted(by: &str) -> Self {
        let fix = "run the command again once what it found is mended".to_owned();
        Self { exit: FAILED, code: "aborted", message: aborted(by), fix }
    }

    /// A call that was refused since the tool's plugin must not run.
    pub(crate) fn refused(error: &CallError) -> Self {
        let fix = "`toolhost block --list` shows what is blocked, and why".to_owned();
        Self { exit: TRUST, code: "blocked", message: error.to_string(), fix }
    }

    pub(crate) fn unknown_tool(name: &str, similar: &[String]) -> Self {
        let unknown = CallError::unknown_tool(name, similar.to_vec());
        Self::usage("unknown-tool", unknown.to_string(), "`toolhost list` with the same --plugin shows every tool")
    }
}

impl From<StateError> for CliError {
    fn from(error: StateError) -> Self {
        Self { exit: FAILED, code: "state", message: error.to_string(), fix: error.fix() }
    }
}
