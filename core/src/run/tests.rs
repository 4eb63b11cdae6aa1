use std::sync::Mutex;
use std::sync::mpsc as blocking;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use toolhost_protocol::{Event, EventKind, Failure, ResolveRequest, SessionStep, ToolDefinition};

use super::*;
use crate::{BoxFuture, CallContext, EventStream, Limits, NextEvent, PendingAction, SessionOptions, Tool, ToolOutcome};

type Body = Box<dyn Fn(CallContext) -> BoxFuture<ToolOutcome> + Send + Sync>;

struct Scripted {
    definition: ToolDefinition,
    body: Body,
}

impl Tool for Scripted {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        (self.body)(call)
    }
}

fn session() -> Session {
    Session::new(SessionOptions::new("test"), Handle::current())
}

fn add<F>(session: &Session, name: &str, parallel: bool, body: impl Fn(CallContext) -> F + Send + Sync + 'static)
where
    F: Future<Output = ToolOutcome> + Send + 'static,
{
    let mut definition = ToolDefinition::new(name);
    definition.parallel = parallel;
    let tool = Scripted { definition, body: Box::new(move |call| Box::pin(body(call))) };
    session.register(Arc::new(tool)).unwrap();
}

fn calls(calls: &[(&str, &str)]) -> Vec<CallRequest> {
    calls.iter().map(|(id, name)| CallRequest::new(*id, *name, json!({}))).collect()
}

fn resolve(id: &str) -> CallRequest {
    CallRequest::new(id, "resolve", json!({"action": "apply", "reason": "r"}))
}

/// The text of each call's outcome, in the order of the ends.
async fn outcomes(mut turn: Turn) -> Vec<(String, String)> {
    let mut outcomes = Vec::new();
    while let Some(event) = turn.next().await {
        if let TurnEvent::Done { call_id, outcome } = event {
            outcomes.push((call_id, outcome.map_or_else(|error| error.to_string(), |result| result.to_text())));
        }
    }
    outcomes
}

fn pair(id: &str, text: &str) -> (String, String) {
    (id.to_owned(), text.to_owned())
}

async fn event(events: &mut EventStream, wanted: impl Fn(&EventKind) -> bool) -> Event {
    loop {
        if let Some(NextEvent::Event(event)) = events.next().await
            && wanted(&event.kind)
        {
            return event;
        }
    }
}

#[tokio::test]
async fn calls_run_at_once_and_each_has_one_outcome() {
    let session = session();
    let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (a, b) = (first.clone(), second.clone());
    add(&session, "a", true, move |_| {
        let (first, second) = (a.clone(), b.clone());
        async move {
            first.notify_one();
            second.notified().await;
            Ok("a".into())
        }
    });
    add(&session, "b", true, move |_| {
        let (first, second) = (first.clone(), second.clone());
        async move {
            first.notified().await;
            second.notify_one();
            Err(Failure::new("b failed"))
        }
    });
    let turn = session.tools().run(calls(&[("1", "a"), ("2", "b"), ("3", "c")]), RunOptions::default());
    let mut ended = outcomes(turn).await;
    ended.sort();
    assert_eq!(ended, [pair("1", "a"), pair("2", "b failed"), pair("3", "no tool is named `c`")]);
}

#[tokio::test]
async fn updates_come_in_order_and_before_the_outcome() {
    let session = session();
    add(&session, "counts", true, |call| async move {
        for n in 0..20 {
            assert!(call.update(n.to_string().as_str().into()));
            tokio::task::yield_now().await;
        }
        let late = call.clone();
        tokio::spawn(async move { late.update("late".into()) });
        Ok("done".into())
    });
    let mut turn = session.tools().run(calls(&[("1", "counts")]), RunOptions::default());
    let mut seen = Vec::new();
    while let Some(event) = turn.next().await {
        seen.push(match event {
            TurnEvent::Update { update, .. } => update.to_text(),
            TurnEvent::Done { outcome, .. } => outcome.unwrap().to_text(),
        });
    }
    let expected: Vec<_> = (0..20).map(|n| n.to_string()).chain(["done".to_owned()]).collect();
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn a_tool_that_is_not_parallel_takes_one_call_at_a_time() {
    let session = session();
    let running = Arc::new(Mutex::new((0, 0)));
    let count = running.clone();
    add(&session, "one", false, move |_| {
        let count = count.clone();
        async move {
            let now = {
                let mut count = count.lock().unwrap();
                count.0 += 1;
                count.1 = count.1.max(count.0);
                count.0
            };
            tokio::task::yield_now().await;
            count.lock().unwrap().0 -= 1;
            Ok(now.to_string().into())
        }
    });
    let turn = session.tools().run(calls(&[("1", "one"), ("2", "one"), ("3", "one")]), RunOptions::default());
    assert_eq!(outcomes(turn).await.len(), 3);
    assert_eq!(running.lock().unwrap().1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_stop_when_asked_is_abandoned() {
    let session = session();
    add(&session, "obeys", true, |call| async move {
        call.cancellation().cancelled().await;
        Ok("stopped by itself".into())
    });
    add(&session, "ignores", true, |_| std::future::pending());
    let options = RunOptions::default().deadline(Duration::from_secs(3));
    let turn = session.tools().run(calls(&[("1", "obeys"), ("2", "ignores")]), options);
    let mut ended = outcomes(turn).await;
    ended.sort();
    let text = |tool: &str| format!("the call of `{tool}` did not end within 3 s and was cancelled");
    assert_eq!(ended, [pair("1", &text("obeys")), pair("2", &text("ignores"))]);
    // An await that never ends can be dropped; only a poll that does not end is left over.
    while session.abandoned_calls() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn cancelling_a_turn_ends_every_call_and_later_pushes_are_refused() {
    let session = session();
    let (refused, begun) = (Arc::new(Mutex::new(String::new())), Arc::new(Notify::new()));
    let (said, begins) = (refused.clone(), begun.clone());
    add(&session, "stages", true, move |call| {
        let (said, begins) = (said.clone(), begins.clone());
        async move {
            begins.notify_one();
            call.cancellation().cancelled().await;
            let late = call.push_pending_action(PendingAction::new("late", |_| async { Ok("".into()) }));
            *said.lock().unwrap() = late.unwrap_err().message;
            Ok("".into())
        }
    });
    let cancel = Cancellation::new();
    let turn = session.tools().run(calls(&[("1", "stages")]), RunOptions::default().cancel(cancel.clone()));
    begun.notified().await;
    cancel.cancel();
    assert_eq!(outcomes(turn).await, [pair("1", "the call of `stages` was cancelled")]);
    let text = "the tool call was cancelled, so nothing can be staged for it any more";
    assert_eq!(*refused.lock().unwrap(), text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_blocks_is_reported_and_later_calls_block_nobody() {
    let session = session();
    let (release, wait) = blocking::channel::<()>();
    let wait = Mutex::new(wait);
    add(&session, "blocks", true, move |_| {
        let _ = wait.lock().unwrap().recv();
        std::future::ready(Ok(std::thread::current().name().unwrap_or_default().into()))
    });
    let mut events = session.events();
    let turn = session.tools().run(calls(&[("1", "blocks")]), RunOptions::default());
    let slow = event(&mut events, |kind| matches!(kind, EventKind::SlowPoll { .. })).await;
    assert!(matches!(slow.kind, EventKind::SlowPoll { ref tool, .. } if tool == "blocks"));
    release.send(()).unwrap();
    assert_eq!(outcomes(turn).await.len(), 1);
    drop(release);
    assert!(session.tools().get("blocks").unwrap().blocks.load(Ordering::Relaxed));
    let again = session.tools().run(calls(&[("2", "blocks")]), RunOptions::default());
    assert_eq!(outcomes(again).await.len(), 1);
}

#[tokio::test]
async fn a_resolve_in_the_turn_of_its_preview_is_refused() {
    let session = session();
    add(&session, "stages", true, |call| async move {
        call.push_pending_action(PendingAction::new("Erase", |_| async { Ok("erased".into()) }).source_tool_name("s"))?;
        Ok("preview".into())
    });
    let mut requests = calls(&[("1", "stages")]);
    requests.insert(0, resolve("0"));
    let text = "Not resolved: Erase (s) was staged in this very turn, and nobody has read its preview yet. Read it, \
                then call resolve in your next turn.";
    let turn = session.tools().run(requests, RunOptions::default());
    assert_eq!(outcomes(turn).await, [pair("1", "preview"), pair("0", text)]);
    let next = session.tools().run(vec![resolve("2")], RunOptions::default());
    assert_eq!(outcomes(next).await, [pair("2", "erased")]);
}

#[tokio::test]
async fn several_resolves_of_a_turn_take_the_stack_in_order() {
    let session = session();
    for label in ["a", "b", "c"] {
        let action = PendingAction::new(label, move |_| async move { Ok(label.into()) });
        session.pending().unwrap().push(action).unwrap();
    }
    let turn = session.tools().run(vec![resolve("1"), resolve("2"), resolve("3")], RunOptions::default());
    assert_eq!(outcomes(turn).await, [pair("1", "c"), pair("2", "b"), pair("3", "a")]);
}

#[tokio::test]
async fn a_turn_that_is_dropped_stops_its_calls_but_no_apply() {
    let session = session();
    let stopped = Arc::new(Notify::new());
    let noted = stopped.clone();
    add(&session, "waits", true, move |call| {
        let noted = noted.clone();
        async move {
            call.cancellation().cancelled().await;
            noted.notify_one();
            Ok("".into())
        }
    });
    let mut events = session.events();
    let (begin, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (began, go) = (begun.clone(), begin.clone());
    let action = PendingAction::new("a", move |_| {
        let (began, go) = (began.clone(), go.clone());
        async move {
            began.notify_one();
            go.notified().await;
            Ok("applied".into())
        }
    });
    let id = session.pending().unwrap().push(action).unwrap().id().to_owned();
    let mut requests = calls(&[("1", "waits")]);
    requests.push(CallRequest::new("2", "resolve", json!({"action": "apply", "reason": "r", "id": id})));
    let turn = session.tools().run(requests, RunOptions::default());
    begun.notified().await;
    drop(turn);
    stopped.notified().await;
    begin.notify_one();
    event(&mut events, |kind| matches!(kind, EventKind::Applied { .. })).await;
    let late = session.resolve(ResolveRequest::apply("r").with_id(&id)).await;
    assert_eq!(late.result.to_text(), format!("Pending action {id} was already applied."));
}

#[tokio::test]
async fn a_result_that_is_too_large_is_cut() {
    let options = SessionOptions::new("test").limits(Limits::default().with_result_bytes(4));
    let session = Session::new(options, Handle::current());
    add(&session, "long", true, |_| async { Ok("123456".into()) });
    let note = "[2 of the 6 bytes of this result were cut. Ask for less, or for a part of it.]";
    let result = session.call("long", json!({})).await.unwrap();
    assert_eq!(result.to_text(), format!("1234\n{note}"));
}

#[tokio::test]
async fn an_update_that_is_too_large_is_cut_too() {
    let options = SessionOptions::new("test").limits(Limits::default().with_result_bytes(4));
    let session = Session::new(options, Handle::current());
    add(&session, "streams", true, |call| async move {
        assert!(call.update("123456".into()));
        Ok("".into())
    });
    let mut call = session.call("streams", json!({}));
    let update = call.next_update().await.unwrap();
    assert_eq!(
        update.to_text(),
        "1234\n[2 of the 6 bytes of this result were cut. Ask for less, or for a part of it.]"
    );
}

#[tokio::test]
async fn tools_have_so_many_actions_pending_and_no_more() {
    let limits = Limits::default().with_pending(2).with_action_bytes(30);
    let session = Session::new(SessionOptions::new("test").limits(limits), Handle::current());
    let push = |details: Value| {
        let action = PendingAction::new("x", |_| async { Ok("".into()) }).details(details);
        session.downgrade().push_pending_action(0, action).map(drop).map_err(|error| error.to_string())
    };
    let too_many =
        Err("2 actions are pending, which are as many as there may be, so nothing was staged; resolve some first"
            .to_owned());
    assert_eq!((push(json!(1)), push(json!(2)), push(json!(3))), (Ok(()), Ok(()), too_many));
    assert!(session.resolve(ResolveRequest::apply("r")).await.status.is_success());
    let too_large =
        Err("the action's details and dependencies have 32 bytes, and 30 are the most, so nothing was staged; \
         leave long texts and diffs out of its `changes`"
            .to_owned());
    assert_eq!((push(json!("x".repeat(28))), push(json!("x".repeat(26)))), (too_large, Ok(())));
    // A program that embeds the session answers for itself.
    let store = session.pending().unwrap();
    store.push(PendingAction::new("own", |_| async { Ok("".into()) })).unwrap();
    assert_eq!(store.list().len(), 3);
}

#[tokio::test]
async fn a_set_outlives_its_session_without_keeping_it() {
    let session = session();
    add(&session, "a", true, |_| async { Ok("a".into()) });
    let tools = session.tools();
    drop(session);
    let ended = outcomes(tools.run(calls(&[("1", "a")]), RunOptions::default())).await;
    assert_eq!(ended, [pair("1", "the session `` has ended")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_left_behind_lets_the_next_one_of_its_tool_begin() {
    let options = SessionOptions::new("test").limits(Limits::default().with_grace(Duration::from_millis(1)));
    let session = Session::new(options, Handle::current());
    let (release, wait) = blocking::channel::<()>();
    let (wait, begun) = (Mutex::new(Some(wait)), Arc::new(Notify::new()));
    let began = begun.clone();
    add(&session, "one", false, move |_| {
        began.notify_one();
        // Only the first call blocks.
        let blocked = wait.lock().unwrap().take();
        let _ = blocked.map(|wait| wait.recv());
        std::future::ready(Ok("ran".into()))
    });
    let cancel = Cancellation::new();
    let turn = session.tools().run(calls(&[("1", "one")]), RunOptions::default().cancel(cancel.clone()));
    begun.notified().await;
    cancel.cancel();
    assert_eq!(outcomes(turn).await, [pair("1", "the call of `one` was cancelled")]);
    let next = session.tools().run(calls(&[("2", "one")]), RunOptions::default());
    assert_eq!(outcomes(next).await, [pair("2", "ran")]);
    drop(release);
}

/// Hears of steps, and blocks at each until it is released.
struct Blocks(ToolDefinition, Mutex<blocking::Receiver<()>>);

impl Tool for Blocks {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, _call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async { Ok("".into()) })
    }

    fn watches_session(&self) -> bool {
        true
    }

    fn on_session(&self, _step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        let _ = self.1.lock().unwrap().recv();
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_tool_that_blocks_at_a_step_holds_up_no_session() {
    let options = SessionOptions::new("test").limits(Limits::default().with_step(Duration::from_millis(1)));
    let session = Session::new(options, Handle::current());
    let (release, wait) = blocking::channel::<()>();
    session.register(Arc::new(Blocks(ToolDefinition::new("blocks"), Mutex::new(wait)))).unwrap();
    assert!(session.step(SessionStep::Start).await.is_empty());
    drop(release);
}

/// Refuses once its switch is set; its body fails the test.
struct Refuses(ToolDefinition, std::sync::atomic::AtomicBool);

impl Tool for Refuses {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn refusal(&self) -> Option<String> {
        self.1.load(std::sync::atomic::Ordering::SeqCst).then(|| "it is blocked".to_owned())
    }

    fn execute(&self, _call: CallContext) -> BoxFuture<ToolOutcome> {
        self.1.store(true, std::sync::atomic::Ordering::SeqCst);
        Box::pin(async { Ok("ran".into()) })
    }
}

#[tokio::test]
async fn a_tool_that_refuses_is_not_run_and_the_program_is_told() {
    let session = session();
    session.register(Arc::new(Refuses(ToolDefinition::new("t"), false.into()))).unwrap();
    let ran = outcomes(session.tools().run(calls(&[("1", "t")]), RunOptions::default())).await;
    assert_eq!(ran, [("1".to_owned(), "ran".to_owned())]);
    let refused = outcomes(session.tools().run(calls(&[("2", "t")]), RunOptions::default())).await;
    assert_eq!(refused, [("2".to_owned(), "`t` was not called: it is blocked".to_owned())]);
    let error = CallError::Refused { tool: "t".to_owned(), reason: "it is blocked".to_owned() };
    assert_eq!(session.call("t", json!({})).await, Err(error));
}
