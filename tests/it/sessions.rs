//! Two sessions on one plugin, and what a session offers.

use std::collections::BTreeSet;

use serde_json::json;
use toolhost_loader::{Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{apply, discard, host_of, labels, open, plugin, session_of, stage, stage_one, store};

#[tokio::test(flavor = "multi_thread")]
async fn two_sessions_on_one_plugin_never_see_each_others_actions() {
    let host = host_of(&[Fixture::Stage]).await;
    let one = open(&host, SessionOptions::new("one")).await;
    let two = open(&host, SessionOptions::new("two")).await;
    stage_one(&one, json!({"label": "of one"})).await;
    assert!(!store(&two).has_pending());
    let of_two = stage_one(&two, json!({"label": "of two"})).await;
    assert_eq!((labels(&one), labels(&two)), (vec!["of one".to_owned()], vec!["of two".to_owned()]));

    let foreign = one.call("resolve", json!({"action": "apply", "reason": "", "id": of_two})).await.unwrap();
    assert!(foreign.is_error);
    assert_eq!(labels(&two), ["of two"]);
    apply(&one, "").await;
    assert_eq!((labels(&one), labels(&two)), (vec![], vec!["of two".to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nor_do_they_when_they_run_in_parallel() {
    const SESSIONS: usize = 8;
    const ROUNDS: usize = 20;
    let host = host_of(&[Fixture::Stage]).await;
    let mut running = Vec::new();
    for number in 0..SESSIONS {
        let session = open(&host, SessionOptions::new(number.to_string())).await;
        running.push(tokio::spawn(rounds(session, ROUNDS)));
    }
    let mut all = BTreeSet::new();
    for running in running {
        all.extend(running.await.unwrap());
    }
    assert_eq!(all.len(), SESSIONS * ROUNDS);
}

/// Stages and resolves again and again. Returns the ids.
async fn rounds(session: Session, rounds: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for round in 0..rounds {
        let label = format!("{} {round}", session.id());
        ids.push(stage_one(&session, json!({"label": label})).await);
        assert_eq!(labels(&session), std::slice::from_ref(&label));
        let result = if round % 2 == 0 { apply(&session, "").await } else { discard(&session, "").await };
        assert_eq!(result["details"]["label"], label);
        assert_eq!(result["details"]["id"], ids[round]);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_cannot_stage_in_another_session() {
    let host = host_of(&[Fixture::Stage]).await;
    let one = open(&host, SessionOptions::new("foreign one")).await;
    let two = open(&host, SessionOptions::new("foreign two")).await;
    let result = one.call("foreign", json!({"session": "foreign two"})).await.unwrap();
    let text = "refused: the tool call belongs to another session; stage through the API that this session's factory \
                was given";
    assert_eq!(result.to_text(), text);
    assert_eq!((labels(&one), labels(&two)), (vec![], vec![]));
    let result = two.call("foreign", json!({"session": "foreign two"})).await.unwrap();
    assert!(result.to_text().starts_with("pushed: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_knows_its_session_and_its_place() {
    let host = host_of(&[Fixture::Stage]).await;
    let directory = tempfile::tempdir().unwrap();
    for id in ["a", "b"] {
        let session = open(&host, SessionOptions::new(id).cwd(directory.path())).await;
        let details = session.call("echo", json!({"text": "x"})).await.unwrap().details.unwrap();
        let place = plugin(Fixture::Stage);
        assert_eq!(details, json!({"session": id, "cwd": directory.path(), "plugin": place.parent().unwrap()}));
    }
}

fn offered(session: &Session) -> Vec<String> {
    session.model_tools().into_iter().map(|definition| definition.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn resolve_is_offered_with_a_tool_that_stages_and_while_something_is_pending() {
    let stages = session_of(&[Fixture::Stage]).await;
    assert_eq!(offered(&stages).last().unwrap(), "resolve");
    assert_eq!(offered(&stages).iter().filter(|name| *name == "resolve").count(), 1);
    stage(&stages, json!([{"label": "a"}])).await;
    assert_eq!(offered(&stages).iter().filter(|name| *name == "resolve").count(), 1);

    let silent = session_of(&[Fixture::Second]).await;
    assert_eq!(offered(&silent), ["second", "hidden"]);
    silent.call("second", json!({"label": "a"})).await.unwrap();
    assert_eq!(offered(&silent), ["second", "hidden", "resolve"]);
    apply(&silent, "").await;
    assert_eq!(offered(&silent), ["second", "hidden"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hidden_tool_stands_in_no_list_for_people_but_runs() {
    let session = session_of(&[Fixture::Stage, Fixture::Second]).await;
    let tools = session.tools();
    let visible: Vec<&str> = tools.visible().map(|definition| definition.name.as_str()).collect();
    assert_eq!(visible, ["stage", "echo", "updates", "waits", "spawned", "tokio", "foreign", "second"]);
    assert!(tools.definition("hidden").unwrap().hidden);
    assert_eq!(session.call("hidden", json!({})).await.unwrap().to_text(), "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn definitions_say_what_the_author_wrote() {
    let session = session_of(&[Fixture::Stage, Fixture::Second]).await;
    let definition = serde_json::to_value(session.tools().definition("second").unwrap()).unwrap();
    let properties = json!({"label": {"type": "string", "description": "The action's label."}});
    let expected = json!({
        "name": "second",
        "label": "Second",
        "description": "Stages one action without a word of its source",
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": ["label"],
            "additionalProperties": false,
        },
        "effect": "changes",
    });
    assert_eq!(definition, expected);
    let tools = session.tools();
    let echo = serde_json::to_value(tools.definition("echo").unwrap()).unwrap();
    assert_eq!((&echo["effect"], &echo["parallel"]), (&json!("readOnly"), &json!(true)));
    let stage = tools.definition("stage").unwrap();
    assert_eq!((stage.summary(), stage.deferrable), ("Stages what its parameters say.", true));
    let origin = tools.origin("second").unwrap();
    assert_eq!((origin.plugin.as_str(), origin.version.as_str(), origin.fingerprint.len()), ("second", "0.1.0", 64));
}
