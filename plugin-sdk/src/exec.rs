use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use toolhost_protocol::service::{ExecRequest, ExecResult, KilledBy};
use toolhost_protocol::{JsonBytes, JsonPath};

use crate::ToolError;

/// How a program runs; see [`CustomToolApi::exec`](crate::CustomToolApi::exec).
///
/// ```
/// # use std::time::Duration;
/// # use toolhost_plugin_sdk::ExecOptions;
/// ExecOptions::new().cwd("sub/directory").env("LC_ALL", "C").time_limit(Duration::from_secs(30));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "options take effect in `exec`"]
pub struct ExecOptions {
    request: ExecRequest,
}

impl ExecOptions {
    /// The session's directory, an empty standard input, and no more limits than the host's.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs it in this directory; a relative one starts at the session's.
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.request.cwd = Some(JsonPath(directory.into()));
        self
    }

    /// Sets a variable of its environment, on top of those that the host lets it inherit: `PATH`, `HOME` and their
    /// like, never what looks like a key or a password.
    pub fn env(mut self, name: impl Into<String>, value: impl AsRef<OsStr>) -> Self {
        self.request.env.insert(name.into(), Some(JsonBytes::from(value.as_ref())));
        self
    }

    /// Takes a variable away that it would inherit.
    pub fn without_env(mut self, name: impl Into<String>) -> Self {
        self.request.env.insert(name.into(), None);
        self
    }

    /// What it reads on its standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.request.stdin = Some(JsonBytes(bytes.into()));
        self
    }

    /// Kills it, and all that it started, after this time.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.request.time_limit_ms = Some(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Keeps so many bytes of each of its outputs; more is dropped, and [`ExecOutput::truncated`] says so.
    ///
    /// A host has a limit of its own, 10 MiB by default, which this can only lower.
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.request.output_bytes = Some(bytes);
        self
    }

    pub(crate) fn into_request<A: AsRef<OsStr>>(
        self,
        command: &OsStr,
        args: impl IntoIterator<Item = A>,
    ) -> ExecRequest {
        let mut request = self.request;
        request.command = JsonBytes::from(command);
        request.args = args.into_iter().map(|arg| JsonBytes::from(arg.as_ref())).collect();
        request
    }
}

/// How a program ended.
///
/// One that was killed has an output like any other, with what it had written by then;
/// [`require_success`](Self::require_success) makes an error of it that says why it was killed. A tool that knows what to
/// do about a time limit tells that apart:
///
/// ```
/// # use std::time::Duration;
/// # use toolhost_plugin_sdk::prelude::*;
/// # async fn test(pi: CustomToolApi) -> ToolResult {
/// let options = ExecOptions::new().time_limit(Duration::from_secs(60));
/// let log = pi.exec("git", ["log", "--stat"], options).await?;
/// if log.timed_out() {
///     return Err("`git log` takes too long here; ask for a shorter period".into());
/// }
/// let log = log.require_success()?;
/// # Ok(log.stdout_text().into_owned().into()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecOutput {
    /// What it wrote on its standard output, byte for byte.
    pub stdout: Vec<u8>,
    /// What it wrote on its standard error.
    pub stderr: Vec<u8>,
    /// Its exit code; 128 and the signal's number where one ended it. Never 0 where it was killed.
    pub code: i32,
    /// Whether it was killed; [`killed_by`](Self::killed_by) says why.
    pub killed: bool,
    /// Whether output beyond the limit was dropped.
    pub truncated: bool,
    killed_by: KilledBy,
    /// Which one ended it.
    time_limit: Option<Duration>,
    /// What messages call it.
    name: String,
}

impl ExecOutput {
    pub(crate) fn new(name: String, result: ExecResult) -> Self {
        Self {
            stdout: result.stdout.0,
            stderr: result.stderr.0,
            code: result.code,
            killed: result.killed,
            truncated: result.truncated,
            killed_by: result.killed_by.unwrap_or_default(),
            time_limit: result.time_limit_ms.map(Duration::from_millis),
            name,
        }
    }

    /// Whether it ended by itself with the code 0.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.code == 0 && !self.killed
    }

    /// Why it was killed; `None` where it was not. A host that is too old to say answers [`KilledBy::Unknown`].
    #[must_use]
    pub fn killed_by(&self) -> Option<KilledBy> {
        self.killed.then_some(self.killed_by)
    }

    /// Whether it was killed at its time limit, or at a lower one of the host's. False where an old host does not say
    /// why it was killed.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.killed_by() == Some(KilledBy::TimeLimit)
    }

    /// Its standard output as text; what is not UTF-8 becomes `U+FFFD`.
    #[must_use]
    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    /// Its standard error as text, likewise.
    #[must_use]
    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// The same output, where it is one of success.
    ///
    /// # Errors
    ///
    /// What the program is, with its subcommand where it has one, how it ended, and the last 2,000 bytes of its standard
    /// error: `` `git push` ended with code 1: … ``, or `` `git push` was killed after its time limit of 60 s: … ``
    pub fn require_success(self) -> Result<Self, ToolError> {
        const SHOWN: usize = 2_000;
        if self.is_success() {
            return Ok(self);
        }
        let stderr = self.stderr_text();
        let shown = stderr.trim_end();
        let tail = &shown[shown.ceil_char_boundary(shown.len().saturating_sub(SHOWN))..];
        let colon = if tail.is_empty() { "" } else { ": " };
        Err(ToolError::new(format!("`{}` {}{colon}{tail}", self.name, self.how_it_ended())))
    }

    fn how_it_ended(&self) -> String {
        match (self.killed_by(), self.time_limit) {
            (None, _) => format!("ended with code {}", self.code),
            (Some(KilledBy::TimeLimit), Some(limit)) => {
                format!("was killed after its time limit of {} s", limit.as_secs_f64())
            }
            (Some(KilledBy::TimeLimit), None) => "was killed after its time limit".to_owned(),
            (Some(KilledBy::Cancellation), _) => "was killed, since its call was cancelled".to_owned(),
            (Some(_), _) => format!("was killed, code {}", self.code),
        }
    }
}

