//! What a tool can do with its call.

use serde_json::{Value, json};
use toolhost_loader::{Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::services::{Program, call, session, started};
use crate::support::{Pipe, bounded, host_of, labels, on_every_runtime, open, session_of};

on_every_runtime![
    a_call_knows_its_id_in_every_task,
    a_call_knows_what_its_session_is_doing,
    a_request_to_stop_is_awaited_and_polled,
    tasks_of_a_call_stage_and_stream_as_a_part_of_it,
    an_abort_stops_all_calls_of_the_session_and_tells_the_program,
    an_abort_without_a_program_to_tell_stops_the_calls,
];

async fn a_call_knows_its_id_in_every_task() {
    let session = session_of(&[Fixture::Services]).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        let (id, facts) = call(&session, "call_facts", json!({})).await;
        let expected = json!({"id": id, "inTask": id, "cancelled": false, "idle": false, "queuedMessages": 0});
        assert_eq!(facts, expected);
        seen.push(id);
    }
    assert!(seen[0] > 0);
    assert_ne!(seen[0], seen[1]);
}

async fn a_call_knows_what_its_session_is_doing() {
    let program = Program::default();
    let session = session(&program).await;
    let (id, facts) = call(&session, "call_facts", json!({})).await;
    assert_eq!((&facts["idle"], &facts["queuedMessages"]), (&json!(false), &json!(2)));
    // What the session knows by itself, and who asks.
    let by = |call: Value, tool: Value| json!(["services", tool, call, "asking"]);
    let known = |idle: bool| json!({"idle": idle, "queuedMessages": 0});
    assert_eq!(program.take(), [json!({"state": known(false), "by": by(json!(id), json!("call_facts"))})]);

    let (gate, answer) = (Pipe::new(), Pipe::new());
    let after = json!({"after": {"gate": gate.path(), "answer": answer.path()}});
    call(&session, "call_facts", after).await;
    program.take();
    drop(gate.reached().await);
    assert_eq!(answer.told().await, r#"{"idle":true,"queuedMessages":2}"#);
    assert_eq!(program.take(), [json!({"state": known(true), "by": by(Value::Null, Value::Null)})]);
}

async fn a_request_to_stop_is_awaited_and_polled() {
    let session = session_of(&[Fixture::Services]).await;
    let mut polls = session.call("polls", json!({}));
    assert_eq!(bounded(polls.next_update()).await.unwrap().to_text(), "polls");
    polls.cancellation().cancel();
    assert_eq!(bounded(polls).await.unwrap().to_text(), "polled and awaited");
}

async fn tasks_of_a_call_stage_and_stream_as_a_part_of_it() {
    let session = session_of(&[Fixture::Services]).await;
    let mut tasks = session.call("tasks", json!({}));
    let update = bounded(tasks.next_update()).await;
    let expected = json!({"content": [{"type": "text", "text": "half"}], "details": 1});
    assert_eq!(serde_json::to_value(update.unwrap()).unwrap(), expected);
    let result = bounded(tasks).await.unwrap();
    assert_eq!(result.to_text(), "streamed: true");
    let details = result.details.unwrap();
    let staged = details["pending"].as_array().unwrap().iter().map(|action| action["label"].as_str().unwrap());
    assert_eq!(staged.collect::<Vec<_>>(), ["by the call", "on a thread", "in its scope"]);
    assert_eq!(labels(&session), ["outside of it", "in its scope", "on a thread", "by the call"]);
}

/// A call that runs until it is asked to stop.
async fn running(session: &Session) -> toolhost_core::Call {
    let mut polls = session.call("polls", json!({}));
    assert_eq!(bounded(polls.next_update()).await.unwrap().to_text(), "polls");
    polls
}

async fn an_abort_stops_all_calls_of_the_session_and_tells_the_program() {
    let program = Program::default();
    let host = host_of(&[Fixture::Services]).await;
    let session = open(&host, SessionOptions::new("asking").services(program.clone())).await;
    let other = open(&host, SessionOptions::new("other")).await;
    let (polls, elsewhere) = (running(&session).await, running(&other).await);
    let mut events = session.events();
    let aborts = session.call("aborts", json!({}));
    assert_eq!(bounded(aborts).await.unwrap().to_text(), "cancelled: true");
    let by = json!(["services", "aborts", started(&mut events), "asking"]);
    assert_eq!(program.take(), [json!({"abort": true, "by": by})]);
    assert_eq!(bounded(polls).await.unwrap().to_text(), "polled and awaited");
    // The session goes on, and others have heard nothing of it.
    call(&session, "call_facts", json!({})).await;
    assert!(!elsewhere.cancellation().is_cancelled());
    elsewhere.cancellation().cancel();
    assert_eq!(bounded(elsewhere).await.unwrap().to_text(), "polled and awaited");
}

async fn an_abort_without_a_program_to_tell_stops_the_calls() {
    let session = session_of(&[Fixture::Services]).await;
    let polls = running(&session).await;
    assert_eq!(session.call("aborts", json!({})).await.unwrap().to_text(), "cancelled: true");
    assert_eq!(bounded(polls).await.unwrap().to_text(), "polled and awaited");
}
