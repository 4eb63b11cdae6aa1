//! What tools may ask of the program that hosts them.

mod serve;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use toolhost_protocol::Failure;
use toolhost_protocol::service::{
    ExecRequest, ExecResult, REFUSED_SERVICE, SessionState, UNKNOWN_SERVICE, UiConfirm, UiInput, UiNotice, UiSelect,
    UiStatus,
};

use crate::{BoxFuture, Cancellation};

/// What a program offers to the tools of its plugins. Every method has a default; the default of a program that
/// implements none refuses to run programs and has nobody to ask.
///
/// Methods are called without a lock held, from any thread. Futures run on the session's runtime; one is dropped where
/// the plugin no longer waits for it. A panic inside is caught and told to the plugin as a failure.
pub trait HostServices: Send + Sync + 'static {
    /// Runs a program for a tool. The default refuses; a program that allows it usually answers with
    /// [`LocalExec::run`](crate::LocalExec::run).
    fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        let program = request.command.as_os_str().to_string_lossy().into_owned();
        let text =
            format!("this host runs no programs for plugins, so `{program}` was not run for `{}`", caller.plugin);
        Box::pin(std::future::ready(Err(Failure::new(text).with_code(REFUSED_SERVICE))))
    }

    /// The person behind the session with this id; `None`, the default, where there is nobody to ask.
    fn ui(&self, session: &str) -> Option<Arc<dyn UserInterface>> {
        let _ = session;
        None
    }

    /// What the caller's session is doing. `known` is what the session itself knows: it is idle where no call of a tool
    /// runs, and it has no messages. A program that runs a model adds what it knows.
    fn session_state(&self, caller: &Caller, known: SessionState) -> SessionState {
        let _ = caller;
        known
    }

    /// A tool asks to stop what its session is doing. The calls that run have been asked to stop already; a program
    /// that runs a model stops that here.
    fn abort(&self, caller: &Caller) {
        let _ = caller;
    }

    /// A service of the program's own. The default knows none.
    fn call(&self, caller: Caller, service: &str, parameters: Value) -> BoxFuture<Result<Value, Failure>> {
        let _ = (caller, parameters);
        Box::pin(std::future::ready(Err(unknown(service))))
    }
}

/// The services of a program that has none of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServices;

impl HostServices for NoServices {}

pub(crate) fn unknown(service: &str) -> Failure {
    let text = format!("this host offers no service `{service}`; a newer version of it may");
    Failure::new(text).with_code(UNKNOWN_SERVICE)
}

/// A person, as the tools of a session reach them.
///
/// A future is dropped where the question is taken back, such as when the call that asks is cancelled.
pub trait UserInterface: Send + Sync + 'static {
    /// Lets the person choose one of the options: its place in the list, from 0; `None` where they would not.
    fn select(&self, caller: Caller, question: UiSelect) -> BoxFuture<Option<usize>>;

    /// Asks yes or no. Whatever is no clear yes is no.
    fn confirm(&self, caller: Caller, question: UiConfirm) -> BoxFuture<bool>;

    /// Asks for a line of text; `None` where they would not.
    fn input(&self, caller: Caller, question: UiInput) -> BoxFuture<Option<String>>;

    /// Shows a notice. Never blocks.
    fn notify(&self, caller: &Caller, notice: UiNotice);

    /// Shows what is going on, until the next line with this key. Never blocks.
    fn set_status(&self, caller: &Caller, status: UiStatus);
}

/// Who asks for a service.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Caller {
    /// The plugin's name.
    pub plugin: String,
    /// The tool whose call asks; `None` where none is running, as in an apply or in a task of the plugin's own.
    pub tool: Option<String>,
    /// That call's id, unique in the process.
    pub call: Option<u64>,
    /// The session's id.
    pub session: String,
    /// The session's working directory.
    pub cwd: PathBuf,
    /// The request to stop the call; one that is never made, where none is running.
    pub cancellation: Cancellation,
}

impl Caller {
    /// A program that asks on a plugin's behalf outside of every session, such as to look at it.
    pub fn outside_of_sessions(plugin: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        let (plugin, cwd) = (plugin.into(), cwd.into());
        Self { plugin, tool: None, call: None, session: String::new(), cwd, cancellation: Cancellation::new() }
    }
}