/// What messages call a program: its name, and its first argument where that looks like a subcommand. Any other may be
/// long, or nobody's business.
pub(crate) fn name(request: &ExecRequest) -> String {
    let command = request.command.as_os_str().to_string_lossy();
    match request.args.first().and_then(|arg| str::from_utf8(&arg.0).ok()) {
        Some(arg) if is_subcommand(arg) => format!("{command} {arg}"),
        _ => command.into_owned(),
    }
}

/// `push`, `rev-parse`, `test:unit`: short, of small letters, digits, `-`, `_` and `:`, and a letter first.
fn is_subcommand(arg: &str) -> bool {
    const LONGEST: usize = 20;
    arg.len() <= LONGEST
        && arg.starts_with(|c: char| c.is_ascii_lowercase())
        && arg.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn output(code: i32, killed: bool, stderr: &str) -> ExecOutput {
        let mut result = ExecResult::default();
        (result.code, result.killed, result.stderr) = (code, killed, stderr.into());
        ExecOutput::new("git".to_owned(), result)
    }

    #[test]
    fn a_subcommand_is_named_and_no_other_argument() {
        let named = |args: &[&str]| name(&ExecOptions::new().into_request(OsStr::new("git"), args));
        for subcommand in ["push", "rev-parse", "test:unit", "x86_64"] {
            assert_eq!(named(&[subcommand, "origin"]), format!("git {subcommand}"));
        }
        for other in ["", "-C", "--version", "a/b", "notes.txt", "a b", "Secret", "1234", "ä", "aaaaaaaaaaaaaaaaaaaaa"]
        {
            assert_eq!(named(&[other, "push"]), "git");
        }
        assert_eq!(named(&[]), "git");
    }

    #[test]
    fn what_failed_says_how_and_why() {
        assert!(output(0, false, "a warning").require_success().is_ok());
        let failed = |output: ExecOutput| output.require_success().unwrap_err().to_string();
        assert_eq!(
            failed(output(128, false, "fatal: no repository\n")),
            "`git` ended with code 128: fatal: no repository"
        );
        assert_eq!(failed(output(137, true, "")), "`git` was killed, code 137");
        let killed = |by, limit, stderr: &str| {
            let mut result = ExecResult::default();
            (result.code, result.killed, result.killed_by) = (143, true, Some(by));
            (result.time_limit_ms, result.stderr) = (limit, stderr.into());
            failed(ExecOutput::new("git push".to_owned(), result))
        };
        for (by, limit, expected) in [
            (KilledBy::TimeLimit, Some(1_000), "`git push` was killed after its time limit of 1 s"),
            (KilledBy::TimeLimit, Some(1_500), "`git push` was killed after its time limit of 1.5 s"),
            (KilledBy::TimeLimit, None, "`git push` was killed after its time limit"),
            (KilledBy::Cancellation, None, "`git push` was killed, since its call was cancelled"),
            (KilledBy::Signal, None, "`git push` was killed, code 143"),
        ] {
            assert_eq!(killed(by, limit, ""), expected);
            assert_eq!(killed(by, limit, "no route\n"), format!("{expected}: no route"));
        }
        assert_eq!(failed(output(1, false, &format!("{}end", "é".repeat(2_000)))).chars().count(), 25 + 998 + 3);
    }

    #[test]
    fn a_host_that_is_too_old_does_not_say_why_it_killed() {
        let of = |json: serde_json::Value| {
            let output = ExecOutput::new("git".to_owned(), serde_json::from_value(json).unwrap());
            (output.killed_by(), output.timed_out())
        };
        assert_eq!(of(json!({"code": 1, "killed": false})), (None, false));
        assert_eq!(of(json!({"code": 143, "killed": true})), (Some(KilledBy::Unknown), false));
        let by = |cause: &str| json!({"code": 143, "killed": true, "killedBy": cause});
        assert_eq!(of(by("timeLimit")), (Some(KilledBy::TimeLimit), true));
        assert_eq!(of(by("cancellation")), (Some(KilledBy::Cancellation), false));
    }

    #[test]
    fn options_become_a_request() {
        let options = ExecOptions::new()
            .cwd("a b")
            .env("A", "é")
            .without_env("B")
            .stdin("in")
            .time_limit(Duration::from_millis(1500))
            .output_bytes(7);
        let request = options.into_request(OsStr::new("git"), ["status", "-s"]);
        assert_eq!(
            serde_json::to_value(request).unwrap(),
            json!({
                "command": "git", "args": ["status", "-s"], "cwd": "a b", "env": {"A": "é", "B": null},
                "stdin": "in", "timeLimitMs": 1500, "outputBytes": 7
            })
        );
    }
}
