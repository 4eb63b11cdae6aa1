use serde_json::Value;
use toolhost_protocol::{AgentToolResult, Effect, SessionStep, ToolDefinition};

use crate::adapter::Dynamic;
use crate::factory::{SingleTool, forms};
use crate::tool::NothingToDo;
use crate::{AnyTool, ToolCall, ToolError, ToolResult, View};

/// A tool that is made from data: its name, its schema and the rest are decided at run time, and its parameters are a
/// [`Value`]. Where all of that is known when the plugin is written, [`CustomTool`](crate::CustomTool) is easier.
///
/// ```
/// use toolhost_plugin_sdk::prelude::*;
///
/// export_plugin!(|pi: CustomToolApi| -> Result<Vec<Query>, ToolError> { Ok(pi.config::<Queries>()?.queries) });
///
/// #[derive(Deserialize)]
/// struct Queries {
///     queries: Vec<Query>,
/// }
///
/// #[derive(Deserialize)]
/// struct Query {
///     name: String,
///     about: String,
///     text: String,
/// }
///
/// impl DynamicTool for Query {
///     fn name(&self) -> String {
///         self.name.clone()
///     }
///
///     fn description(&self) -> String {
///         self.about.clone()
///     }
///
///     fn schema(&self) -> Value {
///         json!({"type": "object", "properties": {"limit": {"type": "integer"}}, "additionalProperties": false})
///     }
///
///     async fn execute(&self, params: Value, _call: ToolCall) -> ToolResult {
///         let limit = params["limit"].as_u64().unwrap_or(10);
///         Ok(format!("{} LIMIT {limit}", self.text).into())
///     }
/// }
/// # fn main() {}
/// ```
pub trait DynamicTool: Send + Sync + 'static {
    /// The name that a model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    fn name(&self) -> String;

    /// What it does and when to use it, for the model. The first line stands in lists.
    fn description(&self) -> String;

    /// The JSON Schema (2020-12) of its parameters, of an object.
    fn schema(&self) -> Value;

    /// Runs the tool. The parameters are an object that satisfies the [`schema`](Self::schema).
    fn execute(&self, params: Value, call: ToolCall) -> impl Future<Output = ToolResult> + Send;

    /// The name that a person reads; the tool's name unless said otherwise.
    fn label(&self) -> String {
        self.name()
    }

    /// What a call does to the world; the gravest unless said otherwise.
    fn effect(&self) -> Effect {
        Effect::Changes
    }

    /// Whether several calls of it may run at once in one session; see [`CustomTool::PARALLEL`](crate::CustomTool::PARALLEL).
    fn parallel(&self) -> bool {
        false
    }

    /// As [`CustomTool::on_session`](crate::CustomTool::on_session).
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
        self.effect() == Effect::Stages
    }

    /// The name that clients show instead of the [`label`](Self::label).
    fn title(&self) -> Option<String> {
        None
    }

    /// The JSON Schema of the details of its results; a host checks none against it.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// As [`CustomTool::render_call`](crate::CustomTool::render_call); the parameters need not satisfy the schema.
    fn render_call(&self, params: &Value, view: View) -> Option<Vec<String>> {
        let _ = (params, view);
        None
    }

    /// As [`CustomTool::render_result`](crate::CustomTool::render_result).
    fn render_result(&self, result: &AgentToolResult, view: View) -> Option<Vec<String>> {
        let _ = (result, view);
        None
    }
}

impl<T: DynamicTool> SingleTool<forms::Dynamic> for T {
    const DYNAMIC: bool = true;

    fn into_any(self) -> AnyTool {
        AnyTool::new(Dynamic(self))
    }
}

pub(crate) fn define<T: DynamicTool>(tool: &T) -> ToolDefinition {
    let mut definition = ToolDefinition::new(tool.name());
    definition.label = tool.label();
    definition.title = tool.title();
    definition.description = tool.description();
    definition.parameters = tool.schema();
    definition.output_schema = tool.output_schema();
    definition.effect = tool.effect();
    definition.hidden = tool.hidden();
    definition.deferrable = tool.deferrable();
    definition.parallel = tool.parallel();
    definition
}
