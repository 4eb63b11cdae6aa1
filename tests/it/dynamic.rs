//! Tools that are made from data.

use std::fs;

use serde_json::{Value, json};
use toolhost_core::{AgentToolResult, SessionStep};
use toolhost_loader::{Host, OpenedSession, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{ARTIFACTS, apply, bounded, on_every_runtime, place, plugin, texts};

on_every_runtime![
    tools_are_what_their_data_say,
    a_call_is_checked_against_the_schema_of_the_data,
    what_cannot_be_a_tool_is_left_out_by_its_number_and_the_others_load,
    a_panic_of_a_tool_that_is_made_from_data_says_where,
    each_session_has_tools_of_its_own,
    a_tool_that_is_made_from_data_hears_and_renders,
];

async fn opened(tools: Value, options: SessionOptions) -> OpenedSession {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache"));
    let host =
        builder.plugin(plugin(Fixture::Dynamic)).config("dynamic", json!({"tools": tools})).build().await.unwrap();
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    bounded(host.session(options)).await
}

async fn open(tools: Value) -> toolhost_loader::Session {
    let opened = opened(tools, SessionOptions::new("test")).await;
    assert_eq!(texts(&opened.errors), Vec::<String>::new());
    opened.session
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"limit": {"type": "integer", "maximum": 9}}, "additionalProperties": false})
}

async fn tools_are_what_their_data_say() {
    let least = json!({"name": "least", "schema": {"type": "object"}});
    let most = json!({
        "name": "most", "description": "Does\nmuch", "schema": schema(), "label": "Most", "title": "The Most",
        "effect": "stages", "parallel": true, "hidden": true, "outputSchema": {"type": "object"}
    });
    let session = open(json!([least, most])).await;
    let definition = |tool: &str| serde_json::to_value(session.tools().definition(tool).unwrap()).unwrap();
    let expected = json!({
        "name": "least", "label": "least", "description": "", "parameters": {"type": "object"}, "effect": "changes"
    });
    assert_eq!(definition("least"), expected);
    let expected = json!({
        "name": "most", "description": "Does\nmuch", "parameters": schema(), "label": "Most", "title": "The Most",
        "effect": "stages", "parallel": true, "hidden": true, "deferrable": true, "outputSchema": {"type": "object"}
    });
    assert_eq!(definition("most"), expected);
    let staged = session.call("most", json!({})).await.unwrap();
    assert_eq!((staged.to_text().as_str(), &staged.details.unwrap()["pending"][0]["label"]), ("most", &json!("Do it")));
    assert_eq!(apply(&session, "why not").await["content"][0]["text"], "most did it: why not");
}

async fn a_call_is_checked_against_the_schema_of_the_data() {
    let session = open(json!([{"name": "query", "schema": schema()}])).await;
    let mut call = session.call("query", json!({"limit": "7"}));
    assert_eq!(bounded(call.next_update()).await.unwrap().to_text(), "on it");
    assert_eq!(call.await.unwrap(), AgentToolResult::text("query").with_details(json!({"limit": 7})));
    let error = session.call("query", json!({"limit": 10})).await.unwrap_err().to_string();
    let text =
        "invalid parameters for tool `query`:\n- /limit: 10 is greater than the maximum of 9\nreceived: {\"limit\":10}";
    assert_eq!(error, text);
}

