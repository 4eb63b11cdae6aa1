mod calls;
mod options;
mod steps;
mod weak;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_protocol::{Actor, RESOLVE, ResolveRequest, ToolDefinition};

use crate::events::{EventStream, Events};
use crate::resolve::{Approval, ResolveFuture, Resolver, resolve_definition};
use crate::steering::{ModelCapabilities, Steering, SteeringState};
use crate::tool::{Registered, ToolList};
use crate::validate::Validator;
use crate::{
    Call, CallError, Cancellation, HostServices, InvalidParameters, NoServices, PendingActionStore, RegisterError,
    Tool, ToolSet,
};
use calls::Calls;
pub use options::{EndReason, EndReport, Limits, SessionOptions};
pub use weak::WeakSession;

/// One conversation: its tools, its working directory, its pending actions. Clones are the same session.
///
/// When the last clone is dropped without [`end`](Self::end), what is pending is discarded in the background.
#[derive(Clone)]
pub struct Session {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    number: u64,
    options: SessionOptions,
    services: Arc<dyn HostServices>,
    runtime: Handle,
    tools: Mutex<Arc<ToolList>>,
    calls: Mutex<Calls>,
    turns: AtomicU64,
    abandoned: AtomicUsize,
    events: Events,
    resolver: Option<Resolver>,
    steering: Mutex<SteeringState>,
    /// Made when the session is over, its end included: nothing is done for its plugins any more.
    over: Cancellation,
    /// One step in the session's life at a time.
    stepping: tokio::sync::Mutex<()>,
}

