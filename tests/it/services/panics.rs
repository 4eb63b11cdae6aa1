//! A program whose services panic: the plugin gets an error, and both live on.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_core::service::{ExecRequest, ExecResult, SessionState, UiConfirm, UiInput, UiNotice, UiSelect, UiStatus};
use toolhost_core::{BoxFuture, Caller, Failure, HostServices, UserInterface};
use toolhost_loader::{Session, SessionOptions};
use toolhost_tests::Fixture;

use super::{call, failure};
use crate::support::{host_of, on_every_runtime, open};

on_every_runtime![
    a_service_that_panics_is_an_error_to_the_plugin,
    an_answer_stands_whatever_is_left_of_its_future,
    a_person_whose_questions_panic_is_nobody
];

/// Panics at whatever is asked: when it is asked, when the answer is awaited, or as that goes away.
#[derive(Clone, Copy)]
enum Panics {
    AtOnce,
    Later,
    InTheEnd,
    /// Even when it is asked for the person.
    Everywhere,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("as it goes");
    }
}

impl Panics {
    fn answer<T: Clone + Send + 'static>(self, answer: T) -> BoxFuture<T> {
        match self {
            Self::AtOnce | Self::Everywhere => panic!("at once"),
            Self::Later => Box::pin(async { panic!("later") }),
            Self::InTheEnd => {
                let bomb = Bomb;
                Box::pin(std::future::poll_fn(move |_cx| {
                    let _kept = &bomb;
                    std::task::Poll::Ready(answer.clone())
                }))
            }
        }
    }
}

impl HostServices for Panics {
    fn exec(&self, _caller: Caller, _request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        self.answer(Ok(ExecResult::default()))
    }

    fn ui(&self, _session: &str) -> Option<Arc<dyn UserInterface>> {
        assert!(!matches!(self, Self::Everywhere), "no person");
        Some(Arc::new(*self))
    }

    fn session_state(&self, _caller: &Caller, _known: SessionState) -> SessionState {
        panic!("in the state")
    }

    fn abort(&self, _caller: &Caller) {
        panic!("in the abort")
    }

    fn call(&self, _caller: Caller, _service: &str, _parameters: Value) -> BoxFuture<Result<Value, Failure>> {
        self.answer(Ok(json!("fine")))
    }
}

impl UserInterface for Panics {
    fn select(&self, _caller: Caller, _question: UiSelect) -> BoxFuture<Option<usize>> {
        self.answer(Some(0))
    }

    fn confirm(&self, _caller: Caller, _question: UiConfirm) -> BoxFuture<bool> {
        self.answer(true)
    }

    fn input(&self, _caller: Caller, _question: UiInput) -> BoxFuture<Option<String>> {
        self.answer(Some("typed".to_owned()))
    }

    fn notify(&self, _caller: &Caller, _notice: UiNotice) {
        panic!("in a notice")
    }

    fn set_status(&self, _caller: &Caller, _status: UiStatus) {
        panic!("in a status")
    }
}

async fn session(program: Panics) -> Session {
    open(&host_of(&[Fixture::Services]).await, SessionOptions::new("a").services(program)).await
}

async fn a_service_that_panics_is_an_error_to_the_plugin() {
    for (program, message) in [(Panics::AtOnce, "at once"), (Panics::Later, "later")] {
        let session = session(program).await;
        let text = format!("the host's service `exec` panicked: {message}");
        assert_eq!(failure(&session, "exec", json!({"command": "true"})).await, text);
        let result = session.call("service", json!({"name": "mine", "parameters": 1})).await.unwrap();
        assert_eq!(result.to_text(), format!("the host's service `mine` panicked: {message}"));
        assert_eq!(result.details, Some(json!({"code": "panicked-service", "details": null})));
        let text = "the host's service `session.state` panicked: in the state";
        assert_eq!(failure(&session, "call_facts", json!({})).await, text);
        // Of what nobody awaits nothing is heard.
        assert_eq!(session.call("aborts", json!({})).await.unwrap().to_text(), "cancelled: true");
    }
}

async fn an_answer_stands_whatever_is_left_of_its_future() {
    let session = session(Panics::InTheEnd).await;
    assert_eq!(call(&session, "exec", json!({"command": "true"})).await.1["code"], 0);
    assert_eq!(call(&session, "service", json!({"name": "mine", "parameters": 1})).await.1, "fine");
}

async fn a_person_whose_questions_panic_is_nobody() {
    for (program, has_ui) in
        [(Panics::AtOnce, true), (Panics::Later, true), (Panics::InTheEnd, true), (Panics::Everywhere, false)]
    {
        let session = session(program).await;
        assert_eq!(call(&session, "facts", json!({})).await.1["hasUi"], has_ui);
        let (_, answers) = call(&session, "asks", json!({"options": ["a"]})).await;
        assert_eq!(answers, json!({"chosen": null, "sure": false, "typed": null}));
    }
}
