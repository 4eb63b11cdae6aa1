//! Everything that a tool can say of itself, of a plugin in a file and of the same plugin linked into this program.

use std::fs;

use serde_json::{Value, json};
use toolhost_core::{AgentToolResult, SessionStep};
use toolhost_loader::{EndReason, Host, Session, SessionOptions};
use toolhost_plugin_sdk::link;
use toolhost_tests::Fixture;

use crate::support::{host_of, on_every_runtime, open};

#[path = "../fixtures/surface/src/tools.rs"]
mod tools;

on_every_runtime![
    what_is_left_out_is_left_to_the_sdk,
    whatever_can_be_said_is_said,
    a_tool_hears_of_every_step_of_its_own_session,
    a_tool_renders_its_calls_and_results,
    where_a_tool_does_not_render_the_host_does,
];

/// One session of each, with the same options.
async fn sessions(options: SessionOptions) -> [Session; 2] {
    let linked = Host::builder().linked(link("surface", "0.1.0", tools::factory)).build().await.unwrap();
    [open(&host_of(&[Fixture::Surface]).await, options.clone()).await, open(&linked, options).await]
}

fn definition(session: &Session, tool: &str) -> Value {
    serde_json::to_value(session.tools().definition(tool).unwrap()).unwrap()
}

async fn what_is_left_out_is_left_to_the_sdk() {
    for session in sessions(SessionOptions::new("one")).await {
        let properties = json!({
            "n": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "description": "How many."}
        });
        let expected = json!({
            "name": "plain",
            "label": "Plain",
            "description": "Leaves out\nall that can be left out",
            "parameters": {
                "type": "object", "properties": properties, "required": ["n"], "additionalProperties": false
            },
            "effect": "changes",
        });
        assert_eq!(definition(&session, "plain"), expected);
        assert_eq!(session.tools().definition("plain").unwrap().summary(), "Leaves out");
    }
}

async fn whatever_can_be_said_is_said() {
    for session in sessions(SessionOptions::new("one")).await {
        let mut said = definition(&session, "full");
        let parameters = said.as_object_mut().unwrap().remove("parameters").unwrap();
        let expected = json!({
            "name": "full",
            "label": "Full",
            "title": "Full of one",
            "description": "Leaves out nothing",
            "outputSchema": {
                "type": "object",
                "properties": {
                    "at": {"type": "integer", "format": "uint32", "minimum": 0, "description": "The place."}
                },
                "required": ["at"],
                "additionalProperties": false,
            },
            "effect": "readOnly",
            "hidden": true,
            "deferrable": true,
            "parallel": true,
        });
        assert_eq!(said, expected);
        assert_eq!(parameters["properties"]["startAt"]["description"], "Where to look.");
        assert_eq!(parameters.get("required"), None);
        let visible: Vec<_> = session.tools().visible().map(|tool| tool.name.clone()).collect();
        assert_eq!(visible, ["plain"]);
        let offered: Vec<_> = session.model_tools().into_iter().map(|tool| tool.name).collect();
        assert_eq!(offered, ["plain", "full", "resolve"]);
        let found = session.call("full", json!({"startAt": 3})).await.unwrap();
        assert_eq!(found, AgentToolResult::text("found").with_details(json!({"at": 3, "how": "well"})));
    }
}

async fn a_tool_hears_of_every_step_of_its_own_session() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("steps");
    let read = || fs::read_to_string(&file).unwrap();
    for number in 0..2 {
        fs::write(&file, "").unwrap();
        let [one, linked] = sessions(SessionOptions::new("one").cwd(directory.path())).await;
        assert_eq!(read(), "one {\"type\":\"start\"}\n".repeat(2));
        fs::write(&file, "").unwrap();
        let session = if number == 0 { &one } else { &linked };
        for step in [
            SessionStep::Switch,
            SessionStep::Branch,
            SessionStep::Tree,
            SessionStep::Compaction,
            SessionStep::Retry { attempt: 2 },
        ] {
            session.step(step).await;
        }
        session.end(EndReason::Shutdown).await;
        session.end(EndReason::Shutdown).await;
        let steps = [
            r#"{"type":"switch"}"#,
            r#"{"type":"branch"}"#,
            r#"{"type":"tree"}"#,
            r#"{"type":"compaction"}"#,
            r#"{"type":"retry","attempt":2}"#,
            r#"{"type":"shutdown"}"#,
        ];
        assert_eq!(read(), steps.map(|step| format!("one {step}\n")).concat());
    }
}

async fn a_tool_renders_its_calls_and_results() {
    for session in sessions(SessionOptions::new("one")).await {
        let tools = session.tools();
        let lines = tools.render_call("full", &json!({"startAt": 3.0}), 40).await;
        assert_eq!(lines, ["a call at Some(3) in 40 columns", "a second line that is longer than its", "view"]);
        let result = AgentToolResult::text("found").with_details(json!({"at": 3}));
        for expanded in [false, true] {
            let lines = tools.render_result("full", &result, 200, expanded).await;
            let first = format!("found at 3 in 200, all: {expanded}");
            assert_eq!(lines, [first.as_str(), "a second line that is longer than its view"]);
        }
    }
}

async fn where_a_tool_does_not_render_the_host_does() {
    for session in sessions(SessionOptions::new("one")).await {
        let tools = session.tools();
        assert_eq!(tools.render_call("plain", &json!({"n": 3}), 80).await, ["Plain: n=3"]);
        for how in ["notAtAll", "panics"] {
            let call = tools.render_call("full", &json!({"how": how}), 80).await;
            assert_eq!(call, [format!("Full of one: how={how}")]);
            let result = AgentToolResult::text("found").with_details(json!({"at": 3, "how": how}));
            assert_eq!(tools.render_result("full", &result, 80, true).await, ["found"]);
        }
        // Parameters that a model is still writing fit no type.
        assert_eq!(tools.render_call("full", &json!({"startAt": "thr"}), 80).await, ["Full of one: startAt=thr"]);
        let result = session.call("plain", json!({"n": 3})).await.unwrap();
        let mut all = vec!["3".to_owned()];
        all.extend(vec!["line".to_owned(); 12]);
        assert_eq!(tools.render_result("plain", &result, 80, true).await, all);
        let folded = tools.render_result("plain", &result, 80, false).await;
        assert_eq!(folded[..10], all[..10]);
    }
}
