//! Failures of every kind, as the model and programs get them.

use serde_json::{Value, json};
use toolhost_core::ResolveStatus;
use toolhost_loader::{ResolveRequest, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{host_of, labels, on_every_runtime, open, plugin, session_of, texts};

on_every_runtime![
    the_question_mark_takes_every_error_with_its_sources,
    a_failure_carries_what_programs_should_know,
    an_apply_and_a_reject_fail_in_the_same_ways,
    details_that_nest_too_deep_do_not_undo_what_has_happened,
    a_factory_fails_with_the_whole_chain_too,
];

const NOT_FOUND: &str = "No such file or directory (os error 2)";

/// Every kind of error, and its text.
fn kinds() -> Vec<(&'static str, String)> {
    vec![
        ("io", NOT_FOUND.to_owned()),
        ("parse", "invalid digit found in string".to_owned()),
        ("utf8", "invalid utf-8 sequence of 1 bytes from index 0".to_owned()),
        ("json", "invalid type: sequence, expected u8 at line 1 column 0".to_owned()),
        ("anyhow", format!("no photos: cannot read the list: {NOT_FOUND}")),
        ("anyhowMessage", "just said".to_owned()),
        ("thiserror", "cannot load /etc/x: line 3 is broken: too short".to_owned()),
        ("transparent", "disk on fire".to_owned()),
        ("boxed", "in a box".to_owned()),
        ("text", "a text".to_owned()),
        ("ownedText", "a text of 7".to_owned()),
        ("empty", String::new()),
        ("many", "ä\u{1F5FB}\0\u{1b}[31m\n".repeat(1_000)),
        ("notJson", "key must be a string".to_owned()),
    ]
}

async fn the_question_mark_takes_every_error_with_its_sources() {
    let session = session_of(&[Fixture::Errors]).await;
    for (kind, text) in kinds() {
        let result = session.call("fails", json!({"kind": kind})).await.unwrap();
        let expected = json!({"content": [{"type": "text", "text": text}], "isError": true});
        assert_eq!(serde_json::to_value(result).unwrap(), expected, "{kind}");
    }
}

/// The details of the failure that says so.
fn structured() -> Value {
    json!({"retryAfter": 3, "tried": ["a", null], "\u{1F5FB}": 0.5})
}

async fn a_failure_carries_what_programs_should_know() {
    let session = session_of(&[Fixture::Errors]).await;
    for (kind, text, details) in
        [("structured", "busy", Some(structured())), ("stale", "it moved", None), ("result", "said so", Some(json!(1)))]
    {
        let result = session.call("fails", json!({"kind": kind})).await.unwrap();
        assert_eq!((result.to_text().as_str(), result.is_error, result.details), (text, true, details), "{kind}");
    }
}

async fn an_apply_and_a_reject_fail_in_the_same_ways() {
    let session = session_of(&[Fixture::Errors]).await;
    let structured = ("structured", "busy".to_owned());
    for (kind, text) in kinds().into_iter().chain([structured, ("stale", "it moved".to_owned())]) {
        session.call("stages", json!({"kind": kind})).await.unwrap();
        let applied = session.resolve(ResolveRequest::apply("r")).await;
        assert_eq!(applied.result.to_text(), format!("Apply failed: {text}"), "{kind}");
        let code = ["stale", "busy"].into_iter().find(|code| text == "busy" && *code == "busy" || kind == *code);
        assert_eq!(applied.status, ResolveStatus::ApplyFailed { code: code.map(str::to_owned) }, "{kind}");
        assert_eq!(labels(&session), ["Fail"]);
        let details = applied.result.details.unwrap();
        let expected = if kind == "structured" { self::structured() } else { Value::Null };
        assert_eq!(details["sourceResultDetails"], expected, "{kind}");

        let discarded = session.resolve(ResolveRequest::discard("r")).await;
        assert_eq!(discarded.result.to_text(), format!("Discarded: Fail. Cleanup failed: {text}"), "{kind}");
        assert!(labels(&session).is_empty());
    }
}

async fn details_that_nest_too_deep_do_not_undo_what_has_happened() {
    let session = session_of(&[Fixture::Errors]).await;
    for (kind, text) in [("deep", "the details nest deeper than 100 levels"), ("deepFailure", "busy")] {
        let result = session.call("fails", json!({"kind": kind})).await.unwrap();
        assert_eq!((result.to_text().as_str(), result.is_error, result.details), (text, true, None));
    }

    for (request, status) in
        [(ResolveRequest::apply("r"), ResolveStatus::Applied), (ResolveRequest::discard("r"), ResolveStatus::Discarded)]
    {
        session.call("stages", json!({"kind": "deep"})).await.unwrap();
        let resolution = session.resolve(request).await;
        assert_eq!((resolution.result.to_text().as_str(), resolution.status), ("done", status));
        assert_eq!(resolution.result.details.unwrap()["sourceResultDetails"], Value::Null);
        assert!(labels(&session).is_empty());
    }

    session.call("stages", json!({"kind": "deepFailure"})).await.unwrap();
    let resolution = session.resolve(ResolveRequest::apply("r")).await;
    assert_eq!(resolution.result.to_text(), "Apply failed: busy");
    assert_eq!(resolution.status, ResolveStatus::ApplyFailed { code: Some("busy".to_owned()) });
    assert_eq!(labels(&session), ["Fail"]);
}

async fn a_factory_fails_with_the_whole_chain_too() {
    let host = host_of(&[Fixture::Errors]).await;
    let opened = host.session(SessionOptions::new("fails")).await;
    let text = format!(
        "{}: the factory of `errors` failed: cannot read the licence: {NOT_FOUND}; mend what the message names, or ask \
         the plugin's author (TH0701)",
        plugin(Fixture::Errors).display()
    );
    assert_eq!(texts(&opened.errors), [text]);
    open(&host, SessionOptions::new("works")).await;
}
