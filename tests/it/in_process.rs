//! The fixture's staging tool once more, as a tool of the host's own: what is said of the contract holds for both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::runtime::Handle;
use toolhost_core::{
    AgentToolResult, BoxFuture, CallContext, Failure, PendingAction, Session, SessionOptions, Tool, ToolDefinition,
    ToolOutcome,
};
use toolhost_tests::Fixture;

use crate::support::session_of;

/// A session with the tool of a plugin, and one with the host's own.
pub(crate) async fn sessions() -> [Session; 2] {
    let mut definition = ToolDefinition::new("stage");
    definition.deferrable = true;
    let in_process = Session::new(SessionOptions::new("test"), Handle::current());
    in_process.register(Arc::new(Stage(definition))).unwrap();
    [session_of(&[Fixture::Stage]).await, in_process]
}

/// Takes the fixture's scripts, but for those that wait or push.
struct Stage(ToolDefinition);

impl Tool for Stage {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async move {
            for script in call.parameters()["actions"].as_array().into_iter().flatten() {
                call.push_pending_action(action(script.clone()))?;
            }
            match &call.parameters()["result"] {
                Value::Null => Ok("staged".into()),
                result => Ok(serde_json::from_value(result.clone()).unwrap()),
            }
        })
    }
}

fn action(script: Value) -> PendingAction {
    let label = script["label"].as_str().unwrap_or_default().to_owned();
    let (source, details) = (script["source"].as_str().map(str::to_owned), script["details"].clone());
    let (applies, reject, runs) = (script["apply"].clone(), script["reject"].clone(), AtomicUsize::new(0));
    let mut action = PendingAction::new(label, move |reason| {
        // What the last script says stands for all runs that follow.
        let last = applies.as_array().map_or(0, |scripts| scripts.len().saturating_sub(1));
        let script = applies[runs.fetch_add(1, Ordering::Relaxed).min(last)].clone();
        async move { Ok(end(&script, &reason)?.unwrap_or_default()) }
    });
    if !reject.is_null() {
        action = action.on_reject(move |reason| {
            let script = reject.clone();
            async move { end(&script, &reason) }
        });
    }
    if let Some(source) = source {
        action = action.source_tool_name(source);
    }
    if details.is_null() { action } else { action.details(details) }
}

/// What a script ends with; `{reason}` stands for the reason.
fn end(script: &Value, reason: &str) -> Result<Option<AgentToolResult>, Failure> {
    assert_eq!((&script["wait"], &script["push"], &script["tell"]), (&Value::Null, &Value::Null, &Value::Null));
    let end: Value = serde_json::from_str(&script["end"].to_string().replace("{reason}", reason)).unwrap();
    if let Some(message) = end["panic"].as_str() {
        panic!("{message}");
    }
    match (&end["fail"], &end["result"]) {
        (Value::Null, Value::Null) => Ok(None),
        (Value::Null, result) => Ok(Some(serde_json::from_value(result.clone()).unwrap())),
        (failure, _) => {
            Err(serde_json::from_value(failure.clone()).unwrap_or_else(|_| Failure::new(json!(failure).to_string())))
        }
    }
}
