use std::future::pending;
use std::time::Duration;

use toolhost_core::service::{EXEC, ExecRequest, ExecResult, KilledBy, REFUSED_SERVICE};
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
    /// Runs until it is killed.
    Hangs(ExecResult),
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

    /// It is killed at its time limit, without the test having to wait for that.
    #[must_use]
    pub fn killed() -> Self {
        Self::killed_by(KilledBy::TimeLimit)
    }

    /// It is killed for this reason; [`KilledBy::Unknown`] is what a host answers that is too old to say.
    #[must_use]
    pub fn killed_by(cause: KilledBy) -> Self {
        let mut result = ExecResult::default();
        kill(&mut result, cause);
        Self { end: End::Ended(result) }
    }

    /// It runs until it is killed: at the time limit that the tool asked for, and where the call that asked is
    /// cancelled. In a test that [pauses the time](crate#time-and-the-plugins-own-runtime) no limit takes long.
    #[must_use]
    pub fn hangs() -> Self {
        Self { end: End::Hangs(ExecResult::default()) }
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
        if let End::Ended(result) | End::Hangs(result) = &mut self.end {
            result.stderr = bytes.into().into();
        }
        self
    }

    /// It writes more than is kept: what it was said to write is the beginning.
    #[must_use]
    pub fn truncated(mut self) -> Self {
        if let End::Ended(result) | End::Hangs(result) = &mut self.end {
            result.truncated = true;
        }
        self
    }

    pub(crate) async fn run(self, caller: Caller, request: ExecRequest) -> Result<ExecResult, Failure> {
        let limit = request.time_limit_ms;
        let mut result = match self.end {
            End::Ended(result) => result,
            End::Failed(failure) => return Err(failure),
            End::Hangs(mut result) => {
                kill(&mut result, until_killed(&caller, limit).await);
                result
            }
        };
        if result.killed_by == Some(KilledBy::TimeLimit) {
            result.time_limit_ms = limit;
        }
        Ok(result)
    }
}

async fn until_killed(caller: &Caller, limit_ms: Option<u64>) -> KilledBy {
    let over = async {
        match limit_ms {
            Some(limit) => tokio::time::sleep(Duration::from_millis(limit)).await,
            None => pending().await,
        }
    };
    tokio::select! {
        biased;
        () = caller.cancellation.cancelled() => KilledBy::Cancellation,
        () = over => KilledBy::TimeLimit,
    }
}

fn kill(result: &mut ExecResult, cause: KilledBy) {
    // As a shell reports a program that was killed: 128 and the number of SIGKILL.
    (result.code, result.killed, result.killed_by) = (137, true, Some(cause));
}

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
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use serde_json::json;
    use toolhost_plugin_sdk::prelude::*;

    use crate::{CallError, ExecReply, TestKit};

    struct Runs {
        pi: CustomToolApi,
        ended: Arc<Mutex<Option<KilledBy>>>,
    }

    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(default)]
    struct Params {
        seconds: Option<u64>,
    }

    fn runs(pi: CustomToolApi) -> Runs {
        Runs { pi, ended: Arc::default() }
    }

    impl CustomTool for Runs {
        const NAME: &'static str = "runs";
        const LABEL: &'static str = "Runs";
        const DESCRIPTION: &'static str = "Runs a program and says how that ended";
        type Params = Params;

        async fn execute(&self, params: Params, call: ToolCall) -> ToolResult {
            let options = params.seconds.map(|seconds| ExecOptions::new().time_limit(Duration::from_secs(seconds)));
            call.update("runs");
            let said = match self.pi.exec("a", ["b"], options.unwrap_or_default()).await {
                Ok(ended) if ended.killed => {
                    *self.ended.lock().unwrap() = ended.killed_by();
                    let code = ended.code;
                    format!("{code} {}", ended.require_success().unwrap_err())
                }
                Ok(ended) => format!("{} {}", ended.code, ended.truncated),
                Err(error) => format!("{}: {}", error.code().unwrap_or_default(), error.message()),
            };
            Ok(said.into())
        }
    }

    #[tokio::test]
    async fn a_program_ends_as_it_is_said_to() {
        for (reply, said) in [
            (ExecReply::stdout("out"), "0 false"),
            (ExecReply::stdout("out").truncated(), "0 true"),
            (ExecReply::failure(3, "why"), "3 false"),
            (ExecReply::killed(), "137 `a b` was killed after its time limit"),
            (ExecReply::killed().stderr("why"), "137 `a b` was killed after its time limit: why"),
            (ExecReply::killed_by(KilledBy::TimeLimit), "137 `a b` was killed after its time limit"),
            (ExecReply::killed_by(KilledBy::Cancellation), "137 `a b` was killed, since its call was cancelled"),
            (ExecReply::killed_by(KilledBy::Signal), "137 `a b` was killed, code 137"),
            (ExecReply::killed_by(KilledBy::Unknown), "137 `a b` was killed, code 137"),
            (ExecReply::refused("not here"), "refused-service: not here"),
            (ExecReply::not_started("no such program"), "exec: no such program"),
        ] {
            let kit = TestKit::builder().exec("a", reply).start(runs).await.unwrap();
            assert_eq!(kit.call("runs", json!({})).await.unwrap().to_text(), said);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_hangs_is_killed_at_the_time_limit_of_its_request() {
        let replies = [ExecReply::hangs().stderr("half of it"), ExecReply::killed()];
        let kit = TestKit::builder().execs("a", replies).start(runs).await.unwrap();
        let began = tokio::time::Instant::now();
        let said = kit.call_text("runs", json!({"seconds": 60})).await;
        assert_eq!(said, "137 `a b` was killed after its time limit of 60 s: half of it");
        assert_eq!(began.elapsed().as_secs(), 60);
        let said = kit.call_text("runs", json!({"seconds": 3600})).await;
        assert_eq!(said, "137 `a b` was killed after its time limit of 3600 s");
        assert_eq!(began.elapsed().as_secs(), 60);
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_killed_with_its_call_whatever_its_time_limit() {
        for parameters in [json!({}), json!({"seconds": 3600})] {
            let ended: Arc<Mutex<_>> = Arc::default();
            let (kit, keeps) = (TestKit::builder().exec("a", ExecReply::hangs()), Arc::clone(&ended));
            let kit = kit.start(move |pi| Runs { pi, ended: keeps.clone() }).await.unwrap();
            let mut call = kit.begin("runs", parameters);
            assert_eq!(call.next_update().await.unwrap().to_text(), "runs");
            call.cancel();
            assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "runs".to_owned() }));
            assert_eq!(*ended.lock().unwrap(), Some(KilledBy::Cancellation));
        }
    }
}
