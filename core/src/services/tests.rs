use std::future::{pending, ready};
use std::sync::Mutex;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::task::JoinHandle;
use toolhost_protocol::{AgentToolResult, ToolDefinition};

use super::*;
use crate::{CallContext, CallError, EndReason, LocalExec, Session, SessionOptions, Tool, ToolOutcome};

/// A program, and the person before it, that note what they are asked, and panic or wait for ever where they are told to.
struct Noting {
    notes: UnboundedSender<String>,
    ui: Option<Arc<Noting>>,
}

impl Noting {
    /// With somebody to ask.
    fn new() -> (Self, UnboundedReceiver<String>) {
        let (notes, noted) = mpsc::unbounded_channel();
        let ui = Arc::new(Self { notes: notes.clone(), ui: None });
        (Self { notes, ui: Some(ui) }, noted)
    }

    /// What is asked: `panic` and `wait` are done, anything else is answered.
    fn asked<T: Send + 'static>(&self, what: &str, answer: T) -> BoxFuture<T> {
        let end = Noted(self.notes.clone(), format!("{what} is over"));
        match what {
            "panic" => panic!("on purpose"),
            "panic later" => Box::pin(async { panic!("on purpose, later") }),
            "wait" => Box::pin(async move {
                let _ = end.0.send("wait began".to_owned());
                let _end = end;
                pending().await
            }),
            _ => Box::pin(ready(answer)),
        }
    }

    fn note(&self, note: impl Into<String>) {
        let note = note.into();
        assert_ne!(note, "panic");
        let _ = self.notes.send(note);
    }
}

/// Notes that it is dropped.
struct Noted(UnboundedSender<String>, String);

impl Drop for Noted {
    fn drop(&mut self) {
        let _ = self.0.send(self.1.clone());
    }
}

impl HostServices for Noting {
    fn exec(&self, _caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        let what = request.command.as_os_str().to_str().unwrap();
        let answer = match what {
            "fail" => Err(Failure::new("no luck").with_code("luck").with_details(json!({"n": 1}))),
            _ => {
                let mut result = ExecResult::default();
                result.code = 3;
                Ok(result)
            }
        };
        self.asked(what, answer)
    }

    fn ui(&self, session: &str) -> Option<Arc<dyn UserInterface>> {
        assert_eq!(session, "test");
        Some(self.ui.clone()?)
    }

    fn session_state(&self, _caller: &Caller, mut known: SessionState) -> SessionState {
        known.queued_messages = 2;
        known
    }

    fn abort(&self, caller: &Caller) {
        self.note(format!("abort, and the call is cancelled: {}", caller.cancellation.is_cancelled()));
    }

    fn call(&self, caller: Caller, service: &str, parameters: Value) -> BoxFuture<Result<Value, Failure>> {
        let Caller { plugin, tool, call, session, cwd, .. } = caller;
        let who = json!({"plugin": plugin, "tool": tool, "call": call, "session": session, "cwd": cwd});
        self.asked(service, Ok(json!([who, service, parameters])))
    }
}

impl UserInterface for Noting {
    fn select(&self, _caller: Caller, question: UiSelect) -> BoxFuture<Option<usize>> {
        self.asked(&question.title, question.options.len().checked_sub(1))
    }

    fn confirm(&self, _caller: Caller, question: UiConfirm) -> BoxFuture<bool> {
        self.asked(&question.title, true)
    }

    fn input(&self, _caller: Caller, question: UiInput) -> BoxFuture<Option<String>> {
        self.asked(&question.title, Some(question.placeholder))
    }

    fn notify(&self, _caller: &Caller, notice: UiNotice) {
        self.note(notice.message);
    }

    fn set_status(&self, _caller: &Caller, status: UiStatus) {
        self.note(format!("{}: {:?}", status.key, status.text));
    }
}

/// Runs until it is asked to stop.
struct Runs(ToolDefinition, Mutex<Option<tokio::sync::oneshot::Sender<u64>>>);

impl Tool for Runs {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        self.1.lock().unwrap().take().unwrap().send(call.id()).unwrap();
        Box::pin(async move {
            call.cancellation().cancelled().await;
            Ok("stopped".into())
        })
    }
}

