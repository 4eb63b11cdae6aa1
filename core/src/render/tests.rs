use std::sync::mpsc;
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;
use toolhost_protocol::{ResolveRequest, ToolDefinition};

use super::*;
use crate::{BoxFuture, CallContext, Limits, PendingAction, Session, SessionOptions, Tool, ToolOutcome};

type Body = Box<dyn Fn(&RenderRequest) -> Rendered + Send + Sync>;

struct Drawn {
    definition: ToolDefinition,
    body: Body,
}

impl Tool for Drawn {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute(&self, _call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async { Ok("".into()) })
    }

    fn render(&self, request: &RenderRequest) -> Rendered {
        (self.body)(request)
    }
}

/// A session with one tool that renders like this.
fn session_within(limit: Duration, body: impl Fn(&RenderRequest) -> Rendered + Send + Sync + 'static) -> Session {
    let options = SessionOptions::new("test").limits(Limits::default().with_render(limit));
    let session = Session::new(options, Handle::current());
    session.register(Arc::new(Drawn { definition: ToolDefinition::new("draw"), body: Box::new(body) })).unwrap();
    session
}

fn session(body: impl Fn(&RenderRequest) -> Rendered + Send + Sync + 'static) -> Session {
    session_within(Duration::from_secs(60), body)
}

async fn call_of(session: &Session) -> Vec<String> {
    session.tools().render_call("draw", &json!({"a": 1}), 20).await
}

async fn result_of(session: &Session) -> Vec<String> {
    session.tools().render_result("draw", &"said".into(), 20, false).await
}

#[tokio::test]
async fn a_tool_renders_for_a_width_and_its_lines_are_made_fit() {
    let session = session(|request| {
        Ok(Some(vec![format!("\u{1b}[7m{}", serde_json::to_string(request).unwrap()), "a\tb".to_owned()]))
    });
    let tools = session.tools();
    let call = tools.render_call("draw", &json!({"a": 1}), 60).await;
    assert_eq!(call, [r#"{"kind":"call","parameters":{"a":1},"width":60}"#, "a       b"]);
    let result = tools.render_result("draw", &"said".into(), 1_000, true).await;
    let said = r#"{"kind":"result","result":{"content":[{"type":"text","text":"said"}]},"width":1000,"expanded":true}"#;
    assert_eq!(result, [said, "a       b"]);
    assert_eq!(call_of(&session).await[..2], [r#"{"kind":"call","para"#, r#"meters":{"a":1},"wid"#]);
}

#[tokio::test]
async fn a_tool_may_leave_it_to_the_host_or_show_nothing() {
    let leaves = session(|_| Ok(None));
    assert_eq!(call_of(&leaves).await, ["draw: a=1"]);
    assert_eq!(result_of(&leaves).await, ["said"]);
    let request = RenderRequest::Call { parameters: json!({}), width: 80 };
    assert_eq!(leaves.tools().render("draw", request.clone()).await, None);
    assert_eq!(call_of(&session(|_| Ok(Some(Vec::new())))).await, [""; 0]);
}

#[tokio::test]
async fn a_render_that_fails_or_panics_is_the_hosts() {
    for session in [session(|_| Err(Failure::new("no paint"))), session(|_| panic!("asked for by a test"))] {
        assert_eq!(call_of(&session).await, ["draw: a=1"]);
        assert_eq!(result_of(&session).await, ["said"]);
    }
}

#[tokio::test]
async fn a_render_that_takes_too_long_is_the_hosts_and_no_other_starts_meanwhile() {
    let (let_go, gate) = mpsc::channel::<()>();
    let (started, starts) = mpsc::channel();
    let gate = std::sync::Mutex::new(gate);
    let session = session_within(Duration::from_millis(1), move |_| {
        started.send(()).unwrap();
        let _ = gate.lock().unwrap().recv();
        Ok(Some(vec!["own".to_owned()]))
    });
    for _ in 0..3 {
        assert_eq!(call_of(&session).await, ["draw: a=1"]);
    }
    // The first may not have begun in its time, and begins then.
    tokio::task::spawn_blocking(move || {
        starts.recv().unwrap();
        assert_eq!(starts.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(let_go);
        starts
    })
    .await
    .unwrap();
}

#[tokio::test]
async fn a_tool_that_was_too_slow_may_try_again() {
    let (let_go, gate) = mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let session = session_within(Duration::from_millis(50), move |_| {
        let _ = gate.lock().unwrap().recv();
        Ok(Some(vec!["own".to_owned()]))
    });
    assert_eq!(call_of(&session).await, ["draw: a=1"]);
    drop(let_go);
    while call_of(&session).await != ["own"] {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_unknown_tool_and_a_session_that_is_gone_are_the_hosts() {
    let session = session(|_| Ok(Some(vec!["own".to_owned()])));
    let tools = session.tools();
    assert_eq!(tools.render_call("drow", &json!({"a": 1}), 20).await, ["drow: a=1"]);
    assert_eq!(tools.render_result("drow", &"said".into(), 20, false).await, ["said"]);
    drop(session);
    assert_eq!(tools.render_call("draw", &json!({"a": 1}), 20).await, ["draw: a=1"]);
    assert_eq!(tools.render_call("resolve", &json!({"action": "apply"}), 80).await, ["Resolve: action=apply"]);
}

#[tokio::test]
async fn a_resolve_names_the_action_that_it_is_about() {
    let session = session(|_| Ok(None));
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (let_go, gate) = tokio::sync::oneshot::channel::<()>();
    let once = std::sync::Mutex::new(Some((begun, gate)));
    let staged = |label: &str| PendingAction::new(label, |_| async { Ok("".into()) }).source_tool_name("draw");
    let store = session.pending().unwrap();
    let one = store.push(staged("One")).unwrap();
    let waits = PendingAction::new("Two", move |_| {
        let once = once.lock().unwrap().take();
        async move {
            if let Some((begun, gate)) = once {
                begun.send(()).unwrap();
                let _ = gate.await;
            }
            Ok("".into())
        }
    });
    let two = store.push(waits).unwrap();
    let tools = session.tools();
    let resolve = async |id: Option<&str>| {
        let parameters = id.map_or(json!({"reason": "ok"}), |id| json!({"reason": "ok", "id": id}));
        let mut lines = tools.render_call("resolve", &parameters, 200).await;
        let line = lines.remove(0);
        line.replace(one.id(), "1").replace(two.id(), "2")
    };
    assert_eq!(resolve(None).await, "Resolve: Two (custom_tool) reason=ok");
    assert_eq!(resolve(Some("")).await, r#"Resolve: Two (custom_tool) id="" reason=ok"#);
    assert_eq!(resolve(Some(one.id())).await, "Resolve: One (draw) id=1 reason=ok");
    assert_eq!(resolve(Some("x")).await, "Resolve: id=x reason=ok");
    let resolving = session.resolve(ResolveRequest::apply("ok"));
    begins.await.unwrap();
    assert_eq!(resolve(None).await, "Resolve: reason=ok");
    assert_eq!(resolve(Some(two.id())).await, "Resolve: Two (custom_tool) id=2 reason=ok");
    drop(let_go);
    resolving.await;
    assert_eq!(resolve(None).await, "Resolve: One (draw) reason=ok");
}
