//! A plugin may panic anywhere: its caller gets an error, and the host lives on.

use std::io;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost_loader::{EndReason, Session, SessionOptions};
use toolhost_tests::Fixture;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Pipe, apply, discard, host_of, labels, open, place, poll_once, session_of, store, texts};

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
    for (id, reason) in [("panic in the factory", &*panicked), ("error in the factory", "no licence")] {
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

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

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
    let report_expected =
        format!("ERROR panics: a tool was dropped and panicked at {place}: dropping the tool plugin=\"panics\"");
    assert_eq!(report, report_expected);
}
