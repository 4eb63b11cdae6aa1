//! An agent's loop around a model, with previews: the tools to offer, the calls of a turn, and the pull towards
//! `resolve` while something is pending. The model is a script; a real one differs only in `Model::answer`.
//!
//! `cargo run -p toolhost-core --example agent_loop`

use std::sync::Arc;

use serde_json::json;
use tokio::runtime::Handle;
use toolhost_core::{
    BoxFuture, CallContext, CallRequest, ChoiceSupport, EndReason, Failure, ModelCapabilities, PendingAction,
    RunOptions, Session, SessionOptions, Steering, Tool, ToolChoice, ToolDefinition, ToolOutcome, TurnEvent,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = Session::new(SessionOptions::new("example"), Handle::current());
    session.register(Arc::new(Erase::new()))?;
    let transcript = run_agent(&session, &mut Model::default()).await;
    session.end(EndReason::Shutdown).await;
    transcript.iter().for_each(|line| println!("{line}"));
    assert!(transcript.last().is_some_and(|line| line.contains("Erased the board.")), "the preview was not applied");
    Ok(())
}

/// The loop itself.
async fn run_agent(session: &Session, model: &mut Model) -> Vec<String> {
    let mut transcript = vec!["user: erase the board, please".to_owned()];
    loop {
        let steering = session.steering(&ModelCapabilities::new(ChoiceSupport::Named));
        let offered = session.model_tools();
        let calls = model.answer(&transcript, &offered, &steering);
        if calls.is_empty() {
            return transcript;
        }
        let mut turn = session.tools().run(calls, RunOptions::default());
        while let Some(event) = turn.next().await {
            if let TurnEvent::Done { call_id, outcome } = event {
                let text = outcome.map_or_else(|error| error.for_model(), |result| result.to_text());
                transcript.push(format!("{call_id}: {text}"));
            }
        }
    }
}

/// A model that does what it is asked, reads the reminder, and stops.
#[derive(Default)]
struct Model {
    answers: usize,
}

impl Model {
    fn answer(&mut self, _transcript: &[String], offered: &[ToolDefinition], steering: &Steering) -> Vec<CallRequest> {
        self.answers += 1;
        let id = format!("call {}", self.answers);
        if let Some(reminder) = &steering.reminder {
            println!("the model is reminded: {reminder}");
        }
        match &steering.choice {
            ToolChoice::Named(tool) => {
                vec![CallRequest::new(id, *tool, json!({"action": "apply", "reason": "the user asked for it"}))]
            }
            _ if self.answers == 1 => vec![CallRequest::new(id, &offered[0].name, json!({}))],
            _ => Vec::new(),
        }
    }
}

struct Erase(ToolDefinition);

impl Erase {
    fn new() -> Self {
        let mut definition = ToolDefinition::new("erase");
        definition.description = "Erases the board, after a preview".to_owned();
        definition.deferrable = true;
        Self(definition)
    }
}

impl Tool for Erase {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async move {
            let erase = |_reason| async { Ok::<_, Failure>("Erased the board.".into()) };
            call.push_pending_action(PendingAction::new("Erase the board", erase).source_tool_name("erase"))?;
            Ok("The board would be empty.".into())
        })
    }
}
