use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use toolhost_core::Caller;
use toolhost_core::service::ExecRequest;

/// A program that a tool ran, or would have run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecCall {
    /// The program.
    pub command: String,
    /// Its arguments; what is not UTF-8 in them is replaced.
    pub args: Vec<String>,
    /// Its arguments, byte for byte.
    pub os_args: Vec<OsString>,
    /// The directory that was asked for; the session's where it is absent.
    pub cwd: Option<PathBuf>,
    /// The variables that were set, and those that were taken away.
    pub env: BTreeMap<String, Option<String>>,
    /// What it was given on its standard input.
    pub stdin: Option<Vec<u8>>,
    /// The time that it was given; the host's limit where it is absent.
    pub time_limit: Option<Duration>,
    /// How many bytes of each output were to be kept; the host's limit where it is absent.
    pub output_bytes: Option<u64>,
    /// The tool whose call asked; absent from an apply or a reject.
    pub tool: Option<String>,
}

impl ExecCall {
    pub(crate) fn new(caller: &Caller, request: &ExecRequest) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command: text(&request.command.0),
            args: request.args.iter().map(|arg| text(&arg.0)).collect(),
            os_args: request.args.iter().map(|arg| arg.as_os_str().to_owned()).collect(),
            cwd: request.cwd.as_ref().map(|cwd| cwd.0.clone()),
            env: request
                .env
                .iter()
                .map(|(name, value)| (name.clone(), value.as_ref().map(|value| text(&value.0))))
                .collect(),
            stdin: request.stdin.as_ref().map(|stdin| stdin.0.clone()),
            time_limit: request.time_limit_ms.map(Duration::from_millis),
            output_bytes: request.output_bytes,
            tool: caller.tool.clone(),
        }
    }

    /// The program and its arguments, with a blank between each.
    #[must_use]
    pub fn line(&self) -> String {
        [&self.command].into_iter().chain(&self.args).map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// A question that a tool asked a person.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// To choose one of several.
    Select {
        /// What is chosen.
        title: String,
        /// What there was to choose from.
        options: Vec<String>,
    },
    /// Yes or no.
    Confirm {
        /// The question.
        title: String,
        /// What the person should know.
        message: String,
    },
    /// A line of text.
    Input {
        /// The question.
        title: String,
        /// An example of an answer.
        placeholder: String,
    },
}
