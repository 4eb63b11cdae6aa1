//! A plugin may panic anywhere: its caller gets an error, and the host lives on.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost_core::SessionStep;
use toolhost_loader::{EndReason, Session, SessionOptions};
use toolhost_tests::Fixture;
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::support::{
    Pipe, apply, discard, host_of, in_process_of_its_own, labels, open, place, poll_once, session_of, store, texts,
};

async fn assert_alive(session: &Session) {
    assert_eq!(session.call("drop_panics", json!({})).await.unwrap().to_text(), "still here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_tool_is_a_failed_result() {
    let session = session_of(&[Fixture::Panics]).await;
    for (at, code, message) in [
        ("sync", r#"assert!(!matches!(params.at, Place::Sync)"#, "before the future"),
        ("before", r#"panic!("before an await")"#, "before an await"),
        ("after", r#"panic!("after an await")"#, "after an await"),
        ("noText", "panic_any(7)", "(the panic has no message)"),
        ("payload", r#"panic_any(Bomb2("payload"))"#, "(the panic has no message)"),
        ("local", r#"panic!("{}", self.0)"#, "dropping a local"),
        ("label", r#"panic!("in the label")"#, "in the label"),
        ("details", r#"panic!("in the details")"#, "in the details"),
        ("written", r#"panic!("in a value")"#, "in a value"),
    ] {
        let text =
            format!("tool `panics` of plugin `panics` panicked at {}: {message}", place("panics/src/lib.rs", code));
        let result = session.call("panics", json!({"at": at})).await.unwrap();
        let expected = json!({"content": [{"type": "text", "text": text}], "isError": true});
        assert_eq!(serde_json::to_value(result).unwrap(), expected, "{at}");
        assert_alive(&session).await;
    }
    assert!(!store(&session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_a_call_is_dropped_ends_with_the_call() {
    let (session, started) = (session_of(&[Fixture::Panics]).await, Pipe::new());
    let call = tokio::spawn(session.call("panics", json!({"at": "held", "started": started.path()})));
    started.told().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_alive(&session).await;

    // Also where it is dropped by a thread that runs no async code.
    let mut call = session.call("panics", json!({"at": "held"}));
    assert!(poll_once(&mut call).is_pending());
    std::thread::spawn(move || drop(call)).join().unwrap();
    drop(session.call("panics", json!({"at": "held"})));
    assert_alive(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_panics_as_it_is_dropped_ends_as_any_other() {
    let session = session_of(&[Fixture::Panics]).await;
    let push = async || session.call("panics", json!({"at": "action"})).await.unwrap().to_text();
    assert_eq!(push().await, "no panic");
    assert_eq!(apply(&session, "").await["content"][0]["text"], "applied");
    assert_eq!(push().await, "no panic");
    assert_eq!(discard(&session, "r").await["content"][0]["text"], "Discarded: explosive. Reason: r");
    assert_eq!(push().await, "no panic");
    drop(store(&session).pop());
    assert_eq!(push().await, "no panic");
    assert_eq!(labels(&session), ["explosive"]);
    assert_eq!(session.end(EndReason::Shutdown).await.discarded.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_action_that_is_refused_and_panics_as_it_is_dropped_is_only_refused() {
    let host = host_of(&[Fixture::Panics]).await;
    let session = open(&host, SessionOptions::new("test").without_store()).await;
    let result = session.call("panics", json!({"at": "action"})).await.unwrap();
    assert_eq!(result.to_text(), "Pending action store unavailable for custom tools in this runtime.");
    assert_alive(&session).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_factory_costs_its_plugin_its_tools_and_nothing_else() {
    let host = host_of(&[Fixture::Panics, Fixture::Second]).await;
    let path = host.plugins().next().unwrap().path.display().to_string();
    let panicked = format!(
        "panicked at {}: in the factory",
        place("panics/src/lib.rs", r#"assert!(pi.session_id() != "panic in"#)
    );
    let settings =
        format!("panicked at {}: in the settings", place("panics/src/lib.rs", r#"panic!("in the settings")"#));
    for (id, reason) in [
        ("panic in the factory", &*panicked),
        ("panic in the settings", &*settings),
        ("error in the factory", "no licence"),
    ] {
        let opened = host.session(SessionOptions::new(id)).await;
        let text = format!(
            "{path}: the factory of `panics` failed: {reason}; mend what the message names, or ask the plugin's \
             author (TH0701)"
        );
        assert_eq!(texts(&opened.errors), [text]);
        assert!(opened.session.tools().definition("panics").is_none());
        let staged = opened.session.call("second", json!({"label": "a"})).await.unwrap();
        assert_eq!(staged.to_text(), "staged second");
    }
    assert_alive(&open(&host, SessionOptions::new("no panic")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_an_apply_or_a_reject_names_the_plugin_and_the_place() {
    let session = session_of(&[Fixture::Panics]).await;
    for (at, code, message) in [
        ("resolveSync", r#"assert!(!matches!(at, Place::ResolveSync)"#, "before the future of a resolve"),
        ("resolveAfter", r#"assert!(!matches!(at, Place::ResolveAfter)"#, "after an await of a resolve"),
        ("resolveLocal", r#"panic!("{}", self.0)"#, "dropping a local of a resolve"),
    ] {
        let panicked = format!("plugin `panics` panicked at {}: {message}", place("panics/src/lib.rs", code));
        session.call("panics", json!({"at": at})).await.unwrap();
        for _ in 0..2 {
            assert_eq!(apply(&session, "").await["content"][0]["text"], format!("Apply failed: {panicked}"));
            assert_eq!(labels(&session), ["resolved"]);
        }
        let discarded = discard(&session, "").await;
        let text = format!("Discarded: resolved. Cleanup failed: {panicked}");
        assert_eq!(discarded["content"][0]["text"], text);
        assert!(labels(&session).is_empty());
        assert_alive(&session).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_of_a_task_that_a_tool_awaits_is_an_error_to_the_tool() {
    let session = session_of(&[Fixture::Panics]).await;
    let text = session.call("panics", json!({"at": "task"})).await.unwrap().to_text();
    // Between the two stands the task's number.
    assert!(text.starts_with("task ") && text.ends_with(" panicked with message \"in a task\""), "{text}");
    assert_alive(&session).await;
}

/// What a panic of this place in the fixture says.
fn panicked(code: &str, message: &str) -> String {
    format!("panicked at {}: {message}", place("panics/src/lib.rs", code))
}

/// What has no caller is logged, on threads of the host: only a subscriber of the whole process hears it.
#[test]
fn panics_that_nobody_awaits_are_logged_with_plugin_tool_and_place() {
    in_process_of_its_own("panics::panics_that_nobody_awaits_are_logged_with_plugin_tool_and_place", async {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
        let host = host_of(&[Fixture::Panics]).await;
        let session = open(&host, SessionOptions::new("test")).await;
        log.take();
        let of_plugin = |text: &str| format!("ERROR panics: {text} plugin=\"panics\" thread=");

        for (step, code, message) in [
            (SessionStep::Tree, "assert!(step != SessionStep::Tree", "before the future of a step"),
            (SessionStep::Compaction, "assert!(step != SessionStep::Compaction", "at a step"),
        ] {
            session.step(step).await;
            let warned = format!(
                " WARN toolhost_core::session::steps: a tool failed at a step of its session: {} plugin=\"panics\" \
                 tool=\"panics\"",
                panicked(code, message)
            );
            log.has([&*of_plugin(&panicked(code, message)), &*warned]);
        }

        let tools = session.tools();
        assert_eq!(tools.render_call("panics", &json!({"at": "sync"}), 80).await, ["Panics: at=sync"]);
        assert_eq!(tools.render_result("panics", &"text".into(), 80, false).await, ["text"]);
        let rendered = |what: &str| panicked(&format!("panic!(\"{what}\")"), what);
        let warned = |what: &str| {
            format!(
                " WARN toolhost_core::render: a tool cannot render, so that the host does: {} plugin=\"panics\" \
                 tool=\"panics\"",
                rendered(what)
            )
        };
        let (call, result) = ("rendering a call", "rendering a result");
        log.has([&*of_plugin(&rendered(call)), &*warned(call), &*of_plugin(&rendered(result)), &*warned(result)]);

        session.call("panics", json!({"at": "action"})).await.unwrap();
        drop(store(&session).pop());
        let text = log.take();
        assert!(text.contains("ERROR panics: the pending action \"explosive\" was dropped and panicked at "), "{text}");

        // What the factory made is there.
        let made = open(&host, SessionOptions::new("panic as the factory goes")).await;
        let going = panicked("assert!(!self.0.load(Ordering::Relaxed)", "dropping the factory");
        log.has([&*of_plugin(&going)]);
        assert_alive(&made).await;
    });
}

/// Counts what it is told, and panics at it.
#[derive(Clone, Default)]
struct Panicking(Arc<AtomicUsize>);

impl Panicking {
    fn panic(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("no log");
    }
}

impl<S: Subscriber> Layer<S> for Panicking {
    fn on_event(&self, _event: &Event<'_>, _context: Context<'_, S>) {
        self.panic();
    }

    fn on_new_span(&self, _attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        self.panic();
    }
}

#[test]
fn a_log_of_the_host_that_panics_ends_with_the_record() {
    in_process_of_its_own("panics::a_log_of_the_host_that_panics_ends_with_the_record", async {
        let log = Panicking::default();
        let filter = EnvFilter::new("off,logs=info");
        tracing::subscriber::set_global_default(Registry::default().with(log.clone().with_filter(filter))).unwrap();
        let session = session_of(&[Fixture::Logs]).await;
        for (how, told) in [("levels", 3), ("log", 2), ("levels", 3)] {
            assert!(!session.call("logs", json!({"how": how})).await.unwrap().is_error);
            assert_eq!(log.0.swap(0, Ordering::Relaxed), told, "{how}");
        }
    });
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn take(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }

    /// Each of its lines begins with the text at its place. Takes them away.
    fn has<const N: usize>(&self, expected: [&str; N]) {
        let text = self.take();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), N, "{text}");
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected), "{expected}\n{text}");
        }
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_tool_that_panics_as_its_session_goes_away_is_reported_to_the_log() {
    let session = session_of(&[Fixture::Panics]).await;
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).without_time().finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    drop(session);
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let place = place("panics/src/lib.rs", r#"panic!("dropping the tool")"#);
    let lines: Vec<&str> = text.lines().collect();
    let [panic, report] = lines[..] else { panic!("{text}") };
    let expected = format!("ERROR panics: panicked at {place}: dropping the tool plugin=\"panics\" thread=");
    assert!(panic.starts_with(&expected), "{text}");
    let report_expected = format!(
        "ERROR panics: the tool `drop_panics` was dropped and panicked at {place}: dropping the tool plugin=\"panics\""
    );
    assert_eq!(report, report_expected);
}
