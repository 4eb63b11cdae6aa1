use toolhost_core::service::{EXEC, ExecRequest, ExecResult, REFUSED_SERVICE};
use toolhost_core::{Caller, Failure};

/// What a program that a tool runs is to answer, without being run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecReply {
    end: End,
}

#[derive(Debug, Clone, PartialEq)]
enum End {
    Ended(ExecResult),
    Failed(Failure),
    /// Runs until the call that asked is cancelled.
    Hangs,
}

impl ExecReply {
    /// It writes this on its standard output and ends with 0.
    pub fn stdout(bytes: impl Into<Vec<u8>>) -> Self {
        let mut result = ExecResult::default();
        result.stdout = bytes.into().into();
        Self { end: End::Ended(result) }
    }

    /// It writes this on its standard error and ends with this code.
    pub fn failure(code: i32, stderr: impl Into<Vec<u8>>) -> Self {
        let mut result = ExecResult::default();
        (result.code, result.stderr) = (code, stderr.into().into());
        Self { end: End::Ended(result) }
    }

    /// It is killed, as at a time limit.
    #[must_use]
    pub fn killed() -> Self {
        let mut result = ExecResult::default();
        (result.code, result.killed) = (KILLED, true);
        Self { end: End::Ended(result) }
    }

    /// It runs until the call that asked is cancelled.
    #[must_use]
    pub fn hangs() -> Self {
        Self { end: End::Hangs }
    }

    /// The host runs no programs: the tool gets an error with this message and the code `refused-service`.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { end: End::Failed(Failure::new(message).with_code(REFUSED_SERVICE)) }
    }

    /// It cannot be started, since it is not there or is no program: the tool gets an error with this message and the
    /// code `exec`.
    pub fn not_started(message: impl Into<String>) -> Self {
        Self { end: End::Failed(Failure::new(message).with_code(EXEC)) }
    }

    /// What it writes on its standard error besides.
    #[must_use]
    pub fn stderr(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let End::Ended(result) = &mut self.end {
            result.stderr = bytes.into().into();
        }
        self
    }

    /// It writes more than is kept: what it was said to write is the beginning.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        if let End::Ended(result) = &mut self.end {
            result.truncated = true;
        }
        self
    }

    pub(crate) async fn run(self, caller: Caller, _request: ExecRequest) -> Result<ExecResult, Failure> {
        match self.end {
            End::Ended(result) => Ok(result),
            End::Failed(failure) => Err(failure),
            End::Hangs => {
                caller.cancellation.cancelled().await;
                let mut result = ExecResult::default();
                (result.code, result.killed) = (KILLED, true);
                Ok(result)
            }
        }
    }
}

/// What a shell reports of a program that was killed: 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// What a person is to answer to a tool's next question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UiReply {
    /// Chooses the option with this text.
    Choose(&'static str),
    /// Says yes.
    Yes,
    /// Says no.
    No,
    /// Types this.
    Type(&'static str),
    /// Would not answer, whatever the question.
    Dismiss,
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolhost_plugin_sdk::prelude::*;

    use crate::{ExecReply, TestKit};

    struct Runs {
        pi: CustomToolApi,
    }

    impl CustomTool for Runs {
        const NAME: &'static str = "runs";
        const LABEL: &'static str = "Runs";
        const DESCRIPTION: &'static str = "Runs a program and says how that ended";
        type Params = NoParams;

        async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
            let said = match self.pi.exec("a", ["b"], ExecOptions::new()).await {
                Ok(ended) => format!("{} {} {}", ended.code, ended.killed, ended.truncated),
                Err(error) => format!("{}: {}", error.code().unwrap_or_default(), error.message()),
            };
            Ok(said.into())
        }
    }

    #[tokio::test]
    async fn a_program_ends_as_it_is_said_to() {
        for (reply, said) in [
            (ExecReply::stdout("out"), "0 false false"),
            (ExecReply::stdout("out").truncated(), "0 false true"),
            (ExecReply::failure(3, "why"), "3 false false"),
            (ExecReply::killed(), "137 true false"),
            (ExecReply::refused("not here"), "refused-service: not here"),
            (ExecReply::not_started("no such program"), "exec: no such program"),
        ] {
            let kit = TestKit::builder().exec("a", reply).start(|pi| Runs { pi }).await.unwrap();
            assert_eq!(kit.call("runs", json!({})).await.unwrap().to_text(), said);
        }
    }
}