async fn what_cannot_be_a_tool_is_left_out_by_its_number_and_the_others_load() {
    let object = json!({"type": "object"});
    let tools = json!([
        {"name": "first", "schema": object},
        {"name": "", "schema": object},
        {"name": "null"},
        {"name": "panics", "schema": object, "panics": "schema"},
        {"name": "first", "schema": object, "description": "once more"},
        {"name": "text", "schema": {"type": "string"}},
        {"name": "broken", "schema": {"type": "object", "properties": {"a": {"type": "strin"}}}},
        {"name": "nameless", "schema": object, "panics": "name"},
        {"name": "untitled", "schema": object, "panics": "title"},
        {"name": "resolve", "schema": object},
        {"name": "last", "schema": object},
    ]);
    let opened = opened(tools, SessionOptions::new("test")).await;
    let panicked =
        |place_of: &str, text: &str| format!("panicked at {}: {text}", place("dynamic/src/lib.rs", place_of));
    let broken = "/properties/a/type: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword";
    let is_object = "have no usable schema: its type has to be `object`";
    let expected = [
        (2, "TH0801", "the tool name \"\" is not allowed: use 1 to 64 of a-z, A-Z, 0-9, `_` and `-`".to_owned()),
        (3, "TH0801", format!("the parameters of tool `null` {is_object}")),
        (4, "TH0703", panicked("assert!(!self.panics_at(Place::Schema)", "no schema")),
        (5, "TH0801", "the tool name `first` is taken by dynamic 0.1.0".to_owned()),
        (6, "TH0801", format!("the parameters of tool `text` {is_object}")),
        (7, "TH0801", format!("the parameters of tool `broken` have no usable schema: {broken}")),
        (8, "TH0703", panicked("assert!(!self.panics_at(Place::Name)", "no name")),
        (9, "TH0703", panicked("assert!(!self.panics_at(Place::Title)", "no title")),
        (10, "TH0801", "the tool name `resolve` is reserved for the host".to_owned()),
    ];
    let path = plugin(Fixture::Dynamic);
    let expected = expected.map(|(number, code, reason)| {
        let what = if code == "TH0703" { "has a definition that cannot be read" } else { "was left out" };
        format!(
            "{}: tool number {number} of `dynamic` {what}: {reason}; change the tool, or ask the plugin's author to ({code})",
            path.display()
        )
    });
    assert_eq!(texts(&opened.errors), expected);
    let all: Vec<_> = opened.session.tools().all().map(|tool| tool.name.clone()).collect();
    assert_eq!(all, ["first", "last"]);
    assert_eq!(opened.session.tools().definition("first").unwrap().description, "");
    assert_eq!(opened.session.call("last", json!({})).await.unwrap().to_text(), "last");
}

async fn a_panic_of_a_tool_that_is_made_from_data_says_where() {
    let object = json!({"type": "object"});
    let session = open(json!([
        {"name": "fails", "schema": object, "panics": "execute"},
        {"name": "ends", "schema": object, "panics": "drop"},
        {"name": "draws", "schema": object, "panics": "render"},
        {"name": "hears", "schema": object, "panics": "step"},
    ]))
    .await;
    let result = session.call("fails", json!({})).await.unwrap();
    let place = place("dynamic/src/lib.rs", "assert!(!self.panics_at(Place::Execute)");
    assert_eq!(result.to_text(), format!("tool `fails` of plugin `dynamic` panicked at {place}: no result"));
    assert_eq!(session.tools().render_call("draws", &json!({"a": 1}), 80).await, ["draws: a=1"]);
    session.step(SessionStep::Tree).await;
    assert_eq!(session.call("ends", json!({})).await.unwrap().to_text(), "ends");
    drop(session);
}

async fn each_session_has_tools_of_its_own() {
    let object = json!({"type": "object"});
    let one = open(json!([{"name": "a", "schema": object}])).await;
    let two = open(json!([{"name": "b", "schema": object}])).await;
    assert_eq!(one.call("a", json!({})).await.unwrap().to_text(), "a");
    assert_eq!(one.call("b", json!({})).await.unwrap_err().to_string(), "no tool is named `b`");
    assert_eq!(two.call("b", json!({})).await.unwrap().to_text(), "b");
    assert!(open(json!([])).await.tools().is_empty());
}

async fn a_tool_that_is_made_from_data_hears_and_renders() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), "").unwrap();
    let tools = json!([{"name": "a", "schema": {"type": "object"}}]);
    let opened = opened(tools, SessionOptions::new("test").cwd(directory.path())).await;
    let heard = || fs::read_to_string(directory.path().join("a")).unwrap();
    assert_eq!(heard(), r#"{"type":"start"}"#);
    opened.session.step(SessionStep::Retry { attempt: 4 }).await;
    assert_eq!(heard(), r#"{"type":"retry","attempt":4}"#);
    let tools = opened.session.tools();
    // Parameters need not be finished.
    assert_eq!(tools.render_call("a", &json!("unfinished"), 33).await, ["\"unfinished\" in 33"]);
    let result = AgentToolResult::text("it");
    assert_eq!(tools.render_result("a", &result, 33, true).await, ["all of it"]);
    assert_eq!(tools.render_result("a", &result, 33, false).await, ["it"]);
}