impl Session {
    /// A session without tools. Resolves run on `runtime`, which has to have its time driver enabled.
    #[must_use]
    pub fn new(options: SessionOptions, runtime: Handle) -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        let store = PendingActionStore::with_journal(options.journal.clone());
        let events = store.events().clone();
        let approval = Approval { approver: options.approver.clone(), limit: options.limits.approve };
        let resolver = options.keeps_pending.then(|| Resolver { store, runtime: runtime.clone(), approval });
        let services = options.services.clone().unwrap_or_else(|| Arc::new(NoServices));
        let inner = Inner {
            number: SESSIONS.fetch_add(1, Ordering::Relaxed),
            options,
            services,
            runtime,
            tools: Mutex::default(),
            calls: Mutex::default(),
            turns: AtomicU64::new(0),
            abandoned: AtomicUsize::new(0),
            events,
            resolver,
            steering: Mutex::default(),
            over: Cancellation::new(),
            stepping: tokio::sync::Mutex::default(),
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

    /// What its tools may ask of the program.
    pub(crate) fn services(&self) -> &Arc<dyn HostServices> {
        &self.inner.services
    }

    /// Whether its tools have a person to ask.
    #[must_use]
    pub fn has_ui(&self) -> bool {
        catch_unwind(AssertUnwindSafe(|| self.services().ui(self.id()).is_some())).unwrap_or(false)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.inner.options.limits
    }

    /// What happens in the session from now on.
    #[must_use]
    pub fn events(&self) -> EventStream {
        self.inner.events.subscribe()
    }

    pub(crate) fn events_hub(&self) -> &Events {
        &self.inner.events
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
        let taken = tools.takes(&registered);
        if taken.is_ok() {
            // Copied only where somebody has a set of the tools as they were.
            Arc::make_mut(&mut tools).add(registered.clone());
        }
        drop(tools);
        taken
    }

    /// The tools as they are now, without `resolve`.
    #[must_use]
    pub fn tools(&self) -> ToolSet {
        ToolSet::new(lock(&self.inner.tools).clone(), self.downgrade())
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
        self.inner.resolver.as_ref().map(|resolver| &resolver.store)
    }

    /// Calls a tool, or `resolve`, as a model does. The parameters are validated first.
    ///
    /// A tool starts as the call is awaited; a `resolve` claims its action at once. For the calls of a model's turn,
    /// with deadlines and in parallel, there is [`ToolSet::run`].
    pub fn call(&self, name: &str, parameters: Value) -> Call {
        if name == RESOLVE {
            return match resolve_request(&parameters) {
                Ok(request) => Call::resolving(self.resolve(request.by(Actor::Model))),
                Err(error) => Call::failed(error),
            };
        }
        self.call_in_turn(&self.tools(), name, parameters, None)
    }

    pub(crate) fn call_in_turn(&self, tools: &ToolSet, name: &str, parameters: Value, turn: Option<u64>) -> Call {
        self.prepare(tools, name, parameters, turn).unwrap_or_else(Call::failed)
    }

    /// Applies or discards a pending action: claimed at once, run in order of arrival, in a task of its own.
    ///
    /// From inside an apply or a reject it is refused. A task that an apply spawned is not seen to be inside; an apply
    /// that waits for a resolve of such a task waits for itself.
    pub fn resolve(&self, request: ResolveRequest) -> ResolveFuture {
        self.resolve_in_turn(request, None)
    }

    pub(crate) fn resolve_in_turn(&self, request: ResolveRequest, turn: Option<u64>) -> ResolveFuture {
        match &self.inner.resolver {
            Some(resolver) => resolver.resolve(request, turn),
            None => ResolveFuture::nothing_pending(&request),
        }
    }

    /// What the next model call should look like. Ask once before each model call: asking is what counts its turns.
    #[must_use]
    pub fn steering(&self, capabilities: &ModelCapabilities) -> Steering {
        let pending = self.pending().map(PendingActionStore::list).unwrap_or_default();
        let mode = self.inner.options.steering;
        lock(&self.inner.steering).next(&pending, mode, capabilities, &self.inner.events)
    }

    pub(crate) fn next_turn(&self) -> u64 {
        self.inner.turns.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many calls were abandoned, since they did not stop when asked, and have still not ended.
    #[must_use]
    pub fn abandoned_calls(&self) -> usize {
        self.inner.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn count_abandoned(&self) -> AbandonedCall {
        self.inner.abandoned.fetch_add(1, Ordering::Relaxed);
        AbandonedCall(self.inner.clone())
    }

    /// A handle that does not keep the session alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakSession {
        WeakSession::new(&self.inner)
    }
}

/// Counts until it is dropped.
pub(crate) struct AbandonedCall(Arc<Inner>);

impl Drop for AbandonedCall {
    fn drop(&mut self) {
        self.0.abandoned.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id()).field("tools", &self.tools()).finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.over.cancel();
        let (Some(resolver), false) = (&self.resolver, lock(&self.calls).ended) else {
            return;
        };
        let work = end_store(resolver.clone(), EndReason::Dropped, self.options.limits.end);
        self.runtime.spawn(work);
    }
}

/// Closes a store and discards what is left in it, within the limit.
async fn end_store(resolver: Resolver, reason: EndReason, limit: Duration) -> EndReport {
    let mut report = EndReport::default();
    resolver.store.close();
    let reason = reason.to_string();
    let discarding = resolver.discard_all(&reason, |resolution| report.discarded.push(resolution));
    // Where the time runs out, the rest is given up below.
    let _ = tokio::time::timeout(limit, discarding).await;
    (report.unknown, report.not_cleaned_up) = resolver.store.abandon();
    if report.unknown.is_none()
        && let Some(journal) = resolver.store.journal()
        && let Err(error) = journal.settle()
    {
        tracing::warn!(%error, "the journal of a session that ended stays among those of running ones");
    }
    report
}

/// The parameters of a `resolve`, validated.
pub(crate) fn resolve_request(parameters: &Value) -> Result<ResolveRequest, CallError> {
    static VALIDATOR: LazyLock<Option<Validator>> =
        LazyLock::new(|| Validator::new(&resolve_definition().parameters).ok());
    let parameters = match &*VALIDATOR {
        Some(validator) => validator.accept(RESOLVE, parameters.clone()).map_err(CallError::InvalidParameters)?,
        None => parameters.clone(),
    };
    ResolveRequest::deserialize(&parameters)
        // A model that has no id to give often gives an empty one.
        .map(|mut request| {
            request.id = request.id.filter(|id| !id.trim().is_empty());
            request
        })
        .map_err(|error| CallError::InvalidParameters(InvalidParameters::new(RESOLVE, &error.to_string(), &parameters)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
