use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Dependency, Effect, Failure, FileChange, PendingSummary};

use crate::{BoxFuture, ToolOutcome};

/// Who staged an action that does not say so.
pub(crate) const DEFAULT_SOURCE: &str = "custom_tool";

/// What a reject ends with: a result that replaces the default text, or nothing.
pub type RejectOutcome = Result<Option<AgentToolResult>, Failure>;

type Apply = Box<dyn Fn(String) -> BoxFuture<ToolOutcome> + Send + Sync>;
type Reject = Box<dyn Fn(String) -> BoxFuture<RejectOutcome> + Send + Sync>;
type Withdrawn = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The code behind an action.
pub(crate) struct Callbacks {
    pub(crate) apply: Apply,
    pub(crate) reject: Option<Reject>,
    withdrawn: Option<Withdrawn>,
}

/// A change to stage: a label, a way to apply it, and optionally a way to clean up when it is dropped.
#[must_use = "an action is staged by pushing it"]
pub struct PendingAction {
    pub(crate) label: String,
    pub(crate) source_tool_name: Option<String>,
    pub(crate) details: Option<Value>,
    pub(crate) depends_on: Vec<Dependency>,
    pub(crate) callbacks: Callbacks,
}

/// Counts what is written.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PendingAction {
    /// How long its details and dependencies are as JSON.
    pub(crate) fn bytes(&self) -> usize {
        let mut written = Count(0);
        // Neither can fail: there is room for every byte, and each can be written.
        let _ = serde_json::to_writer(&mut written, &self.details);
        let _ = serde_json::to_writer(&mut written, &self.depends_on);
        written.0
    }

    /// An action with this label. `apply` gets the reason; it may run again after it failed, never twice at once.
    pub fn new<F, Fut>(label: impl Into<String>, apply: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolOutcome> + Send + 'static,
    {
        let apply: Apply = Box::new(move |reason| Box::pin(apply(reason)));
        Self {
            label: label.into(),
            source_tool_name: None,
            details: None,
            depends_on: Vec::new(),
            callbacks: Callbacks { apply, reject: None, withdrawn: None },
        }
    }

    /// The same action with a clean-up for when it is discarded. It gets the reason, and runs at most once.
    pub fn on_reject<F, Fut>(mut self, reject: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RejectOutcome> + Send + 'static,
    {
        self.callbacks.reject = Some(Box::new(move |reason| Box::pin(reject(reason))));
        self
    }

    /// The same action with a question that the host asks before anything of the action runs: why its source must not be
    /// run any more, as a sentence without a full stop. Where there is an answer, whoever resolves the action discards
    /// it, and neither `apply` nor `reject` runs.
    pub fn withdrawn_if(mut self, withdrawn: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.callbacks.withdrawn = Some(Box::new(withdrawn));
        self
    }

    /// The same action with the name of the tool that stages it; `custom_tool` where it is left out.
    pub fn source_tool_name(mut self, name: impl Into<String>) -> Self {
        self.source_tool_name = Some(name.into());
        self
    }

    /// The same action with details for programs, such as a `changes` list.
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same action with what it depends on. The host verifies all of it right before it applies; where anything
    /// has changed, nothing is applied, and the action stays pending.
    pub fn depends_on(mut self, dependencies: impl IntoIterator<Item = Dependency>) -> Self {
        self.depends_on.extend(dependencies);
        self
    }
}

impl fmt::Debug for PendingAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingAction")
            .field("label", &self.label)
            .field("source_tool_name", &self.source_tool_name)
            .finish_non_exhaustive()
    }
}

/// An action that was pushed.
pub struct Pending {
    pub(super) id: String,
    pub(super) position: u64,
    pub(super) label: String,
    pub(super) source_tool_name: String,
    pub(super) details: Option<Value>,
    pub(super) depends_on: Vec<Dependency>,
    pub(super) effect: Effect,
    pub(super) turn: Option<u64>,
    pub(super) preview_hash: String,
    pub(super) attempts: AtomicU32,
    pub(super) callbacks: Callbacks,
}

impl Pending {
    /// 128 random bits as 32 hexadecimal digits.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a person decides on, in a few words.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The tool that staged it.
    #[must_use]
    pub fn source_tool_name(&self) -> &str {
        &self.source_tool_name
    }

    /// What programs may show of it.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.details.as_ref()
    }

    /// What has to be as it was at the preview for it to be applied.
    #[must_use]
    pub fn dependencies(&self) -> &[Dependency] {
        &self.depends_on
    }

    /// What the tool that staged it does, as it says; the gravest where that is not known.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Every path that the `changes` in its details name, old paths included; `None` where there is no such list, or
    /// one of its entries names no path.
    #[must_use]
    pub fn changed_paths(&self) -> Option<Vec<PathBuf>> {
        let changes: Vec<FileChange> = serde_json::from_value(self.details.as_ref()?.get("changes")?.clone()).ok()?;
        let mut paths = Vec::with_capacity(changes.len());
        for change in changes {
            paths.push(change.path()?);
            paths.extend(change.old_path());
        }
        Some(paths)
    }

    /// The turn in which it was staged, where the host knows turns.
    pub(crate) fn turn(&self) -> Option<u64> {
        self.turn
    }

    /// How often an apply of it has failed.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// SHA-256, in hexadecimal, of what the preview showed: the tool, its parameters, the plugin's content, the label,
    /// the `changes` in the details, or all the details where there is no such list, and what it depends on. The same
    /// call in an unchanged world gives the same hash.
    #[must_use]
    pub fn preview_hash(&self) -> &str {
        &self.preview_hash
    }

    /// Its id, label and source tool.
    #[must_use]
    pub fn summary(&self) -> PendingSummary {
        PendingSummary::new(&self.id, &self.label, &self.source_tool_name)
    }

    /// Why nothing of it may run any more.
    pub(crate) fn withdrawn(&self) -> Option<String> {
        self.callbacks.withdrawn.as_ref()?()
    }

    pub(crate) fn callbacks(&self) -> &Callbacks {
        &self.callbacks
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("id", &self.id)
            .field("label", &self.label)
            .field("source_tool_name", &self.source_tool_name)
            .field("attempts", &self.attempts())
            .finish_non_exhaustive()
    }
}
