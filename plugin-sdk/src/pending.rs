use std::fmt;
use std::path::Path;
use std::pin::Pin;

use serde_json::{Value, json};
use toolhost_protocol::{AgentToolResult, Dependency, FileChange, PendingHead};

use crate::changes::{Changes, file_dependency};
use crate::{ToolError, ToolResult};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Apply = Box<dyn Fn(String) -> BoxFuture<ToolResult> + Send + Sync>;
type Reject = Box<dyn Fn(String) -> BoxFuture<RejectResult> + Send + Sync>;

/// What a reject returns: a result that replaces the host's default text, or nothing.
pub type RejectResult = Result<Option<AgentToolResult>, ToolError>;

/// A change that was previewed and waits for a decision.
///
/// Implement it where the change has state; for a closure or two there is [`PendingAction`].
///
/// - Stage only what is destructive or far-reaching, under a short and specific label.
/// - `apply` does exactly what the preview showed, or fails and changes nothing. It is deterministic, and may be
///   tried again after a failure.
/// - `reason` informs, and never changes what happens.
/// - `reject` is for cleaning up; where there is nothing to clean up, leave it out.
/// - Several staged changes are resolved last first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be staged",
    label = "not a change that can be applied",
    note = "make one with `PendingAction::new(label, |reason| ..)`, or implement `StagedChange` for it"
)]
pub trait StagedChange: Send + Sync + 'static {
    /// What a person decides on, in a few words: `Batch rename: 12 files`.
    fn label(&self) -> String;

    /// Makes the change. Content that is empty becomes `Applied: <label>.`
    ///
    /// An error, a panic or a result with `is_error` leaves the action pending at its place.
    fn apply(&self, reason: &str) -> impl Future<Output = ToolResult> + Send;

    /// Cleans up after a discard. `None` leaves the host's text: `Discarded: <label>. Reason: <reason>`.
    ///
    /// Whatever it returns, the action is gone.
    fn reject(&self, reason: &str) -> impl Future<Output = RejectResult> + Send {
        let _ = reason;
        async { Ok(None) }
    }

    /// The tool that stages it, for people: every view of the action shows it. The host says `custom_tool` where it is
    /// absent, whichever tool's call pushed the action, so name it: `Some(MyTool::NAME.to_owned())`.
    fn source_tool_name(&self) -> Option<String> {
        None
    }

    /// The files that it changes: what a person sees as a diff, and what the host verifies right before it applies. They
    /// become the `changes` list of the [`details`](Self::details), and the action depends on what they depend on.
    ///
    /// Asked once, when the action is pushed; make them with the preview, not in here.
    fn changes(&self) -> Option<Changes> {
        None
    }

    /// What programs may show of it besides its [`changes`](Self::changes): best an object with a `changes` list of
    /// [`FileChange`](toolhost_protocol::FileChange), as [`Changes::into_details`] returns it.
    fn details(&self) -> Option<Value> {
        None
    }

    /// What has to be as it was at the preview. The host verifies all of it right before it applies; where anything
    /// has changed, `apply` does not run, and the action stays pending.
    ///
    /// Asked once, when the action is pushed; so look at files when the preview is made, best through
    /// [`Changes::dependencies`] or [`file_dependency`], not in here.
    fn depends_on(&self) -> Vec<Dependency> {
        Vec::new()
    }
}

/// A [`StagedChange`] made of closures.
///
/// A closure may run more than once, so one that captures clones what it needs and moves that into an `async` block:
///
/// ```
/// # use toolhost_plugin_sdk::prelude::*;
/// # let path = std::path::PathBuf::from("/tmp/x");
/// PendingAction::new(format!("Delete {}", path.display()), move |_reason| {
///     let path = path.clone();
///     async move {
///         std::fs::remove_file(&path)?;
///         Ok(format!("Deleted {}", path.display()).into())
///     }
/// });
/// ```
#[must_use = "a pending action is staged by `push_pending_action`"]
pub struct PendingAction {
    label: String,
    source_tool_name: Option<String>,
    details: Option<Value>,
    changes: Option<Vec<FileChange>>,
    depends_on: Vec<Dependency>,
    apply: Apply,
    reject: Option<Reject>,
}

