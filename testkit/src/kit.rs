#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::Location;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tempfile::TempDir;
use toolhost_core::service::NoticeLevel;
use toolhost_core::{
    AgentToolResult, CallError, CallRequest, Cancellation, Effect, EndReason, EndReport, EventKind, EventStream,
    NextEvent, Pending, PendingSummary, Resolution, ResolveRequest, RunOptions, Session, SessionStep, ToolDefinition,
};
use toolhost_plugin_sdk::CustomToolFactory;

use crate::script::Script;
use crate::{ExecCall, Question, RunningCall, StartError, TestKitBuilder};

/// A session with the tools under test; see the [crate](crate) for a whole test.
///
/// When it is dropped, it panics where a tool asked a person something that the test did not foresee, where a reply or an
/// answer of the test's was never used, and where a tool staged something that says that it only reads: such a test did
/// not test what it seemed to.
pub struct TestKit {
    session: Session,
    script: Script,
    events: Mutex<EventStream>,
    pushes: Mutex<Vec<PendingSummary>>,
    updates: Arc<Mutex<Vec<AgentToolResult>>>,
    own: Option<TempDir>,
}

impl TestKit {
    pub(crate) fn new(session: Session, script: Script, own: Option<TempDir>) -> Self {
        let events = Mutex::new(session.events());
        Self { session, script, events, pushes: Mutex::default(), updates: Arc::default(), own }
    }

    /// Starts to describe a test.
    pub fn builder() -> TestKitBuilder {
        TestKitBuilder::default()
    }

