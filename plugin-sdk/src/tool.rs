use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost_protocol::{Effect, SessionStep, ToolDefinition};

use crate::adapter::{Concrete, ErasedTool};
use crate::{ToolCall, ToolError, ToolResult};

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
pub trait CustomTool: Send + Sync + 'static {
    /// The name that a model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    const NAME: &'static str;
    /// The name that a person reads.
    const LABEL: &'static str;
    /// What it does and when to use it, for the model. The first line stands in lists.
    const DESCRIPTION: &'static str;
    /// What a call does to the world; the gravest unless said otherwise.
    const EFFECT: Effect = Effect::Changes;
    /// Whether several calls of it may run at once in one session; otherwise they wait for each other.
    const PARALLEL: bool = false;

    /// The parameters: a struct whose field docs become the descriptions that the model reads. A parameter that it has
    /// no field for is refused. A tool without any takes [`NoParams`].
    type Params: DeserializeOwned + JsonSchema + Send + 'static;

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
}

/// What a tool does at a step in its session's life that it does not care for. It has no size, which is how it is told
/// from everything that might need the plugin's runtime.
struct NothingToDo;

impl Future for NothingToDo {
    type Output = Result<(), ToolError>;

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok(()))
    }
}

/// Whether the tool does anything at a step in its session's life.
pub(crate) fn watches_session<T: CustomTool>() -> bool {
    fn size_of_future<T: 'static, F>(_method: impl Fn(&'static T, SessionStep) -> F) -> usize {
        size_of::<F>()
    }
    size_of_future::<T, _>(T::on_session) > 0
}

/// The parameters of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub struct NoParams {}

/// A tool whose type is forgotten, for a factory that returns tools of several types; [`tool`] makes one.
pub struct AnyTool(Arc<dyn ErasedTool>);

/// Forgets a tool's type.
pub fn tool<T: CustomTool>(tool: T) -> AnyTool {
    AnyTool(Arc::new(Concrete(tool)))
}

impl AnyTool {
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
    definition.description = T::DESCRIPTION.to_owned();
    definition.parameters = schema::<T::Params>();
    definition.effect = T::EFFECT;
    definition.hidden = tool.hidden();
    definition.deferrable = tool.deferrable();
    definition.parallel = T::PARALLEL;
    definition
}

/// The schema with nothing behind a `$ref`, which some clients cannot follow, and without what only names Rust types.
fn schema<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<P>();
    schema.remove("title");
    // A parameter that no field takes would be dropped in silence, and the call do something else than was asked.
    if schema.get("type").is_some_and(|kind| kind == "object") && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        /// How many.
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Params {
        /// Where to look.
        path: String,
        inner: Option<Inner>,
    }

    #[test]
    fn field_docs_become_descriptions_and_nothing_is_a_reference() {
        let schema = schema::<Params>();
        assert_eq!(schema["properties"]["path"], json!({"type": "string", "description": "Where to look."}));
        assert_eq!(schema["required"], json!(["path"]));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
        assert_eq!(schema.get("title"), None);
    }

    #[test]
    fn only_a_tool_that_watches_its_session_needs_a_runtime_for_it() {
        struct Quiet;
        struct Watching;
        macro_rules! tool {
            ($type:ident { $($more:tt)* }) => {
                impl CustomTool for $type {
                    const NAME: &'static str = "x";
                    const LABEL: &'static str = "X";
                    const DESCRIPTION: &'static str = "";
                    type Params = NoParams;
                    async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
                        Ok("".into())
                    }
                    $($more)*
                }
            };
        }
        tool!(Quiet {});
        tool!(Watching {
            async fn on_session(&self, _step: SessionStep) -> Result<(), ToolError> {
                Ok(())
            }
        });
        assert!(!watches_session::<Quiet>());
        assert!(watches_session::<Watching>());
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        let schema = schema::<NoParams>();
        let description = "The parameters of a tool that takes none.";
        assert_eq!(schema, json!({"type": "object", "description": description, "additionalProperties": false}));
        serde_json::from_value::<NoParams>(json!({})).unwrap();
    }
}
