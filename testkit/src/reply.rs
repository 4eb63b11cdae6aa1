use toolhost_core::service::{ExecRequest, ExecResult};
use toolhost_core::{Caller, Failure};

/// What a program that a tool runs is to answer, without being run.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecReply {
    end: End,
}

#[derive(Debug, Clone, PartialEq)]
enum End {
    Ended(ExecResult),
    Refused(String),
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

    /// It cannot be started, or the host does not allow it: the tool gets an error with this message.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { end: End::Refused(message.into()) }
    }

    /// What it writes on its standard error besides.
    #[must_use]
    pub fn stderr(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        if let End::Ended(result) = &mut self.end {
            result.stderr = bytes.into().into();
        }
        self
    }

    pub(crate) async fn run(self, caller: Caller, _request: ExecRequest) -> Result<ExecResult, Failure> {
        match self.end {
            End::Ended(result) => Ok(result),
            End::Refused(message) => Err(Failure::new(message)),
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
