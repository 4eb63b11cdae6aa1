//! Services of the program's own, by name.

use serde_json::{Value, json};
use toolhost_loader::ResolveRequest;

use super::{Program, call, failure, plain, session};
use crate::support::on_every_runtime;

on_every_runtime![
    a_service_of_the_programs_own_is_asked_by_name,
    a_failure_of_a_service_keeps_its_code_and_details,
    an_unknown_service_is_an_error_that_says_so,
    an_answer_of_another_type_is_an_error,
    an_apply_and_a_reject_ask_for_no_call,
];

async fn a_service_of_the_programs_own_is_asked_by_name() {
    let program = Program::default();
    let session = session(&program).await;
    let (id, answer) = call(&session, "service", json!({"name": "double", "parameters": 21})).await;
    assert_eq!(answer, 42);
    assert_eq!(program.take(), [json!({"double": 21, "by": ["services", "service", id, "asking"]})]);
}

async fn a_failure_of_a_service_keeps_its_code_and_details() {
    let session = session(&Program::default()).await;
    let result = session.call("service", json!({"name": "fail", "parameters": null})).await.unwrap();
    assert_eq!(result.to_text(), "no luck");
    assert_eq!(result.details, Some(json!({"code": "luck", "details": {"n": 1}})));
}

async fn an_unknown_service_is_an_error_that_says_so() {
    for session in [plain().await, session(&Program::default()).await] {
        let result =
            session.call("service", json!({"name": "weather", "parameters": {"city": "Ürümqi"}})).await.unwrap();
        assert_eq!(result.to_text(), "this host offers no service `weather`; a newer version of it may");
        assert_eq!(result.details, Some(json!({"code": "unknown-service", "details": null})));
    }
}

async fn an_answer_of_another_type_is_an_error() {
    let session = session(&Program::default()).await;
    let ask = |parameters: Value| json!({"name": "double", "parameters": parameters, "number": true});
    assert_eq!(session.call("service", ask(json!(4))).await.unwrap().to_text(), "8");
    let text = "the host's answer cannot be read: invalid value: integer `400`, expected u8 at line 1 column 3";
    assert_eq!(failure(&session, "service", ask(json!(200))).await, text);
}

async fn an_apply_and_a_reject_ask_for_no_call() {
    let program = Program::default();
    let session = session(&program).await;
    let by = json!(["services", null, null, "asking"]);
    for (request, service) in [(ResolveRequest::apply("good"), "apply"), (ResolveRequest::discard("good"), "reject")] {
        let id = session.call("later", json!({})).await.unwrap();
        assert_eq!(id.details.as_ref().unwrap()["pending"][0]["id"], id.to_text());
        let resolution = session.resolve(request).await;
        assert_eq!(resolution.result.to_text(), format!("[\"{service}\",\"good\"]"));
        assert_eq!(program.take(), [json!({service: "good", "by": by})]);
    }
}
