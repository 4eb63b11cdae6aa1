//! What a factory may do, apart from the panics.

use std::time::Duration;

use serde_json::json;
use toolhost_loader::{Host, LoadLimits, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{ARTIFACTS, host_of, open, place, plugin, texts};

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