    /// Runs a factory, and starts a session with its tools, in a directory of its own, without a person, and without
    /// programs.
    ///
    /// # Errors
    ///
    /// Where the factory fails, and where a host would refuse a tool of it.
    pub async fn start<M: 'static>(factory: impl CustomToolFactory<M>) -> Result<Self, StartError> {
        Self::builder().start(factory).await
    }

    /// The session's directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        self.session.cwd()
    }

    /// The session itself, for what a host can do besides.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// What a tool says of itself: its schema, its effect.
    #[must_use]
    pub fn definition(&self, tool: &str) -> Option<ToolDefinition> {
        self.session.tools().definition(tool).cloned()
    }

    /// Calls a tool as a model does, and waits for its end. The parameters are validated first.
    ///
    /// # Errors
    ///
    /// Where the tool did not run to its end; see [`RunningCall::outcome`].
    pub async fn call(&self, tool: &str, parameters: Value) -> Result<AgentToolResult, CallError> {
        self.begin(tool, parameters).outcome().await
    }

    /// Calls a tool that is to succeed, and returns the text of its result.
    ///
    /// # Panics
    ///
    /// Where it fails or does not run, with the place of the call and why.
    #[track_caller]
    pub fn call_text(&self, tool: &str, parameters: Value) -> impl Future<Output = String> {
        let place = Location::caller();
        async move {
            match self.call(tool, parameters).await {
                Ok(result) if !result.is_error => result.to_text(),
                Ok(result) => panic!("{place}: `{tool}` failed: {}", result.to_text()),
                Err(error) => panic!("{place}: `{tool}` did not run to its end: {error}"),
            }
        }
    }

    /// Calls a tool that is to fail, or to refuse its parameters, and returns what it says. [`call`](Self::call) tells
    /// the two apart.
    ///
    /// # Panics
    ///
    /// Where it succeeds, and where the call ends otherwise, such as for a name that no tool has; with the place of the
    /// call.
    #[track_caller]
    pub fn call_error(&self, tool: &str, parameters: Value) -> impl Future<Output = String> {
        let place = Location::caller();
        async move {
            match self.call(tool, parameters).await {
                Ok(result) if result.is_error => result.to_text(),
                Ok(result) => panic!("{place}: `{tool}` succeeded: {}", result.to_text()),
                Err(error @ CallError::InvalidParameters(_)) => error.to_string(),
                Err(error) => panic!("{place}: `{tool}` did not run to its end: {error}"),
            }
        }
    }

    /// Calls a tool, to watch it while it runs.
    pub fn begin(&self, tool: &str, parameters: Value) -> RunningCall {
        let cancel = Cancellation::new();
        let request = CallRequest::new("test", tool, parameters);
        let turn = self.session.tools().run(vec![request], RunOptions::default().cancel(cancel.clone()));
        let only_reads = self.definition(tool).is_some_and(|definition| definition.effect == Effect::ReadOnly);
        RunningCall::new(tool, turn, cancel, self.updates.clone(), only_reads.then(|| self.script.clone()))
    }

    /// Applies what is pending on top.
    pub async fn apply(&self, reason: &str) -> Resolution {
        self.resolve(ResolveRequest::apply(reason)).await
    }

    /// Discards what is pending on top.
    pub async fn discard(&self, reason: &str) -> Resolution {
        self.resolve(ResolveRequest::discard(reason)).await
    }

    /// Applies or discards a pending action.
    pub async fn resolve(&self, request: ResolveRequest) -> Resolution {
        self.session.resolve(request).await
    }

    /// Takes the session through a step of its life. Returns what was discarded.
    pub async fn step(&self, step: SessionStep) -> Vec<Resolution> {
        self.session.step(step).await
    }

    /// Ends the session: what is pending is discarded, and the tools are told.
    pub async fn end(&self) -> EndReport {
        self.session.end(EndReason::Shutdown).await
    }

    /// What is pending, the topmost first.
    #[must_use]
    pub fn pending(&self) -> Vec<Arc<Pending>> {
        self.session.pending().map(|store| store.list()).unwrap_or_default()
    }

    /// The labels of what is pending, the topmost first.
    #[must_use]
    pub fn pending_labels(&self) -> Vec<String> {
        self.pending().iter().map(|pending| pending.label().to_owned()).collect()
    }

    /// Everything that was staged so far, resolved or not, the oldest first.
    #[must_use]
    pub fn pushes(&self) -> Vec<PendingSummary> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pushes = self.pushes.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(next) = events.try_next() {
            if let NextEvent::Event(event) = next
                && let EventKind::Pushed { pending } = event.kind
            {
                pushes.push(pending);
            }
        }
        pushes.clone()
    }

    /// What the tools streamed so far, in the calls that were awaited.
    #[must_use]
    pub fn updates(&self) -> Vec<AgentToolResult> {
        self.updates.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The texts of the [`updates`](Self::updates).
    #[must_use]
    pub fn update_texts(&self) -> Vec<String> {
        self.updates().iter().map(AgentToolResult::to_text).collect()
    }

    /// The programs that the tools ran or would have run, the oldest first.
    #[must_use]
    pub fn exec_calls(&self) -> Vec<ExecCall> {
        self.script.lock().exec_calls.clone()
    }

    /// The [`exec_calls`](Self::exec_calls), each as one line: `git rev-parse HEAD`.
    #[must_use]
    pub fn exec_lines(&self) -> Vec<String> {
        self.exec_calls().iter().map(ExecCall::line).collect()
    }

    /// What the tools asked of the host's own services, by name, the oldest first.
    #[must_use]
    pub fn service_calls(&self) -> Vec<(String, Value)> {
        self.script.lock().service_calls.clone()
    }

    /// The questions that the tools asked a person, the oldest first.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        self.script.lock().questions.clone()
    }

    /// The notices that the tools showed, the oldest first.
    #[must_use]
    pub fn notices(&self) -> Vec<(NoticeLevel, String)> {
        self.script.lock().notices.clone()
    }

    /// The status lines that the tools set, by key; a text that is absent took one away.
    #[must_use]
    pub fn statuses(&self) -> Vec<(String, Option<String>)> {
        self.script.lock().statuses.clone()
    }

    /// How often a tool asked to stop what the session is doing.
    #[must_use]
    pub fn aborts(&self) -> usize {
        self.script.lock().aborts
    }
}

impl Drop for TestKit {
    fn drop(&mut self) {
        let complaints = self.script.complaints();
        if !complaints.is_empty() && !std::thread::panicking() {
            panic!("{}", complaints.join("\n"));
        }
    }
}

impl fmt::Debug for TestKit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestKit")
            .field("session", &self.session)
            .field("own_directory", &self.own.as_ref().map(TempDir::path))
            .finish_non_exhaustive()
    }
}
