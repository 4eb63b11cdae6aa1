use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_protocol::{RESOLVE, ResolveRequest, ToolDefinition};

use crate::call::{CallState, CancelledCalls};
use crate::pending::Preview;
use crate::resolve::{self, Resolution, ResolveFuture, resolve_definition};
use crate::tool::Registered;
use crate::validate::Validator;
use crate::{
    Call, CallError, InvalidParameters, Pending, PendingAction, PendingActionStore, PushError, RegisterError, Tool,
    ToolSet,
};

/// Calls of one session; with the session's number above it makes a call's id unique in the process.
const CALL_BITS: u32 = 40;

/// What a session is made of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The session's id, for tools and for people.
    pub id: String,
    /// The session's working directory, absolute; the process's own by default.
    pub cwd: PathBuf,
    /// Where staged changes wait; `None` where the host keeps none, so that every push is refused.
    pub store: Option<PendingActionStore>,
    /// How long things may take.
    pub limits: Limits,
}

impl SessionOptions {
    /// A session with a store of its own.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            store: Some(PendingActionStore::new()),
            limits: Limits::default(),
        }
    }

    /// The same session in this working directory; a relative one starts at the process's own.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        self.cwd = std::path::absolute(&cwd).unwrap_or(cwd);
        self
    }

    /// The same session without a store: every push is refused.
    #[must_use]
    pub fn without_store(mut self) -> Self {
        self.store = None;
        self
    }

    /// The same session with these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// How long things may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// How long the end of a session waits for a running apply and for clean-ups; 10 seconds by default.
    pub end: Duration,
}

impl Limits {
    /// The same limits with this one for the end of the session.
    #[must_use]
    pub fn with_end(mut self, limit: Duration) -> Self {
        self.end = limit;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { end: Duration::from_secs(10) }
    }
}

/// Why a session ends; it is the reason that rejects are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The program is done with it.
    Shutdown,
    /// A person interrupted it.
    Interrupted,
    /// Nobody decided on what it staged.
    Undecided,
    /// Its last handle was dropped.
    Dropped,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shutdown => "the session ended",
            Self::Interrupted => "the session was interrupted",
            Self::Undecided => "the session ended without a decision",
            Self::Dropped => "the session was dropped",
        })
    }
}

/// What the end of a session did to what was pending.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EndReport {
    /// What was discarded, the topmost first.
    pub discarded: Vec<Resolution>,
    /// What was discarded without a clean-up, since the time was over.
    pub not_cleaned_up: Vec<Arc<Pending>>,
    /// What was still being resolved when the time was over; nobody knows how it went.
    pub unknown: Option<Arc<Pending>>,
}

/// One conversation: its tools, its working directory, its pending actions. Clones are the same session.
///
/// When the last clone is dropped without [`end`](Self::end), what is pending is discarded in the background.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

struct Inner {
    number: u64,
    options: SessionOptions,
    runtime: Handle,
    tools: Mutex<Arc<ToolSet>>,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    made: u64,
    running: HashMap<u64, Arc<CallState>>,
    cancelled: CancelledCalls,
    ended: bool,
}

impl Session {
    /// A session without tools. Resolves run on `runtime`, which has to have its time driver enabled.
    #[must_use]
    pub fn new(options: SessionOptions, runtime: Handle) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let inner = Inner {
            number: SESSIONS.fetch_add(1, Ordering::Relaxed),
            options,
            runtime,
            tools: Mutex::default(),
            calls: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The session's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.options.id
    }