/// A call of the tool `runs` that runs, by its id.
async fn running(session: &Session) -> (u64, JoinHandle<Result<AgentToolResult, CallError>>) {
    let (sender, id) = tokio::sync::oneshot::channel();
    session.register(Arc::new(Runs(ToolDefinition::new("runs"), Mutex::new(Some(sender))))).unwrap();
    let call = tokio::spawn(session.call("runs", json!({})));
    (id.await.unwrap(), call)
}

fn noting() -> (Session, UnboundedReceiver<String>) {
    let (services, noted) = Noting::new();
    let options = SessionOptions::new("test").cwd("/work").services(services);
    (Session::new(options, Handle::current()), noted)
}

fn plain() -> Session {
    Session::new(SessionOptions::new("test"), Handle::current())
}

fn serve(session: &Session, call: u64, service: &str, parameters: Value) -> BoxFuture<Result<Vec<u8>, Failure>> {
    session.downgrade().serve("namer", call, service, parameters.to_string().as_bytes())
}

async fn ask(session: &Session, service: &str, parameters: Value) -> Result<Value, Failure> {
    let answer = serve(session, 0, service, parameters).await?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

fn panicked(service: &str, message: &str) -> Result<Value, Failure> {
    Err(Failure::new(format!("the host's service `{service}` panicked: {message}")).with_code("panicked-service"))
}

#[tokio::test]
async fn a_program_without_services_runs_nothing_and_has_nobody_to_ask() {
    let session = plain();
    let text = "this host runs no programs for plugins, so `git` was not run for `namer`";
    let refused = Err(Failure::new(text).with_code("refused-service"));
    assert_eq!(ask(&session, "exec", json!({"command": "git"})).await, refused);
    assert_eq!(ask(&session, "ui.select", json!({"title": "t", "options": ["a"]})).await, Ok(Value::Null));
    assert_eq!(ask(&session, "ui.confirm", json!({"title": "t"})).await, Ok(json!(false)));
    assert_eq!(ask(&session, "ui.input", json!({"title": "t"})).await, Ok(Value::Null));
    assert_eq!(ask(&session, "ui.notify", json!({"message": "m", "level": "error"})).await, Ok(Value::Null));
    assert_eq!(ask(&session, "ui.setStatus", json!({"key": "k", "text": "t"})).await, Ok(Value::Null));
    let state = json!({"idle": true, "queuedMessages": 0});
    assert_eq!(ask(&session, "session.state", Value::Null).await, Ok(state));
    assert_eq!(ask(&session, "session.abort", Value::Null).await, Ok(Value::Null));
}

#[tokio::test]
async fn a_service_that_nobody_knows_is_named() {
    for service in ["weather", "ui.dance", "session.rewind", ""] {
        let text = format!("this host offers no service `{service}`; a newer version of it may");
        let unknown = Err(Failure::new(text).with_code("unknown-service"));
        assert_eq!(ask(&plain(), service, json!({})).await, unknown);
    }
}

#[tokio::test]
async fn answers_are_the_programs_own() {
    let (session, _noted) = noting();
    let ended = json!({"stdout": "", "stderr": "", "code": 3, "killed": false});
    assert_eq!(ask(&session, "exec", json!({"command": "git"})).await, Ok(ended));
    let failed = Failure::new("no luck").with_code("luck").with_details(json!({"n": 1}));
    assert_eq!(ask(&session, "exec", json!({"command": "fail"})).await, Err(failed));
    assert_eq!(ask(&session, "ui.select", json!({"options": ["a", "b"]})).await, Ok(json!(1)));
    assert_eq!(ask(&session, "ui.select", json!({"options": []})).await, Ok(Value::Null));
    assert_eq!(ask(&session, "ui.confirm", json!({})).await, Ok(json!(true)));
    assert_eq!(ask(&session, "ui.input", json!({"placeholder": "p"})).await, Ok(json!("p")));
}

#[tokio::test]
async fn a_program_runs_where_the_session_allows_it() {
    struct Allows(LocalExec);
    impl HostServices for Allows {
        fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
            self.0.run(caller, request)
        }
    }
    let options = SessionOptions::new("test").cwd("/").services(Allows(LocalExec::new()));
    let session = Session::new(options, Handle::current());
    let (id, call) = running(&session).await;
    let ended = serve(&session, id, "exec", json!({"command": "/bin/pwd"})).await.unwrap();
    assert_eq!(ended, br#"{"stdout":"/\n","stderr":"","code":0,"killed":false}"#);
    // An abort reaches the programs of the calls that it stops.
    let waits = tokio::spawn(serve(&session, id, "exec", json!({"command": "sleep", "args": ["1000"]})));
    session.abort_calls();
    let killed = waits.await.unwrap().unwrap();
    assert_eq!(killed, br#"{"stdout":"","stderr":"","code":143,"killed":true,"killedBy":"cancellation"}"#);
    assert_eq!(call.await.unwrap().unwrap().to_text(), "stopped");
}

#[tokio::test]
async fn who_asks_is_known_by_the_running_call() {
    let (session, _noted) = noting();
    let (id, call) = running(&session).await;
    let asked = async |call: u64| {
        let answer = serve(&session, call, "weather", json!({"in": "Rome"})).await.unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()
    };
    let by = |tool: Option<&str>, call: Option<u64>| {
        let who = json!({"plugin": "namer", "tool": tool, "call": call, "session": "test", "cwd": "/work"});
        json!([who, "weather", {"in": "Rome"}])
    };
    assert_eq!(asked(id).await, by(Some("runs"), Some(id)));
    assert_eq!(asked(0).await, by(None, None));
    // One that has ended by itself.
    assert_eq!(asked(id + 1).await, by(None, None));
    session.abort_calls();
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_of_another_session_may_ask_for_nothing() {
    let (first, second) = (plain(), plain());
    let (id, _call) = running(&first).await;
    let text = "the tool call belongs to another session; ask through the API that this session's factory was given";
    for service in ["exec", "ui.confirm", "session.abort", "weather"] {
        assert_eq!(serve(&second, id, service, json!({})).await, Err(Failure::new(text)));
    }
}

#[tokio::test]
async fn a_session_that_is_gone_answers_nothing() {
    let session = plain().downgrade();
    let text = "the session is gone, so `exec` cannot be asked for";
    assert_eq!(session.serve("namer", 0, "exec", b"{}").await, Err(Failure::new(text)));
}

#[tokio::test]
async fn what_cannot_be_read_is_not_asked() {
    let (session, _noted) = noting();
    for service in ["exec", "ui.select", "ui.confirm", "ui.input", "ui.notify", "ui.setStatus", "weather"] {
        let refused = session.downgrade().serve("namer", 0, service, b"{").await.unwrap_err();
        let text = format!(
            "what is asked of the service `{service}` cannot be read: EOF while parsing an object at line 1 column 1"
        );
        assert_eq!(refused, Failure::new(text));
    }
}

#[tokio::test]
async fn a_panic_names_the_service() {
    let (session, mut noted) = noting();
    for (service, parameters) in [
        ("exec", json!({"command": "panic"})),
        ("ui.select", json!({"title": "panic"})),
        ("ui.confirm", json!({"title": "panic"})),
        ("ui.input", json!({"title": "panic"})),
        ("panic", json!({})),
    ] {
        assert_eq!(ask(&session, service, parameters).await, panicked(service, "on purpose"));
    }
    let later = ask(&session, "exec", json!({"command": "panic later"})).await;
    assert_eq!(later, panicked("exec", "on purpose, later"));
    let notice = ask(&session, "ui.notify", json!({"message": "panic"})).await.unwrap_err();
    assert!(notice.message.starts_with("the host's service `ui.notify` panicked: assertion"), "{notice}");
    assert_eq!(notice.code.as_deref(), Some("panicked-service"));
    // Nothing is broken by it.
    assert_eq!(ask(&session, "ui.notify", json!({"message": "m"})).await, Ok(Value::Null));
    while noted.recv().await.unwrap() != "m" {}
}

#[tokio::test]
async fn a_question_is_taken_back_when_its_call_is_cancelled() {
    for (service, nobodys) in [("ui.select", "null"), ("ui.confirm", "false"), ("ui.input", "null")] {
        let (session, mut noted) = noting();
        let (id, call) = running(&session).await;
        let asking = tokio::spawn(serve(&session, id, service, json!({"title": "wait"})));
        assert_eq!(noted.recv().await.unwrap(), "wait began");
        session.abort_calls();
        assert_eq!(asking.await.unwrap().unwrap(), nobodys.as_bytes());
        assert_eq!(noted.recv().await.unwrap(), "wait is over");
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn notices_are_taken_whether_or_not_anybody_awaits() {
    let (session, mut noted) = noting();
    drop(serve(&session, 0, "ui.notify", json!({"message": "m", "level": "warning"})));
    assert_eq!(noted.try_recv().unwrap(), "m");
    drop(serve(&session, 0, "ui.setStatus", json!({"key": "k", "text": "t"})));
    assert_eq!(noted.try_recv().unwrap(), "k: Some(\"t\")");
    drop(serve(&session, 0, "ui.setStatus", json!({"key": "k"})));
    assert_eq!(noted.try_recv().unwrap(), "k: None");
}

#[tokio::test]
async fn a_session_is_idle_while_no_call_runs() {
    let (session, _noted) = noting();
    let state = |idle: bool| Ok(json!({"idle": idle, "queuedMessages": 2}));
    assert_eq!(ask(&session, "session.state", Value::Null).await, state(true));
    let (_id, call) = running(&session).await;
    assert_eq!(ask(&session, "session.state", Value::Null).await, state(false));
    session.abort_calls();
    call.await.unwrap().unwrap();
    assert_eq!(ask(&session, "session.state", Value::Null).await, state(true));
}

#[tokio::test]
async fn an_abort_stops_the_calls_and_then_tells_the_program() {
    let (session, mut noted) = noting();
    let (id, call) = running(&session).await;
    // Whether or not anybody awaits.
    drop(serve(&session, id, "session.abort", Value::Null));
    assert_eq!(noted.try_recv().unwrap(), "abort, and the call is cancelled: true");
    assert_eq!(call.await.unwrap().unwrap().to_text(), "stopped");
}

#[tokio::test]
async fn work_that_nobody_awaits_any_more_is_dropped() {
    let (session, mut noted) = noting();
    for (service, parameters) in
        [("exec", json!({"command": "wait"})), ("ui.confirm", json!({"title": "wait"})), ("wait", json!({}))]
    {
        let asking = serve(&session, 0, service, parameters);
        assert_eq!(noted.recv().await.unwrap(), "wait began");
        drop(asking);
        assert_eq!(noted.recv().await.unwrap(), "wait is over");
    }
}

#[tokio::test]
async fn a_call_that_was_cancelled_may_ask_for_nothing_later() {
    let (session, _noted) = noting();
    let (id, call) = running(&session).await;
    session.abort_calls();
    call.await.unwrap().unwrap();
    for service in ["exec", "ui.confirm", "session.state", "weather"] {
        let refused = serve(&session, id, service, json!({})).await;
        assert_eq!(refused, Err(Failure::new("the tool call was cancelled, so nothing is done for it any more")));
    }
}

#[tokio::test]
async fn what_runs_ends_with_the_session_and_nothing_begins_after_it() {
    let (session, mut noted) = noting();
    let running = [("exec", json!({"command": "wait"})), ("ui.confirm", json!({"title": "wait"})), ("wait", json!({}))];
    let mut waiting = Vec::new();
    for (service, parameters) in running {
        waiting.push((service, tokio::spawn(serve(&session, 0, service, parameters))));
        assert_eq!(noted.recv().await.unwrap(), "wait began");
    }
    session.end(EndReason::Shutdown).await;
    for (service, waiting) in waiting {
        let text = format!("the session has ended, and `{service}` with it");
        assert_eq!(waiting.await.unwrap(), Err(Failure::new(text)));
        assert_eq!(noted.recv().await.unwrap(), "wait is over");
    }
    for service in ["exec", "ui.confirm", "ui.notify", "session.state", "weather"] {
        let refused = serve(&session, 0, service, json!({})).await;
        assert_eq!(refused, Err(Failure::new("the session has ended, so nothing is done for its plugins any more")));
    }
}

#[tokio::test]
async fn what_runs_ends_with_the_last_handle_of_its_session() {
    let (session, mut noted) = noting();
    let waiting = tokio::spawn(serve(&session, 0, "wait", json!({})));
    assert_eq!(noted.recv().await.unwrap(), "wait began");
    drop(session);
    assert_eq!(waiting.await.unwrap(), Err(Failure::new("the session has ended, and `wait` with it")));
}
