use std::sync::Arc;

use toolhost_abi::tool::ToolObject;
use toolhost_core::{BoxFuture, CallContext, Tool, ToolDefinition, ToolOrigin, ToolOutcome};

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
    pub(super) fn new(plugin: Arc<PluginInfo>, tool: ToolObject) -> Result<Self, serde_json::Error> {
        let definition = serde_json::from_slice(&tool.definition())?;
        let origin = ToolOrigin::new(&plugin.name, &plugin.version, &plugin.fingerprint);
        Ok(Self { definition, origin, plugin, tool })
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

    fn origin(&self) -> Option<&ToolOrigin> {
        Some(&self.origin)
    }
}
