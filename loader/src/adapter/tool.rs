use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toolhost_abi::tool::ToolObject;
use toolhost_core::{BoxFuture, CallContext, Failure, SessionStep, Tool, ToolDefinition, ToolOrigin, ToolOutcome};

use toolhost_protocol::RenderRequest;

use super::{call, decode, encode};
use crate::PluginInfo;

/// A plugin's tool as a tool of the session.
pub(super) struct PluginTool {
    definition: ToolDefinition,
    origin: ToolOrigin,
    plugin: Arc<PluginInfo>,
    tool: ToolObject,
}

impl PluginTool {
    /// Reads the tool's definition.
    pub(super) fn new(plugin: Arc<PluginInfo>, tool: ToolObject) -> Result<Self, String> {
        let definition = definition(&tool.definition())?;
        let origin = ToolOrigin::new(&plugin.name, &plugin.version, &plugin.fingerprint);
        Ok(Self { definition, origin, plugin, tool })
    }
}

/// What a tool says of itself, or why it cannot.
fn definition(json: &[u8]) -> Result<ToolDefinition, String> {
    #[derive(Deserialize)]
    struct Refused {
        failure: Failure,
    }
    match serde_json::from_slice(json) {
        Ok(definition) => Ok(definition),
        Err(error) => Err(match serde_json::from_slice::<Refused>(json) {
            Ok(refused) => refused.failure.message,
            Err(_) if json == b"null" => "it is null".to_owned(),
            Err(_) => error.to_string(),
        }),
    }
}

impl Tool for PluginTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute(&self, context: CallContext) -> BoxFuture<ToolOutcome> {
        let parameters = encode(context.parameters());
        let running = self.tool.execute(parameters, call::object(context));
        let plugin = self.plugin.clone();
        Box::pin(async move { decode(&plugin.name, running.await) })
    }

    fn watches_session(&self) -> bool {
        true
    }

    fn on_session(&self, step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        let telling = self.tool.on_session(encode(&step));
        let plugin = self.plugin.clone();
        Box::pin(async move { decode::<IgnoredAny>(&plugin.name, telling.await).map(drop) })
    }

    fn render(&self, request: &RenderRequest) -> Result<Option<Vec<String>>, Failure> {
        decode(&self.plugin.name, self.tool.render(encode(request)))
    }

    fn origin(&self) -> Option<&ToolOrigin> {
        Some(&self.origin)
    }
}
