use std::any::TypeId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use schemars::JsonSchema;
use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Effect, SessionStep, ToolDefinition};

use crate::adapter::{Concrete, ErasedTool};
use crate::factory::{SingleTool, forms};
use crate::{Parameters, ToolCall, ToolError, ToolResult, View};

/// A tool that a model calls by name.
///
/// ```
/// //! Stages a batch rename that is applied or discarded later.
/// use toolhost_plugin_sdk::prelude::*;
///
/// export_plugin!(|pi: CustomToolApi| BatchRenamePreview { pi });
///
/// struct BatchRenamePreview { pi: CustomToolApi }
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Params {
///     /// Files to rename.
///     files: Vec<String>,
/// }
///
/// impl CustomTool for BatchRenamePreview {
///     const NAME: &'static str = "batch_rename_preview";
///     const LABEL: &'static str = "Batch Rename Preview";
///     const DESCRIPTION: &'static str = "Previews renames and defers the commit to resolve";
///     const EFFECT: Effect = Effect::Stages;
///     type Params = Params;
///
///     async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
///         let n = params.files.len();
///         self.pi.push_pending_action(
///             PendingAction::new(format!("Batch rename: {n} files"), async |reason| {
///                 Ok(format!("Applied batch rename. Reason: {reason}").into())
///             })
///             .source_tool_name(Self::NAME)
///             .on_reject(async |reason| Ok(Some(format!("Discarded batch rename. Reason: {reason}").into()))),
///         )?;
///         Ok(format!("Prepared rename plan for {n} files. Call resolve to apply or discard.").into())
///     }
/// }
/// # fn main() {}
/// ```
///
/// One value serves one session. Where [`PARALLEL`](Self::PARALLEL) says so its calls overlap, and a staged change of
/// it may always run beside a call: state that changes wants a lock of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tool",
    label = "it does not implement `CustomTool`",
    note = "write `impl CustomTool for {Self}`, with NAME, LABEL, DESCRIPTION, Params and execute"
)]
pub trait CustomTool: Send + Sync + 'static {
    /// The name that a model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    const NAME: &'static str;
    /// The name that a person reads.
    const LABEL: &'static str;
    /// What it does and when to use it, for the model. The first line stands in lists.
    const DESCRIPTION: &'static str;
    /// What a call does to the world; the gravest unless said otherwise.
    ///
    /// A tool that stages what it would change is one that [`Stages`](Effect::Stages). Where it says that it only reads,
    /// the host logs a warning, and the test kit fails the test.
    const EFFECT: Effect = Effect::Changes;
    /// Whether several calls of it may run at once in one session; otherwise they wait for each other.
    ///
    /// Right for a tool that only reads. One that stages or makes changes wants to be sure that two calls do not build
    /// on the same state.
    const PARALLEL: bool = false;

    /// The parameters: a struct whose field docs become the descriptions that the model reads. A parameter that it has
    /// no field for is refused. A tool without any takes [`NoParams`].
    type Params: Parameters;

    /// Runs the tool. The parameters fit [`Params`](Self::Params) and its schema.
    ///
    /// A failure that the model should know of is an error; `?` makes one of whatever failed.
    fn execute(&self, params: Self::Params, call: ToolCall) -> impl Future<Output = ToolResult> + Send;

    /// Hears of a step in the session's life. An error is logged by the host and has no other effect.
    fn on_session(&self, step: SessionStep) -> impl Future<Output = Result<(), ToolError>> + Send {
        let _ = step;
        NothingToDo
    }

    /// Whether the tool is left out of the lists that a person sees.
    fn hidden(&self) -> bool {
        false
    }

    /// Whether a model is offered `resolve` together with this tool, since it stages changes.
    fn deferrable(&self) -> bool {
        Self::EFFECT == Effect::Stages
    }

    /// The name that clients show instead of [`LABEL`](Self::LABEL), where it is decided at run time.
    fn title(&self) -> Option<String> {
        None
    }

    /// The JSON Schema of the details of its results, for programs that read them; [`schema_of`](crate::schema_of) makes
    /// one of a type. A host passes it on, and checks no result against it.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Lines for a person that show a call, each of at most [`View::width`] columns; `None` leaves it to the host, which
    /// also steps in where this panics or takes too long. Never waits for anything.
    fn render_call(&self, params: &Self::Params, view: View) -> Option<Vec<String>> {
        let _ = (params, view);
        None
    }

    /// Lines for a person that show what a call ended with; otherwise as [`render_call`](Self::render_call).
    fn render_result(&self, result: &AgentToolResult, view: View) -> Option<Vec<String>> {
        let _ = (result, view);
        None
    }
}

/// What a tool does at a step in its session's life that it does not care for. Nobody else has the type, which is how such
/// a tool is told from one that has an `on_session` of its own.
pub(crate) struct NothingToDo;

impl Future for NothingToDo {
    type Output = Result<(), ToolError>;

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

/// Whether a tool with this `on_session` does anything at a step in its session's life.
pub(crate) fn watches_session<T: 'static, F: 'static>(_on_session: impl Fn(&'static T, SessionStep) -> F) -> bool {
    TypeId::of::<F>() != TypeId::of::<NothingToDo>()
}

/// The parameters of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub struct NoParams {}

/// A tool whose type is forgotten, for a factory that returns tools of several types; [`tool`] makes one.
pub struct AnyTool(Arc<dyn ErasedTool>);

/// Forgets the type of a [`CustomTool`] or a [`DynamicTool`](crate::DynamicTool).
pub fn tool<M>(tool: impl SingleTool<M>) -> AnyTool {
    tool.into_any()
}

impl<T: CustomTool> SingleTool<forms::One> for T {
    const DYNAMIC: bool = false;

    fn into_any(self) -> AnyTool {
        AnyTool::new(Concrete(self))
    }
}

impl AnyTool {
    pub(crate) fn new(tool: impl ErasedTool + 'static) -> Self {
        Self(Arc::new(tool))
    }

    pub(crate) fn into_erased(self) -> Arc<dyn ErasedTool> {
        self.0
    }
}

impl fmt::Debug for AnyTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyTool").finish_non_exhaustive()
    }
}

pub(crate) fn define<T: CustomTool>(tool: &T) -> ToolDefinition {
    let mut definition = ToolDefinition::new(T::NAME);
    definition.label = T::LABEL.to_owned();
    definition.title = tool.title();
    definition.description = T::DESCRIPTION.to_owned();
    definition.parameters = T::Params::schema();
    definition.output_schema = tool.output_schema();
    definition.effect = T::EFFECT;
    definition.hidden = tool.hidden();
    definition.deferrable = tool.deferrable();
    definition.parallel = T::PARALLEL;
    definition
}
