//! What a plugin may ask of its host, through a program that writes down who asks for what.

mod custom;
mod exec;
mod panics;
mod person;
mod settings;

use std::future::{pending, ready};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_core::service::{ExecRequest, ExecResult, SessionState, UiConfirm, UiInput, UiNotice, UiSelect, UiStatus};
use toolhost_core::{
    BoxFuture, Caller, EventKind, EventStream, Failure, HostServices, LocalExec, NextEvent, UserInterface,
};
use toolhost_loader::{Session, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{host_of, open, session_of};

/// What was asked, each as one JSON object. Clones are the same program, and the same person.
#[derive(Clone, Default)]
pub(crate) struct Program {
    asked: Arc<Mutex<Vec<Value>>>,
    has_person: bool,
    /// Told at each question, which is then never answered.
    hangs: Option<Arc<Notify>>,
}

impl Program {
    fn with_person() -> Self {
        Self { has_person: true, ..Self::default() }
    }

    pub(crate) fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn note(&self, caller: &Caller, service: &str, request: impl serde::Serialize) {
        let who = json!([caller.plugin, caller.tool, caller.call, caller.session]);
        self.asked.lock().unwrap().push(json!({service: request, "by": who}));
    }

    fn answer<T: Send + 'static>(&self, answer: T) -> BoxFuture<T> {
        match &self.hangs {
            Some(asked) => {
                asked.notify_one();
                Box::pin(pending())
            }
            None => Box::pin(ready(answer)),
        }
    }
}

impl HostServices for Program {
    fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        self.note(&caller, "exec", &request);
        LocalExec::new().output_bytes(1_000).run(caller, request)
    }

    fn ui(&self, _session: &str) -> Option<Arc<dyn UserInterface>> {
        self.has_person.then(|| Arc::new(self.clone()) as Arc<dyn UserInterface>)
    }

    fn session_state(&self, caller: &Caller, mut known: SessionState) -> SessionState {
        self.note(caller, "state", known);
        known.queued_messages = 2;
        known
    }

    fn abort(&self, caller: &Caller) {
        self.note(caller, "abort", caller.cancellation.is_cancelled());
    }

    fn call(&self, caller: Caller, service: &str, parameters: Value) -> BoxFuture<Result<Value, Failure>> {
        self.note(&caller, service, &parameters);
        Box::pin(ready(match service {
            "double" => Ok(json!(parameters.as_u64().unwrap() * 2)),
            "fail" => Err(Failure::new("no luck").with_code("luck").with_details(json!({"n": 1}))),
            "apply" | "reject" => Ok(json!([service, parameters])),
            _ => return toolhost_core::NoServices.call(caller, service, parameters),
        }))
    }
}

impl UserInterface for Program {
    fn select(&self, caller: Caller, question: UiSelect) -> BoxFuture<Option<usize>> {
        self.note(&caller, "select", &question);
        self.answer(Some(1))
    }

    fn confirm(&self, caller: Caller, question: UiConfirm) -> BoxFuture<bool> {
        self.note(&caller, "confirm", &question);
        self.answer(true)
    }

    fn input(&self, caller: Caller, question: UiInput) -> BoxFuture<Option<String>> {
        self.note(&caller, "input", &question);
        self.answer(Some("Grace \u{1F5FB}".to_owned()))
    }

    fn notify(&self, caller: &Caller, notice: UiNotice) {
        self.note(caller, "notify", notice);
    }

    fn set_status(&self, caller: &Caller, status: UiStatus) {
        self.note(caller, "status", status);
    }
}

/// A session of the fixture in this program.
pub(crate) async fn session(program: &Program) -> Session {
    let options = SessionOptions::new("asking").services(program.clone());
    open(&host_of(&[Fixture::Services]).await, options).await
}

/// A session of the fixture in a program that offers nothing.
async fn plain() -> Session {
    session_of(&[Fixture::Services]).await
}

/// Calls a tool that ends well. Returns the call's id, as the host knows it, and the result's details.
pub(crate) async fn call(session: &Session, tool: &str, parameters: Value) -> (u64, Value) {
    let mut events = session.events();
    let result = session.call(tool, parameters).await.unwrap();
    assert!(!result.is_error, "{result:?}");
    (started(&mut events), result.details.unwrap_or_default())
}

/// The id of the call that began first.
pub(crate) fn started(events: &mut EventStream) -> u64 {
    loop {
        match events.try_next() {
            Some(NextEvent::Event(event)) => {
                if let EventKind::ToolStart { call, .. } = event.kind {
                    return call;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

/// The text of a call's result, which reports a failure.
async fn failure(session: &Session, tool: &str, parameters: Value) -> String {
    let result = session.call(tool, parameters).await.unwrap();
    assert!(result.is_error, "{result:?}");
    result.to_text()
}
