//! Tools that have other names in the host than their plugin gives them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use toolhost_core::{BoxFuture, CallContext, Failure, SessionStep, Tool, ToolDefinition, ToolOrigin, ToolOutcome};
use toolhost_protocol::RenderRequest;

use crate::PluginInfo;

/// Gives a plugin's tool its name in the host.
pub(crate) type Rename = Arc<dyn Fn(&PluginInfo, &str) -> String + Send + Sync>;

/// What the tools of a plugin are called in the host, by the names that the plugin gives them.
#[derive(Debug, Default)]
pub(crate) struct ToolNames(RwLock<HashMap<String, String>>);

impl ToolNames {
    /// The tool under this name.
    pub(crate) fn rename(&self, tool: Arc<dyn Tool>, name: String) -> Arc<dyn Tool> {
        if tool.definition().name == name {
            return tool;
        }
        let mut definition = tool.definition().clone();
        let own = std::mem::replace(&mut definition.name, name.clone());
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(own, name);
        Arc::new(Renamed { definition, tool })
    }

    /// The name in the host of what the plugin calls by this name.
    pub(crate) fn in_host(&self, own: String) -> String {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&own).cloned().unwrap_or(own)
    }
}

struct Renamed {
    definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Tool for Renamed {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn refusal(&self) -> Option<String> {
        self.tool.refusal()
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        self.tool.execute(call)
    }

    fn watches_session(&self) -> bool {
        self.tool.watches_session()
    }

    fn on_session(&self, step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        self.tool.on_session(step)
    }

    fn render(&self, request: &RenderRequest) -> Result<Option<Vec<String>>, Failure> {
        self.tool.render(request)
    }

    fn origin(&self) -> Option<&ToolOrigin> {
        self.tool.origin()
    }
}
