use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toolhost_abi::tool::ToolObject;
use toolhost_core::{BoxFuture, CallContext, Failure, SessionStep, Tool, ToolDefinition, ToolOrigin, ToolOutcome};

use toolhost_protocol::{RenderRequest, ToolHints};

use super::foreign::Foreign;
use super::{call, decode, encode};
use crate::trust::Guarded;
use crate::{LoadErrorKind, LoadLimits, PluginInfo};

/// The code of the failure of a call whose plugin is blocked.
const BLOCKED: &str = "blocked";

/// A plugin's tool as a tool of the session.
pub(super) struct PluginTool {
    definition: ToolDefinition,
    origin: ToolOrigin,
    plugin: Arc<PluginInfo>,
    tool: Guarded<Foreign<ToolObject>>,
    hints: ToolHints,
}

/// Why a tool's definition cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    Unreadable(String),
    TooLarge(usize),
}

impl Unusable {
    /// The error of the tool with this number of this plugin.
    pub(super) fn of(self, plugin: &PluginInfo, index: usize, limits: &LoadLimits) -> LoadErrorKind {
        let plugin = plugin.name.clone();
        match self {
            Self::Unreadable(reason) => LoadErrorKind::BadDefinition { plugin, index, reason },
            Self::TooLarge(bytes) => {
                LoadErrorKind::DefinitionTooLarge { plugin, index, bytes, limit: limits.definition_bytes }
            }
        }
    }
}

impl PluginTool {
    /// Reads the tool's definition, of at most so many bytes.
    pub(super) fn new(
        plugin: Arc<PluginInfo>,
        tool: Guarded<Foreign<ToolObject>>,
        most: usize,
    ) -> Result<Self, Unusable> {
        let said = tool.call(|tool| tool.definition());
        if said.len() > most {
            return Err(Unusable::TooLarge(said.len()));
        }
        let definition = definition(&said).map_err(Unusable::Unreadable)?;
        // What cannot be read is as if it were not said.
        let hints = serde_json::from_slice(&said).unwrap_or_default();
        let origin = ToolOrigin::new(&plugin.name, &plugin.version, &plugin.fingerprint);
        Ok(Self { definition, origin, plugin, tool, hints })
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

    fn refusal(&self) -> Option<String> {
        self.tool.guard().refusal()
    }

    fn execute(&self, context: CallContext) -> BoxFuture<ToolOutcome> {
        // The session has asked. Whatever may stand between it and this tool, no code of a blocked plugin is entered.
        if let Some(refusal) = self.tool.guard().refusal() {
            return Box::pin(std::future::ready(Err(Failure::new(refusal).with_code(BLOCKED))));
        }
        let parameters = encode(context.parameters());
        let running = self.tool.start(|tool| tool.execute(parameters, call::object(context)));
        let plugin = self.plugin.clone();
        Box::pin(async move { decode(&plugin.name, running.await) })
    }

    fn watches_session(&self) -> bool {
        self.hints.watches_session && self.tool.guard().hit().is_none()
    }

    fn on_session(&self, step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        let telling = self.tool.start(|tool| tool.on_session(encode(&step)));
        let plugin = self.plugin.clone();
        Box::pin(async move { decode::<IgnoredAny>(&plugin.name, telling.await).map(drop) })
    }

    fn render(&self, request: &RenderRequest) -> Result<Option<Vec<String>>, Failure> {
        if self.tool.guard().hit().is_some() {
            return Ok(None);
        }
        decode(&self.plugin.name, self.tool.call(|tool| tool.render(encode(request))))
    }

    fn origin(&self) -> Option<&ToolOrigin> {
        Some(&self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Mark;
    use std::path::PathBuf;
    use std::sync::Mutex;

    use serde_json::{Value, json};
    use tokio::runtime::Handle;
    use toolhost_abi::Bytes;
    use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
    use toolhost_abi::abi_stable::std_types::{RResult, RVec};
    use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
    use toolhost_abi::call::CallObject;
    use toolhost_core::{EndReason, Session, SessionOptions};

    /// Notes what it is told of its session.
    struct Notes {
        definition: Value,
        told: Arc<Mutex<Vec<String>>>,
    }

    impl toolhost_abi::tool::Tool for Notes {
        fn definition(&self) -> RVec<u8> {
            encode(&self.definition)
        }

        fn execute(&self, _params: RVec<u8>, _call: CallObject) -> FfiFuture<Bytes> {
            self.on_session(RVec::new())
        }

        fn on_session(&self, json: RVec<u8>) -> FfiFuture<Bytes> {
            self.told.lock().unwrap().push(String::from_utf8(json.into()).unwrap());
            std::future::ready(RResult::ROk(RVec::from_slice(b"null"))).into_ffi()
        }

        fn render(&self, json: RVec<u8>) -> Bytes {
            RResult::ROk(json)
        }
    }

    /// What a tool with this definition is told of a session.
    async fn told(definition: Value) -> Vec<String> {
        let told = Arc::default();
        let notes = Notes { definition, told: Arc::clone(&told) };
        let plugin = PluginInfo {
            name: "noting".to_owned(),
            version: "1.0.0".to_owned(),
            description: String::new(),
            path: PathBuf::new(),
            linked: false,
            fingerprint: String::new(),
            abi_version: String::new(),
            sdk_version: String::new(),
            rustc: String::new(),
            dynamic: false,
        };
        let tool = Foreign::new(Mark::default(), ToolObject::from_value(notes, TD_Opaque));
        let tool = PluginTool::new(Arc::new(plugin), Guarded::new(tool, Arc::default()), 1024).unwrap();
        let session = Session::new(SessionOptions::new("test"), Handle::current());
        session.register(Arc::new(tool)).unwrap();
        session.step(SessionStep::Switch).await;
        session.end(EndReason::Shutdown).await;
        let told = told.lock().unwrap();
        told.clone()
    }

    #[tokio::test]
    async fn a_tool_that_does_nothing_at_a_step_is_not_told_of_it() {
        let steps = [r#"{"type":"switch"}"#, r#"{"type":"shutdown"}"#];
        assert_eq!(told(json!({"name": "quiet", "watchesSession": false})).await, [""; 0]);
        assert_eq!(told(json!({"name": "watches", "watchesSession": true})).await, steps);
        // Of an old plugin, and of one from a future in which it means something else.
        assert_eq!(told(json!({"name": "old"})).await, steps);
        assert_eq!(told(json!({"name": "odd", "watchesSession": "sometimes"})).await, steps);
    }
}
