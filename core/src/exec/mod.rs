//! Running programs on this machine.

mod drive;
mod environment;
mod group;
mod pipes;
mod program;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::process::kill_process_group;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use toolhost_protocol::Failure;
use toolhost_protocol::service::{EXEC, ExecRequest, ExecResult};

use crate::{BoxFuture, Caller, Cancellation};
use drive::Job;
use environment::Environment;
use group::{Group, SendSignal};
use program::Program;

/// How many bytes of an output are kept by default.
const OUTPUT_BYTES: u64 = 10 * 1024 * 1024;

/// Runs programs on this machine for plugins, which a program allows by answering [`HostServices::exec`] with
/// [`run`](Self::run):
///
/// ```
/// use toolhost_core::service::{ExecRequest, ExecResult};
/// use toolhost_core::{BoxFuture, Caller, Failure, HostServices, LocalExec, Session, SessionOptions};
///
/// struct MyServices {
///     exec: LocalExec,
/// }
///
/// impl HostServices for MyServices {
///     fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
///         self.exec.run(caller, request)
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Failure> {
/// let exec = LocalExec::new().inherit("JAVA_HOME").time_limit(std::time::Duration::from_secs(600));
/// let options = SessionOptions::new("chat-1").services(MyServices { exec });
/// let session = Session::new(options, tokio::runtime::Handle::current());
/// # let asks = session.downgrade();
/// # let answer = asks.serve("my-plugin", 0, "exec", br#"{"command": "echo", "args": ["hello"]}"#).await?;
/// # assert_eq!(answer, br#"{"stdout":"hello\n","stderr":"","code":0,"killed":false}"#);
/// # Ok(()) }
/// ```
///
/// This is no sandbox: a program has the rights of the process that starts it.
///
/// # What a program gets
///
/// It is started without a shell, in the session's working directory or where the request says, with an empty standard
/// input or what the request gives it, with pipes for its outputs, and as the leader of a process group of its own. A
/// name without a `/` is looked up in the `PATH` that the program gets; a relative path with one starts at the
/// program's directory. It does not own the terminal: reading from it, past the standard input, stops the program, and its
/// time limit ends it. Other descriptors of this process stay closed to it, provided that whoever opened them did so
/// with close-on-exec, as the standard library and tokio do.
///
/// Of the environment it gets `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LANGUAGE`, `LC_*`, `TERM`,
/// `COLORTERM`, `NO_COLOR`, `TZ`, `TMPDIR`, `SSL_CERT_FILE`, `SSL_CERT_DIR`, `XDG_*_HOME`, `XDG_CONFIG_DIRS`,
/// `XDG_DATA_DIRS` and `XDG_RUNTIME_DIR`, as they were when [`new`](Self::new) was called, what
/// [`inherit`](Self::inherit) adds, and what the request sets. A variable whose name looks like that of a credential is
/// never passed on: one with `SECRET`, `PASSWORD`, `PASSWD`, `PASSPHRASE`, `CREDENTIAL` or `APIKEY` anywhere in it, with
/// a word such as `TOKEN`, `KEY`, `PASS`, `PAT`, `AUTH`, `COOKIE` or `JWT`, or with `_PWD` at its end. A request may set
/// such a variable to a value that the plugin has.
///
/// # How it ends
///
/// At its time limit, when the call is cancelled, and when the future is dropped, the whole group is asked to end
/// (`SIGTERM`), and killed (`SIGKILL`) after one second. Once the program itself has ended, whatever is left of its group
/// is killed: at once where the program ended by itself, and with the rest of that second where it was asked to, as long
/// as an output is still open. A process that has left the group is not found by this; where it holds an output open,
/// what it writes is read for one more second. A program that this process may not end, such as one that gained the
/// rights of another user, is waited for five seconds after it should have been killed; then the answer is a failure.
///
/// All of this goes on where the future is dropped. Where the runtime is shut down in the meantime, the group is killed
/// at once. A process that exits without shutting down its runtime leaves behind what it runs.
///
/// [`ExecResult::killed`] and [`ExecResult::code`] tell a program that was killed, by this or by a signal from elsewhere,
/// from one that ended by itself: the code is 128 and the signal's number; 143 also for a program that answers `SIGTERM`
/// by exiting with 0, and for one that is not even started, since its call was cancelled before; and what a program
/// chooses that answers `SIGTERM` by exiting with another code. [`ExecResult::killed_by`] says which of these it was,
/// and [`ExecResult::time_limit_ms`] which of the limits.
///
/// # What it takes
///
/// Two threads and five descriptors while a program runs. Neither the runtime's IO driver nor a signal handler:
/// the process must not ignore `SIGCHLD`, and must wait for no children but its own. It is expected to ignore
/// `SIGPIPE`, as Rust programs do.
///
/// [`HostServices::exec`]: crate::HostServices::exec
#[derive(Debug, Clone)]
pub struct LocalExec {
    environment: Environment,
    time_limit: Option<Duration>,
    output_bytes: u64,
    system: System,
}

/// What is asked of the system, and how long it is waited for; for tests to replace.
#[derive(Debug, Clone, Copy)]
struct System {
    start_thread: StartThread,
    signal: SendSignal,
    /// Between asking and killing; and for what is still written by processes that have left the group.
    grace: Duration,
    /// Between killing and giving up.
    patience: Duration,
}

type StartThread = fn(&str, Box<dyn FnOnce() + Send>) -> io::Result<()>;

impl LocalExec {
    /// Runs programs with the variables that are listed above, without a time limit, and with up to 10 MiB of each
    /// output.
    ///
    /// The environment of the process is read here. Call it at the program's start: what changes the environment while
    /// threads run, such as a library written in C, may do so while it is read.
    #[must_use]
    pub fn new() -> Self {
        let system = System {
            start_thread,
            signal: kill_process_group,
            grace: Duration::from_secs(1),
            patience: Duration::from_secs(5),
        };
        Self { environment: Environment::of_this_process(), time_limit: None, output_bytes: OUTPUT_BYTES, system }
    }

    /// The same, with another variable of this process passed on, as it is now; nothing where it is not set.
    ///
    /// A variable whose name looks like that of a credential is not passed on; that is logged as a warning.
    #[must_use]
    pub fn inherit(mut self, name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref();
        if !self.environment.inherit(name, std::env::var_os(name)) {
            tracing::warn!(?name, "a variable that may hold a credential is not passed on to programs");
        }
        self
    }

    /// The same, with the longest time that any program gets, whatever is asked for.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// The same, with the most bytes of each output that are kept, whatever is asked for. More is read and dropped, so
    /// that no program waits for it, and [`ExecResult::truncated`] says so.
    #[must_use]
    pub fn output_bytes(mut self, bytes: u64) -> Self {
        self.output_bytes = bytes;
        self
    }

    /// Runs a program to its end, once the future is polled, which has to be inside of a tokio runtime. The end may be
    /// an early one: at the lesser of both time limits, on the caller's cancellation, and where the future is dropped.
    /// That a program fails or is killed is no failure of this; its result tells.
    ///
    /// # Errors
    ///
    /// With the code `exec`, and a message for people that says what to mend: where the program or its directory is not
    /// there or cannot be used, where the request cannot be one, where the system has no thread or descriptor left, where
    /// the program's end was not seen, and where it could not be killed.
    pub fn run(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        let exec = self.clone();
        Box::pin(async move {
            let answered = exec.begin(caller, request)?;
            answered.await.unwrap_or_else(|_| Err(gone()))
        })
    }

    fn begin(&self, caller: Caller, request: ExecRequest) -> Result<oneshot::Receiver<Outcome>, Failure> {
        let program = Program::new(&self.environment, &caller.cwd, &request)?;
        let runtime = Handle::try_current()
            .map_err(|_| failed(format!("`{}` was not run: there is no tokio runtime here", program.name())))?;
        let (answer, answered) = oneshot::channel();
        if caller.cancellation.is_cancelled() {
            let _ = answer.send(Ok(drive::never_began()));
            return Ok(answered);
        }
        let group = Group::new(self.system.signal).map_err(|error| program.not_started(&error))?;
        let group = Arc::new(group);
        tracing::debug!(plugin = caller.plugin, program = program.name(), "runs a program for a plugin");
        let (start_thread, name) = (self.system.start_thread, program.name().to_owned());
        let limits = [self.time_limit, request.time_limit_ms.map(Duration::from_millis)];
        let job = Job {
            program,
            stdin: request.stdin.map(|bytes| bytes.0),
            time_limit: limits.into_iter().flatten().min(),
            output_bytes: most(self.output_bytes, request.output_bytes),
            group: group.clone(),
            system: self.system,
        };
        let (sender, ended) = oneshot::channel();
        // Where nobody waits for the outcome, nobody misses it.
        let work = move || drop(sender.send(job.run()));
        start_thread("toolhost-exec", Box::new(work)).map_err(|error| without_thread(&name, &error))?;
        runtime.spawn(attend(OnShutdown(group), caller.cancellation, ended, answer));
        Ok(answered)
    }
}

impl Default for LocalExec {
    fn default() -> Self {
        Self::new()
    }
}

type Outcome = Result<ExecResult, Failure>;

/// Kills the group where it is dropped before the program ended: only a runtime that shuts down drops the task that
/// holds it.
struct OnShutdown(Arc<Group>);

impl Drop for OnShutdown {
    fn drop(&mut self) {
        self.0.kill();
    }
}

/// Passes on the caller's wish to stop, and the outcome. A caller that is gone is a wish to stop, too.
async fn attend(
    group: OnShutdown,
    cancellation: Cancellation,
    mut ended: oneshot::Receiver<Outcome>,
    mut answer: oneshot::Sender<Outcome>,
) {
    let outcome = tokio::select! {
        biased;
        outcome = &mut ended => outcome,
        () = cancellation.cancelled() => group.stop(ended).await,
        () = answer.closed() => group.stop(ended).await,
    };
    let _ = answer.send(outcome.unwrap_or_else(|_| Err(gone())));
}

impl OnShutdown {
    async fn stop(&self, ended: oneshot::Receiver<Outcome>) -> Result<Outcome, oneshot::error::RecvError> {
        self.0.ask_to_stop();
        ended.await
    }
}

fn most(host: u64, request: Option<u64>) -> usize {
    usize::try_from(request.map_or(host, |request| request.min(host))).unwrap_or(usize::MAX)
}

fn start_thread(name: &str, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

fn without_thread(program: &str, error: &io::Error) -> Failure {
    failed(format!(
        "`{program}` was not run: the host cannot start another thread ({error}); run fewer programs at a time"
    ))
}

/// What nobody answers for any more.
fn gone() -> Failure {
    failed("what was run was killed, since nobody looks after it any more; the host's runtime may be shutting down")
}

fn failed(text: impl Into<String>) -> Failure {
    Failure::new(text).with_code(EXEC)
}
