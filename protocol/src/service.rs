//! What a plugin may ask of its host through `call`: the names of the services, what is asked and what is answered.
//!
//! A service that a host does not know is a [`Failure`](crate::Failure) with the code [`UNKNOWN_SERVICE`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{JsonBytes, JsonPath};

/// Runs a program: an [`ExecRequest`], answered by an [`ExecResult`].
pub const EXEC: &str = "exec";
/// Lets a person choose: a [`UiSelect`], answered by the option's place in the list, from 0, or null.
pub const UI_SELECT: &str = "ui.select";
/// Asks a person yes or no: a [`UiConfirm`], answered by a boolean.
pub const UI_CONFIRM: &str = "ui.confirm";
/// Asks a person for a line of text: a [`UiInput`], answered by a string or null.
pub const UI_INPUT: &str = "ui.input";
/// Shows a person a notice: a [`UiNotice`], answered by null. Taken when it is asked, whether or not the answer is
/// awaited.
pub const UI_NOTIFY: &str = "ui.notify";
/// Shows a person what is going on: a [`UiStatus`], answered by null. Taken when it is asked.
pub const UI_SET_STATUS: &str = "ui.setStatus";
/// What the session is doing: null, answered by a [`SessionState`].
pub const SESSION_STATE: &str = "session.state";
/// Asks the host to stop what the session is doing, the asking call included: null, answered by null. Taken when it is
/// asked.
pub const SESSION_ABORT: &str = "session.abort";

/// Among the services on offer: there is a person to ask, through the services whose names begin with `ui.`.
pub const UI: &str = "ui";
/// Among the services on offer: those whose names begin with `session.`.
pub const SESSION: &str = "session";

/// The code of the failure that answers for a service which the host does not know.
pub const UNKNOWN_SERVICE: &str = "unknown-service";
/// The code of the failure that answers for a service which the host knows and does not grant.
pub const REFUSED_SERVICE: &str = "refused-service";
/// The code of the failure that answers for a service in which the host's own code panicked.
pub const PANICKED_SERVICE: &str = "panicked-service";

/// A program to run, without a shell between.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ExecRequest {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub command: JsonBytes,
    /// Its arguments.
    pub args: Vec<JsonBytes>,
    /// The directory that it runs in, relative to the session's; the session's own where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<JsonPath>,
    /// Variables on top of those that the host lets it inherit; null takes one away.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Option<JsonBytes>>,
    /// What it reads on standard input; nothing where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<JsonBytes>,
    /// How long it may run, in milliseconds; then it is killed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// How many bytes of each of its outputs are kept; the host's limit where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
}

impl ExecRequest {
    /// A program without arguments, as everything is by default.
    pub fn new(command: impl Into<JsonBytes>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }
}

/// How a program ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ExecResult {
    /// What it wrote on standard output.
    pub stdout: JsonBytes,
    /// What it wrote on standard error.
    pub stderr: JsonBytes,
    /// Its exit code; 128 and the signal's number where one ended it. Never 0 where it was killed.
    pub code: i32,
    /// Whether it was killed: by the host, at the time limit or on a cancellation, or by a signal from elsewhere.
    pub killed: bool,
    /// Why it was killed. Absent where it was not, and from a host that is too old to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_by: Option<KilledBy>,
    /// The time limit that ended it, in milliseconds: that of the request, or a lower one of the host's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit_ms: Option<u64>,
    /// Whether output beyond the limit was dropped.
    #[serde(skip_serializing_if = "crate::result::is_false")]
    pub truncated: bool,
}

/// Why a program was killed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum KilledBy {
    /// It ran for longer than it may.
    TimeLimit,
    /// The call that asked for it was cancelled.
    Cancellation,
    /// A signal that the host did not send ended it, as from a person or from a system that is out of memory.
    Signal,
    /// The host does not say, or for a reason that is newer than this.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A choice that a person is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UiSelect {
    /// What is chosen.
    pub title: String,
    /// What there is to choose from.
    pub options: Vec<String>,
}

/// A question that a person answers by yes or no.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UiConfirm {
    /// The question.
    pub title: String,
    /// What a person should know to answer it; may be empty.
    pub message: String,
}

/// A question that a person answers by a line of text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UiInput {
    /// The question.
    pub title: String,
    /// An example of an answer, shown until there is one; may be empty.
    pub placeholder: String,
}

/// A notice to a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UiNotice {
    /// The text.
    pub message: String,
    /// How grave it is.
    pub level: NoticeLevel,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum NoticeLevel {
    /// Something may be wrong.
    Warning,
    /// Something is wrong.
    Error,
    /// Good to know; also what an unknown level counts as.
    #[default]
    #[serde(other)]
    Info,
}

/// A line on what is going on, until it is replaced or taken away.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UiStatus {
    /// Which of the plugin's lines it is.
    pub key: String,
    /// The line; absent, it goes away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct SessionState {
    /// No model and no tool is at work in it.
    pub idle: bool,
    /// How many messages of the person's wait for the model.
    pub queued_messages: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_program_needs_only_its_name() {
        let request: ExecRequest = serde_json::from_value(json!({"command": "git", "later": 1})).unwrap();
        assert_eq!(request, ExecRequest::new("git"));
        assert_eq!(serde_json::to_value(request).unwrap(), json!({"command": "git", "args": []}));
    }

    #[test]
    fn outputs_are_bytes() {
        let result = ExecResult { stdout: vec![0xff].into(), code: 137, killed: true, ..ExecResult::default() };
        let value = json!({"stdout": {"bytes": "/w=="}, "stderr": "", "code": 137, "killed": true});
        assert_eq!(serde_json::to_value(&result).unwrap(), value);
        assert_eq!(serde_json::from_value::<ExecResult>(value).unwrap(), result);
    }

    #[test]
    fn why_a_program_was_killed_may_be_left_out_or_new() {
        let of = |value: serde_json::Value| serde_json::from_value::<ExecResult>(value).unwrap().killed_by;
        assert_eq!(of(json!({"killed": true})), None);
        assert_eq!(of(json!({"killed": true, "killedBy": "boredom"})), Some(KilledBy::Unknown));
        let causes = [KilledBy::TimeLimit, KilledBy::Cancellation, KilledBy::Signal];
        assert_eq!(json!(causes), json!(["timeLimit", "cancellation", "signal"]));
        assert_eq!(causes.map(|cause| of(json!({"killedBy": cause}))), causes.map(Some));
    }

    #[test]
    fn an_unknown_level_counts_as_the_mildest() {
        assert_eq!(serde_json::from_value::<NoticeLevel>(json!("urgent")).unwrap(), NoticeLevel::Info);
        assert_eq!(serde_json::from_value::<NoticeLevel>(json!("warning")).unwrap(), NoticeLevel::Warning);
    }
}
