//! Questions to a person.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_loader::SessionOptions;
use toolhost_tests::Fixture;

use super::{Program, call, plain, session};
use crate::support::{bounded, host_of, on_every_runtime, open};

on_every_runtime![
    a_person_is_asked_and_told_by_name_of_who_asks,
    an_answer_that_is_none_of_the_options_is_no_answer,
    without_a_person_every_question_is_answered_at_once_by_nobody,
    a_question_is_taken_back_with_its_call,
];

async fn a_person_is_asked_and_told_by_name_of_who_asks() {
    let program = Program::with_person();
    let session = session(&program).await;
    let (id, answers) = call(&session, "asks", json!({"options": ["left", "right", "stay"]})).await;
    assert_eq!(answers, json!({"chosen": 1, "sure": true, "typed": "Grace \u{1F5FB}"}));
    let by = json!(["services", "asks", id, "asking"]);
    let asked = |service: &str, request: Value| json!({service: request, "by": by});
    let notice = |level: &str| asked("notify", json!({"message": "noted", "level": level}));
    let expected = [
        asked("status", json!({"key": "questions", "text": "3 left"})),
        asked("select", json!({"title": "Which one?", "options": ["left", "right", "stay"]})),
        asked("confirm", json!({"title": "Sure?", "message": "It \u{1F5FB} cannot be undone."})),
        asked("input", json!({"title": "Name?", "placeholder": "Ada"})),
        notice("info"),
        notice("warning"),
        notice("error"),
        asked("status", json!({"key": "questions"})),
    ];
    assert_eq!(program.take(), expected);
}

async fn an_answer_that_is_none_of_the_options_is_no_answer() {
    let session = session(&Program::with_person()).await;
    for options in [json!(["only"]), json!([])] {
        let (_, answers) = call(&session, "asks", json!({"options": options})).await;
        assert_eq!(answers["chosen"], Value::Null);
    }
}

async fn without_a_person_every_question_is_answered_at_once_by_nobody() {
    let nobody = json!({"chosen": null, "sure": false, "typed": null});
    assert_eq!(call(&plain().await, "asks", json!({"options": ["a"]})).await.1, nobody);
    let program = Program::default();
    assert_eq!(call(&session(&program).await, "asks", json!({"options": ["a"]})).await.1, nobody);
    assert_eq!(program.take(), Vec::<Value>::new());
}

async fn a_question_is_taken_back_with_its_call() {
    let asked = Arc::new(Notify::new());
    let program = Program { hangs: Some(asked.clone()), ..Program::with_person() };
    let options = SessionOptions::new("asking").services(program.clone());
    let session = open(&host_of(&[Fixture::Services]).await, options).await;
    let running = session.call("asks", json!({"options": ["a"]}));
    let cancellation = running.cancellation();
    let running = tokio::spawn(running);
    bounded(asked.notified()).await;
    cancellation.cancel();
    let answers = bounded(running).await.unwrap().unwrap().details;
    assert_eq!(answers, Some(json!({"chosen": null, "sure": false, "typed": null})));
}