impl PendingAction {
    /// An action with this label and this way to apply it.
    ///
    /// `async |reason| ..` serves where nothing is captured; a closure that captures is
    /// `move |reason| { let mine = mine.clone(); async move { .. } }`, since it may run more than once.
    pub fn new<F, Fut>(label: impl Into<String>, apply: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ToolResult> + Send + 'static,
    {
        Self {
            label: label.into(),
            source_tool_name: None,
            details: None,
            changes: None,
            depends_on: Vec::new(),
            apply: Box::new(move |reason| Box::pin(apply(reason))),
            reject: None,
        }
    }

    /// The same action with a clean-up after a discard; see [`StagedChange::reject`].
    pub fn on_reject<F, Fut>(mut self, reject: F) -> Self
    where
        F: Fn(String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = RejectResult> + Send + 'static,
    {
        self.reject = Some(Box::new(move |reason| Box::pin(reject(reason))));
        self
    }

    /// The same action with the name of the tool that stages it, best `Self::NAME`; see
    /// [`StagedChange::source_tool_name`].
    pub fn source_tool_name(mut self, name: impl Into<String>) -> Self {
        self.source_tool_name = Some(name.into());
        self
    }

    /// The same action with details; see [`StagedChange::details`].
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// The same action with its changes to files. They become the `changes` list of the details (details that are no
    /// object then stand beside it, under `details`), and the action depends on what they depend on.
    pub fn changes(mut self, changes: Changes) -> Self {
        self.depends_on.extend(changes.dependencies());
        self.changes.get_or_insert_default().extend(changes.into_list());
        self
    }

    /// The same action, which depends on this too; see [`StagedChange::depends_on`].
    pub fn depends_on(mut self, dependency: Dependency) -> Self {
        self.depends_on.push(dependency);
        self
    }

    /// The same action, which depends on the file at this absolute path being as it is now: on its content, or on its
    /// absence. See [`file_dependency`].
    ///
    /// # Errors
    ///
    /// When the path is relative, when it leads to something else than a file, and when that cannot be read.
    pub fn depends_on_file(self, path: impl AsRef<Path>) -> Result<Self, ToolError> {
        Ok(self.depends_on(file_dependency(path)?))
    }
}

impl fmt::Debug for PendingAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingAction").field("label", &self.label).finish_non_exhaustive()
    }
}

impl StagedChange for PendingAction {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn apply(&self, reason: &str) -> impl Future<Output = ToolResult> + Send {
        (self.apply)(reason.to_owned())
    }

    async fn reject(&self, reason: &str) -> RejectResult {
        match &self.reject {
            Some(reject) => reject(reason.to_owned()).await,
            None => Ok(None),
        }
    }

    fn source_tool_name(&self) -> Option<String> {
        self.source_tool_name.clone()
    }

    fn details(&self) -> Option<Value> {
        match &self.changes {
            Some(changes) => Some(with_changes(self.details.clone(), changes)),
            None => self.details.clone(),
        }
    }

    fn depends_on(&self) -> Vec<Dependency> {
        self.depends_on.clone()
    }
}

/// The id of a pending action: 128 random bits as text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PendingActionId(pub(crate) String);

impl PendingActionId {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PendingActionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Details with a list of changes; such as are no object then stand beside it.
fn with_changes(details: Option<Value>, changes: &[FileChange]) -> Value {
    match details {
        Some(Value::Object(mut details)) => {
            details.insert("changes".to_owned(), json!(changes));
            Value::Object(details)
        }
        Some(other) => json!({ "changes": changes, "details": other }),
        None => json!({ "changes": changes }),
    }
}

/// What crosses of a change when it is pushed.
pub(crate) fn head(change: &impl StagedChange) -> PendingHead {
    let mut head = PendingHead::new(change.label());
    head.source_tool_name = change.source_tool_name();
    head.details = change.details();
    head.depends_on = change.depends_on();
    if let Some(changes) = change.changes() {
        head.depends_on.extend(changes.dependencies());
        head.details = Some(with_changes(head.details, changes.as_slice()));
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_changes_is_shown_and_verified() {
        struct Move(Option<Value>);
        impl StagedChange for Move {
            fn label(&self) -> String {
                "Move".to_owned()
            }

            async fn apply(&self, _reason: &str) -> ToolResult {
                Ok("".into())
            }

            fn changes(&self) -> Option<Changes> {
                Some(Changes::new().rename("/a", "/b"))
            }

            fn details(&self) -> Option<Value> {
                self.0.clone()
            }
        }
        let list = json!([{"path": "/b", "kind": "rename", "oldPath": "/a"}]);
        let plain = head(&Move(None));
        assert_eq!(plain.details, Some(json!({ "changes": list })));
        assert_eq!(plain.depends_on, Changes::new().rename("/a", "/b").dependencies());
        assert_eq!(plain.depends_on.len(), 1);
        assert_eq!(head(&Move(Some(json!({"n": 1})))).details, Some(json!({"n": 1, "changes": list})));
    }

    fn action() -> PendingAction {
        PendingAction::new("x", async |_reason| Ok("".into()))
    }

    #[test]
    fn changes_join_the_details_in_any_order() {
        let changes = || Changes::new().rename("/a", "/b");
        let list = json!([{"path": "/b", "kind": "rename", "oldPath": "/a"}]);
        assert_eq!(StagedChange::details(&action()), None);
        assert_eq!(StagedChange::details(&action().changes(changes())), Some(json!({"changes": list})));
        for both in
            [action().details(json!({"n": 1})).changes(changes()), action().changes(changes()).details(json!({"n": 1}))]
        {
            assert_eq!(StagedChange::details(&both), Some(json!({"n": 1, "changes": list})));
        }
        let odd = action().details(json!(1)).changes(changes());
        assert_eq!(StagedChange::details(&odd), Some(json!({"changes": list, "details": 1})));
    }

    #[test]
    fn dependencies_of_all_sources_add_up() {
        let tmp = tempfile::tempdir().unwrap();
        let missing = tmp.path().join("missing");
        let action = action()
            .depends_on(Dependency::absent("/c"))
            .changes(Changes::new().rename("/a", "/b"))
            .depends_on_file(&missing)
            .unwrap();
        let expected = [Dependency::absent("/c"), Dependency::absent("/b"), Dependency::absent(&missing)];
        assert_eq!(StagedChange::depends_on(&action), expected);
    }
}
