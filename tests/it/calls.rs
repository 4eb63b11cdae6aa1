//! One call: its parameters, its updates, its end.

use serde_json::{Value, json};
use toolhost_core::{EventKind, Violation};
use toolhost_loader::CallError;
use toolhost_tests::Fixture;

use crate::support::{Pipe, bounded, labels, next_event, poll_once, session, session_of, stage_one, store, text};

async fn violations(tool: &str, parameters: Value) -> Vec<(String, String)> {
    let session = session().await;
    let CallError::InvalidParameters(invalid) = session.call(tool, parameters.clone()).await.unwrap_err() else {
        panic!("another error")
    };
    assert_eq!((invalid.tool.as_str(), &invalid.received), (tool, &parameters));
    assert!(!store(&session).has_pending());
    let text = invalid.violations.iter().map(|violation| format!("\n- {violation}")).collect::<String>();
    assert_eq!(invalid.to_string(), format!("invalid parameters for tool `{tool}`:{text}\nreceived: {parameters}"));
    invalid.violations.into_iter().map(|Violation { path, message, .. }| (path, message)).collect()
}

fn at(path: &str, message: &str) -> (String, String) {
    (path.to_owned(), message.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_violation_is_reported_by_its_place_before_the_tool_runs() {
    let actions = json!([{"label": "good"}, {"label": 5}, {"apply": {}}]);
    let expected = [
        at("/actions/1/label", "5 is not of type \"string\""),
        at("/actions/2/apply", "{} is not of type \"array\""),
        at("/actions/2", "\"label\" is a required property"),
    ];
    let mut found = violations("stage", json!({"actions": actions})).await;
    found.sort();
    let mut sorted = expected.to_vec();
    sorted.sort();
    assert_eq!(found, sorted);

    assert_eq!(violations("echo", json!({})).await, [at("", "\"text\" is a required property")]);
    let expected = [at("/digit", "10 is greater than the maximum of 9")];
    assert_eq!(violations("echo", json!({"text": "x", "digit": 10})).await, expected);
    assert_eq!(violations("echo", json!("x")).await, [at("", "\"x\" is not of type \"object\"")]);
    let unknown = "Additional properties are not allowed ('unknown' was unexpected)";
    assert_eq!(violations("echo", json!({"text": "x", "unknown": [1]})).await, [at("", unknown)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_the_schema_takes_and_the_tool_cannot_hold_is_refused_as_a_parameter() {
    let expected = [at("", "the parameter `count`: invalid value: integer `4294967296`, expected u32")];
    assert_eq!(violations("updates", json!({"count": 4_294_967_296_u64})).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_of_a_wrong_type_are_put_right_where_that_loses_nothing() {
    let session = session().await;
    let result = session.call("echo", json!({"text": 5, "digit": " 7 "})).await.unwrap();
    assert_eq!(result.to_text(), r#"{"text":"5","digit":7}"#);
    let result = session.call("echo", json!({"text": "x", "digit": 3.0})).await.unwrap();
    assert_eq!(result.to_text(), r#"{"text":"x","digit":3}"#);

    let actions = json!([{"label": 1, "apply": text("{reason}")}]);
    session.call("stage", json!({"actions": actions.to_string()})).await.unwrap();
    assert_eq!(labels(&session), ["1"]);
    let result = session.call("resolve", json!({"action": "apply", "reason": 7, "id": null})).await.unwrap();
    assert_eq!(result.to_text(), "7");

    // One that cannot be put right, and all is refused as it came.
    let digit = at("/digit", "\"7.5\" is not of types \"null\", \"integer\"");
    let expected = [digit, at("/text", "5 is not of type \"string\"")];
    assert_eq!(violations("echo", json!({"text": 5, "digit": "7.5"})).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parameters_of_resolve_are_checked_as_any_others() {
    let session = session().await;
    stage_one(&session, json!({"label": "a"})).await;
    for (parameters, violation) in [
        (json!({"action": "apply"}), "\"reason\" is a required property"),
        (json!({"action": "undo", "reason": ""}), "/action: \"undo\" is not one of \"apply\", \"discard\""),
        (json!({"action": "apply", "reason": [7]}), "/reason: [7] is not of type \"string\""),
    ] {
        let error = session.call("resolve", parameters.clone()).await.unwrap_err();
        let text = format!("invalid parameters for tool `resolve`:\n- {violation}\nreceived: {parameters}");
        assert_eq!(error.to_string(), text);
        assert!(store(&session).has_pending());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_tool_is_an_error_that_names_those_near_it() {
    let session = session().await;
    let error = session.call("stages", json!({})).await.unwrap_err();
    assert_eq!(error.to_string(), "no tool is named `stages`; did you mean `stage`?");
    assert_eq!(error.for_model(), "no tool is named `stages`; did you mean `stage`?");
    let error = session.call("zzz", json!({})).await.unwrap_err();
    assert_eq!(error.for_model(), "no tool is named `zzz`.");
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_and_results_cross_unchanged() {
    let session = session().await;
    let text = "Zürich \u{1F5FB} \0 \"\\ \u{2028}".repeat(1000);
    let result = session.call("echo", json!({"text": text})).await.unwrap();
    let echoed: Value = serde_json::from_str(&result.to_text()).unwrap();
    assert_eq!(echoed, json!({"text": text, "digit": null}));

    let unknown =
        json!({"content": [{"type": "audio", "data": [1.5, null]}, {"type": "text", "text": ""}], "later": true});
    let result = session.call("stage", json!({"actions": [], "result": unknown})).await.unwrap();
    let expected = json!({"content": [{"type": "audio", "data": [1.5, null]}, {"type": "text", "text": ""}]});
    assert_eq!(serde_json::to_value(result).unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_arrive_in_order_and_before_the_result() {
    let session = session().await;
    for count in [0, 1, 2, 200] {
        let mut call = session.call("updates", json!({"count": count}));
        let mut seen = Vec::new();
        while let Some(update) = call.next_update().await {
            seen.push(update.to_text());
        }
        assert_eq!(seen, (0..count).map(|number| number.to_string()).collect::<Vec<_>>());
        assert_eq!(call.await.unwrap().to_text(), "all");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_that_nobody_reads_hold_nothing_up() {
    let call = session().await.call("updates", json!({"count": 1000}));
    assert_eq!(call.await.unwrap().to_text(), "all");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_streamed_after_the_result() {
    let (session, gate, answer) = (session().await, Pipe::new(), Pipe::new());
    let parameters = json!({"gate": gate.path(), "answer": answer.path(), "act": "update"});
    let mut call = session.call("spawned", parameters);
    assert_eq!(call.next_update().await, None);
    drop(gate.reached().await);
    assert_eq!(answer.told().await, "update: false");
    assert_eq!(call.next_update().await, None);
    assert_eq!(call.await.unwrap().to_text(), "spawned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_a_running_call_may_stream() {
    let (session, gate, answer) = (session().await, Pipe::new(), Pipe::new());
    let parameters = json!({"gate": gate.path(), "answer": answer.path(), "act": "update", "wait": true});
    let mut call = session.call("spawned", parameters);
    assert!(poll_once(&mut Box::pin(call.next_update())).is_pending());
    drop(gate.reached().await);
    assert_eq!(answer.told().await, "update: true");
    assert_eq!(call.next_update().await.unwrap().to_text(), "late");
    call.cancellation().cancel();
    assert_eq!(call.await.unwrap().to_text(), "spawned");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_asked_to_stop_decides_how_it_ends() {
    let session = session().await;
    for (then, expected) in
        [("return", Ok("stopped: true".to_owned())), ("fail", Err(CallError::Cancelled { tool: "waits".to_owned() }))]
    {
        let started = Pipe::new();
        let call = session.call("waits", json!({"started": started.path(), "then": then}));
        let cancellation = call.cancellation();
        let call = tokio::spawn(call);
        started.told().await;
        cancellation.cancel();
        assert_eq!(call.await.unwrap().map(|result| result.to_text()), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_drops_what_the_tool_holds() {
    let (session, started) = (session().await, Pipe::new());
    let directory = tempfile::tempdir().unwrap();
    let dropped = directory.path().join("dropped");
    let parameters = json!({"started": started.path(), "dropped": dropped, "then": "return"});
    let call = tokio::spawn(session.call("waits", parameters));
    started.told().await;
    assert!(!dropped.exists());
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert!(dropped.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_tool_overlap() {
    let session = session().await;
    let (one, two) = (Pipe::new(), Pipe::new());
    let call = |started: &Pipe| session.call("waits", json!({"started": started.path(), "then": "return"}));
    let calls = [call(&one), call(&two)];
    let cancellations = calls.each_ref().map(toolhost_core::Call::cancellation);
    let calls = calls.map(tokio::spawn);
    one.told().await;
    two.told().await;
    cancellations.iter().for_each(toolhost_core::Cancellation::cancel);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().to_text(), "stopped: true");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_tool_that_is_not_parallel_wait_for_each_other() {
    let session = session().await;
    let mut events = session.events();
    let (gate, answer) = (Pipe::new(), Pipe::new());
    let parameters = json!({"gate": gate.path(), "answer": answer.path(), "act": "update", "wait": true});
    let mut calls = [session.call("spawned", parameters.clone()), session.call("spawned", parameters)];
    let cancellations = calls.each_ref().map(toolhost_core::Call::cancellation);
    for call in &mut calls {
        assert!(poll_once(call).is_pending());
    }
    for (mut call, cancellation) in calls.into_iter().zip(cancellations) {
        // The one before has ended, so that this one runs.
        assert!(poll_once(&mut call).is_pending());
        cancellation.cancel();
        assert_eq!(bounded(call).await.unwrap().to_text(), "spawned");
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(match next_event(&mut events).await.kind {
            EventKind::ToolStart { call, .. } => ("start", call),
            EventKind::ToolEnd { call, .. } => ("end", call),
            other => panic!("{other:?}"),
        });
    }
    let (one, two) = (seen[0].1, seen[2].1);
    assert_ne!(one, two);
    assert_eq!(seen, [("start", one), ("end", one), ("start", two), ("end", two)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_is_given_its_reason_whatever_it_holds() {
    let session = session().await;
    stage_one(&session, json!({"label": "a", "apply": [text("{reason}")]})).await;
    let reason = "weil es schön ist \u{1F5FB}";
    let result = session.call("resolve", json!({"action": "apply", "reason": reason})).await.unwrap();
    assert_eq!(result.to_text(), reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_may_return_nothing() {
    let session = session_of(&[Fixture::Empty]).await;
    let result = session.call("empty", json!({})).await.unwrap();
    assert_eq!(serde_json::to_value(result).unwrap(), json!({"content": []}));
}
