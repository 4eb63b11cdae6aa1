//! What a factory may do, apart from the panics.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolhost_loader::{Host, LoadLimits, Session, SessionOptions};
use toolhost_plugin_sdk::prelude::{AnyTool, CustomTool, CustomToolApi, ToolError, tool};
use toolhost_plugin_sdk::{CustomToolFactory, link};
use toolhost_tests::Fixture;

use crate::support::{ARTIFACTS, host_of, open, place, plugin, texts};
use tools::Named;

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_may_await() {
    let host = host_of(&[Fixture::Factory]).await;
    let session = open(&host, SessionOptions::new("a")).await;
    assert_eq!(session.call("made", json!({})).await.unwrap().to_text(), "made");
}

#[tokio::test]
async fn a_factory_may_await_on_a_host_with_one_thread() {
    let host = host_of(&[Fixture::Factory]).await;
    let session = open(&host, SessionOptions::new("a")).await;
    assert_eq!(session.call("made", json!({})).await.unwrap().to_text(), "made");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_fails_or_panics_after_an_await_says_so() {
    let host = host_of(&[Fixture::Factory]).await;
    let path = plugin(Fixture::Factory).display().to_string();
    let panicked =
        format!("panicked at {}: after an await", place("factory/src/lib.rs", r#"panic!("after an await")"#));
    for (id, reason) in [("fails", "no licence"), ("panics", &*panicked)] {
        let opened = host.session(SessionOptions::new(id)).await;
        let text = format!(
            "{path}: the factory of `factory` failed: {reason}; mend what the message names, or ask the plugin's \
             author (TH0701)"
        );
        assert_eq!(texts(&opened.errors), [text]);
        assert!(opened.session.tools().is_empty());
    }
}

#[test]
fn a_factory_that_hangs_is_given_up_and_does_not_hold_up_the_end_of_the_program() {
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(give_up());
        // Waits for the threads of the runtime that are at work.
        drop(runtime);
        ended.send(()).unwrap();
    });
    end.recv_timeout(Duration::from_secs(60)).expect("the factory was given up, and its thread ends");
}

async fn give_up() {
    let mut limits = LoadLimits::default();
    limits.factory = Duration::from_millis(20);
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache")).limits(limits);
    let host = builder.plugin(plugin(Fixture::Factory)).build().await.unwrap();
    let opened = host.session(SessionOptions::new("hangs")).await;
    let text = format!(
        "{}: the factory of `factory` did not end within 0.02 s; mend what the message names, or ask the plugin's \
         author (TH0702)",
        plugin(Fixture::Factory).display()
    );
    assert_eq!(texts(&opened.errors), [text]);
    assert!(opened.session.tools().is_empty());
}

/// The names of a session's tools, each of which says its own.
async fn names(session: &Session) -> Vec<String> {
    let names: Vec<String> = session.tools().all().map(|tool| tool.name.clone()).collect();
    for name in &names {
        assert_eq!(session.call(name, json!({})).await.unwrap().to_text(), *name);
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_returns_every_form_one_within_the_other() {
    let host = host_of(&[Fixture::Forms]).await;
    let session = open(&host, SessionOptions::new("a")).await;
    let expected =
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"];
    assert_eq!(names(&session).await, expected);

    let opened = host.session(SessionOptions::new("fails")).await;
    let text = format!(
        "{}: the factory of `forms` failed: no licence; mend what the message names, or ask the plugin's author (TH0701)",
        plugin(Fixture::Forms).display()
    );
    assert_eq!(texts(&opened.errors), [text]);
}

#[path = "../fixtures/forms/src/tools.rs"]
mod tools;

/// The names of the tools that a factory makes for a session, or why it makes none. It is linked: a file has but one.
async fn made<M: 'static>(factory: impl CustomToolFactory<M>) -> Result<Vec<String>, String> {
    let host = Host::builder().linked(link("linked", "1.0.0", factory)).build().await.unwrap();
    let opened = host.session(SessionOptions::new("an id")).await;
    match &opened.errors[..] {
        [] => Ok(names(&opened.session).await),
        [error] => Err(error.kind.to_string()),
        errors => panic!("{errors:?}"),
    }
}

fn function(_: CustomToolApi) -> tools::One {
    tools::One
}

async fn later(_: CustomToolApi) -> Result<(tools::One, Vec<AnyTool>), ToolError> {
    tokio::task::yield_now().await;
    Ok((tools::One, vec![tool(Named("two"))]))
}

fn hidden_type(_: CustomToolApi) -> impl CustomTool {
    tools::One
}

fn future(_: CustomToolApi) -> impl Future<Output = tools::One> + Send {
    std::future::ready(tools::One)
}

async fn fails(_: CustomToolApi) -> Result<tools::One, std::io::Error> {
    Err(std::io::Error::other("no key"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_is_a_factory() {
    let one = Ok(vec!["one".to_owned()]);
    assert_eq!(made(function).await, one);
    assert_eq!(made(hidden_type).await, one);
    assert_eq!(made(future).await, one);
    assert_eq!(made(|_: CustomToolApi| tools::One).await, one);
    assert_eq!(made(async |_: CustomToolApi| tools::One).await, one);
    assert_eq!(made(|_: CustomToolApi| async { tools::One }).await, one);
    assert_eq!(made(|_: CustomToolApi| tool(tools::One)).await, one);
    assert_eq!(made(|_: CustomToolApi| (tools::One,)).await, one);
    assert_eq!(made(|_: CustomToolApi| vec![tools::One]).await, one);
    assert_eq!(made(|_: CustomToolApi| vec![tool(tools::One)]).await, one);
    assert_eq!(made(|_: CustomToolApi| Ok::<_, ToolError>(tools::One)).await, one);
    assert_eq!(made(async |_: CustomToolApi| Ok::<_, std::fmt::Error>(vec![tools::One])).await, one);
    assert_eq!(made(|_: CustomToolApi| Named("one")).await, one);
    assert_eq!(made(async |_: CustomToolApi| vec![tool(Named("one"))]).await, one);

    let two = Ok(vec!["one".to_owned(), "two".to_owned()]);
    assert_eq!(made(later).await, two);
    assert_eq!(made(|_: CustomToolApi| (tools::One, Named("two"))).await, two);
    assert_eq!(made(|_: CustomToolApi| vec![Named("one"), Named("two")]).await, two);
    assert_eq!(made(|_: CustomToolApi| vec![tool(tools::One), tool(Named("two"))]).await, two);

    assert_eq!(made(|_: CustomToolApi| Vec::<AnyTool>::new()).await, Ok(vec![]));
    let failed = |text: &str| Err(format!("the factory of `linked` failed: {text}"));
    assert_eq!(made(fails).await, failed("no key"));
    assert_eq!(made(|_: CustomToolApi| Err::<tools::One, _>("no luck")).await, failed("no luck"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_runs_once_for_each_session_and_keeps_what_it_captured() {
    let runs = Arc::new(Mutex::new(Vec::new()));
    let seen = runs.clone();
    let factory = move |pi: CustomToolApi| {
        seen.lock().unwrap().push(pi.session_id().to_owned());
        tools::One
    };
    let host = Host::builder().linked(link("linked", "1.0.0", factory)).build().await.unwrap();
    assert!(runs.lock().unwrap().is_empty());
    for id in ["a", "b"] {
        assert_eq!(names(&open(&host, SessionOptions::new(id)).await).await, ["one"]);
    }
    assert_eq!(*runs.lock().unwrap(), ["a", "b"]);
}