    /// The session's working directory.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.inner.options.cwd
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.inner.runtime
    }

    /// Adds a tool.
    ///
    /// # Errors
    ///
    /// Where its name is not allowed, reserved or taken, or its schema cannot be used; the session is as before.
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        // The tool is asked, and a refused one dropped, outside of the lock: both are its author's code.
        let registered = Arc::new(Registered::new(tool)?);
        let mut tools = lock(&self.inner.tools);
        *tools = Arc::new(tools.with(registered.clone())?);
        drop(tools);
        Ok(())
    }

    /// The tools as they are now, without `resolve`.
    #[must_use]
    pub fn tools(&self) -> Arc<ToolSet> {
        lock(&self.inner.tools).clone()
    }

    /// The definitions to offer to a model now: every tool, and `resolve` where a tool stages changes or something is
    /// pending.
    #[must_use]
    pub fn model_tools(&self) -> Vec<ToolDefinition> {
        let tools = self.tools();
        let offers = tools.all().any(|definition| definition.deferrable)
            || self.pending().is_some_and(PendingActionStore::has_pending);
        tools.all().cloned().chain(offers.then(resolve_definition)).collect()
    }

    /// What waits for a decision; `None` where the session keeps no pending actions.
    #[must_use]
    pub fn pending(&self) -> Option<&PendingActionStore> {
        self.inner.options.store.as_ref()
    }

    /// Calls a tool, or `resolve`, as a model does. The parameters are validated first.
    ///
    /// A tool starts as the call is awaited; a `resolve` claims its action at once.
    pub fn call(&self, name: &str, parameters: Value) -> Call {
        if name == RESOLVE {
            return match resolve_request(&parameters) {
                Ok(request) => Call::resolving(self.resolve(request)),
                Err(error) => Call::failed(error),
            };
        }
        match self.prepare(name, parameters) {
            Ok((state, tool)) => Call::running(self.clone(), state, &*tool),
            Err(error) => Call::failed(error),
        }
    }

    fn prepare(&self, name: &str, parameters: Value) -> Result<(Arc<CallState>, Arc<dyn Tool>), CallError> {
        let tools = self.tools();
        let Some(tool) = tools.get(name) else {
            return Err(CallError::UnknownTool { name: name.to_owned(), similar: tools.similar_names(name) });
        };
        tool.validator.check(name, &parameters).map_err(CallError::InvalidParameters)?;
        let mut calls = self.calls();
        if calls.ended {
            return Err(CallError::SessionEnded { session: self.id().to_owned() });
        }
        calls.made += 1;
        let id = self.inner.number << CALL_BITS | calls.made;
        let state = Arc::new(CallState::new(id, tool, parameters, self.downgrade()));
        calls.running.insert(id, state.clone());
        Ok((state, tool.tool.clone()))
    }

    pub(crate) fn call_ended(&self, state: &CallState) {
        let mut calls = self.calls();
        calls.running.remove(&state.id());
        if state.cancellation().is_cancelled() {
            calls.cancelled.record(state.id());
        }
    }

    /// Applies or discards a pending action: claimed at once, run in order of arrival, in a task of its own.
    ///
    /// From inside an apply or a reject it is refused. A task that an apply spawned is not seen to be inside; an apply
    /// that waits for a resolve of such a task waits for itself.
    pub fn resolve(&self, request: ResolveRequest) -> ResolveFuture {
        resolve::resolve(self.pending(), self.runtime(), request)
    }

    /// Ends the session: running calls are asked to stop, pushes are refused from now on, and what is pending is
    /// discarded through its clean-up, the topmost first, after a resolve that is running. Bounded by
    /// [`Limits::end`]. Ending again does nothing.
    pub async fn end(&self, reason: EndReason) -> EndReport {
        let running: Vec<_> = {
            let mut calls = self.calls();
            calls.ended = true;
            calls.running.values().cloned().collect()
        };
        for state in running {
            state.cancellation().cancel();
        }
        let Some(store) = self.pending().cloned() else {
            return EndReport::default();
        };
        let (runtime, limit) = (self.runtime().clone(), self.inner.options.limits.end);
        let ending = self.runtime().spawn(end_store(store, runtime, reason, limit));
        ending.await.unwrap_or_default()
    }

    /// A handle that does not keep the session alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakSession {
        WeakSession { inner: Arc::downgrade(&self.inner), number: self.inner.number }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        lock(&self.inner.calls)
    }

    fn push(&self, call: u64, action: PendingAction) -> Result<String, PushError> {
        let Some(store) = self.pending() else {
            return Err(PushError::StoreUnavailable);
        };
        match self.pushing_call(call)? {
            Some(state) => state.staging(|| {
                let pending = store.push_previewed(action, state.preview())?;
                Ok((pending.id().to_owned(), pending.summary()))
            }),
            None => Ok(store.push_previewed(action, Preview::UNKNOWN)?.id().to_owned()),
        }
    }

    /// The running call with this id; `None` for 0 and for a call that ended on its own.
    fn pushing_call(&self, call: u64) -> Result<Option<Arc<CallState>>, PushError> {
        let calls = self.calls();
        if calls.ended {
            return Err(PushError::SessionEnded);
        }
        if call == 0 {
            return Ok(None);
        }
        if call >> CALL_BITS != self.inner.number {
            return Err(PushError::ForeignCall);
        }
        if calls.cancelled.contains(call) {
            return Err(PushError::CallCancelled);
        }
        Ok(calls.running.get(&call).cloned())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).field("tools", &self.tools()).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let (Some(store), false) = (&self.options.store, lock(&self.calls).ended) else {
            return;
        };
        let work = end_store(store.clone(), self.runtime.clone(), EndReason::Dropped, self.options.limits.end);
        self.runtime.spawn(work);
    }
}

async fn end_store(store: PendingActionStore, runtime: Handle, reason: EndReason, limit: Duration) -> EndReport {
    let (reason, mut discarded) = (reason.to_string(), Vec::new());
    let discarding = resolve::discard_all(&store, &runtime, &reason, &mut discarded);
    // Where the time runs out, the rest is given up below.
    let _ = tokio::time::timeout(limit, discarding).await;
    let (unknown, not_cleaned_up) = store.abandon();
    EndReport { discarded, not_cleaned_up, unknown }
}

/// A handle to a session that does not keep it alive; what a tool's own side of things holds.
#[derive(Clone)]
pub struct WeakSession {
    inner: Weak<Inner>,
    number: u64,
}

impl WeakSession {
    /// Puts an action on the session's stack. `call` is the id of the tool call that stages it, 0 for none.
    /// Returns the action's id.
    ///
    /// # Errors
    ///
    /// Where the session keeps no pending actions or has ended, and where the call was cancelled or is another
    /// session's. Nothing was staged then; the action was dropped outside of every lock.
    pub fn push_pending_action(&self, call: u64, action: PendingAction) -> Result<String, PushError> {
        let inner = self.inner.upgrade().ok_or(PushError::SessionEnded)?;
        Session { inner }.push(call, action)
    }
}

impl fmt::Debug for WeakSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakSession").field(&self.number).finish()
    }
}

fn resolve_request(parameters: &Value) -> Result<ResolveRequest, CallError> {
    static VALIDATOR: LazyLock<Option<Validator>> =
        LazyLock::new(|| Validator::new(&resolve_definition().parameters).ok());
    if let Some(validator) = &*VALIDATOR {
        validator.check(RESOLVE, parameters).map_err(CallError::InvalidParameters)?;
    }
    ResolveRequest::deserialize(parameters)
        .map_err(|error| CallError::InvalidParameters(InvalidParameters::new(RESOLVE, &error.to_string(), parameters)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
