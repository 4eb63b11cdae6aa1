//! A plugin with an allocator of its own: each side frees what it made, on whichever thread, and nothing stays behind.
//!
//! The plugin's allocator ends the process when it is given a block of another's, and so does the C library's.

use std::thread;

use serde_json::json;
use toolhost_core::Session;
use toolhost_loader::{EndReason, ResolveRequest, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{discard, host_of, labels, open, poll_once, session_of, store};

/// How often each case does the same. What one round left behind would be there as often in the end; what threads keep
/// for themselves is far less.
const ROUNDS: usize = 100;

/// How many blocks of the plugin's are in use, those of this very call included: the least of several counts, since
/// another thread may still be freeing some.
async fn blocks(session: &Session) -> usize {
    let mut least = usize::MAX;
    for _ in 0..10 {
        let result = session.call("blocks", json!({})).await.unwrap();
        least = least.min(result.to_text().parse().unwrap());
    }
    least
}

/// Has the plugin stream, return and stage a text.
async fn exchange(session: &Session, text: &str, actions: usize) {
    let mut call = session.call("exchange", json!({"text": text, "actions": actions}));
    assert_eq!(call.next_update().await.unwrap().to_text(), text);
    assert_eq!(call.await.unwrap().to_text(), text);
}

/// Stages one action and discards it, so that what is made once is made.
async fn warm_up(session: &Session) -> usize {
    exchange(session, "warm", 1).await;
    discard(session, "").await;
    blocks(session).await
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_any_size_cross_both_ways_and_leave_nothing_behind() {
    const SIZES: [usize; 5] = [0, 1, 100, 1000, 100_000];
    let session = session_of(&[Fixture::Allocator]).await;
    let before = warm_up(&session).await;
    assert!(before > 0, "it counts");
    for size in SIZES.repeat(ROUNDS / SIZES.len()) {
        exchange(&session, &"x".repeat(size), 1).await;
        let resolution = session.resolve(ResolveRequest::apply("since ")).await;
        let text = resolution.result.to_text();
        assert_eq!((text.len(), text.starts_with("since x")), ("since ".len() + size, size > 0));
    }
    let after = blocks(&session).await;
    assert!(after < before + ROUNDS, "{before} blocks before, {after} after {ROUNDS} rounds");
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_and_calls_may_be_dropped_on_any_thread_of_the_host() {
    let session = session_of(&[Fixture::Allocator]).await;
    let before = warm_up(&session).await;
    for _ in 0..ROUNDS {
        exchange(&session, "text", 4).await;
        let popped = store(&session).pop().unwrap();
        thread::spawn(move || drop(popped)).join().unwrap();
        let (applying, request) = (session.clone(), ResolveRequest::apply(""));
        assert!(tokio::spawn(async move { applying.resolve(request).await.status.is_success() }).await.unwrap());
        assert_eq!(labels(&session), ["action 1", "action 0"]);
        discard(&session, "").await;
        drop(store(&session).pop());

        let mut call = session.call("holds", json!({}));
        assert!(poll_once(&mut call).is_pending());
        thread::spawn(move || drop(call)).join().unwrap();
        drop(store(&session).pop().unwrap());
    }
    let after = blocks(&session).await;
    assert!(after < before + ROUNDS, "{before} blocks before, {after} after {ROUNDS} rounds");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pending_keeps_its_blocks_until_it_is_gone() {
    let session = session_of(&[Fixture::Allocator]).await;
    let before = warm_up(&session).await;
    exchange(&session, "text", ROUNDS).await;
    let during = blocks(&session).await;
    assert!(during >= before + ROUNDS, "{before} blocks before, {during} with {ROUNDS} actions");
    while let Some(popped) = store(&session).pop() {
        drop(popped);
    }
    let after = blocks(&session).await;
    assert!(after < before + ROUNDS, "{before} blocks before, {after} after {ROUNDS} actions");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_gives_back_all_that_was_made_for_it() {
    let host = host_of(&[Fixture::Allocator]).await;
    let first = open(&host, SessionOptions::new("first")).await;
    let before = warm_up(&first).await;
    for _ in 0..ROUNDS {
        let second = open(&host, SessionOptions::new("second")).await;
        exchange(&second, "text", 3).await;
        assert_eq!(second.end(EndReason::Shutdown).await.discarded.len(), 3);
        thread::spawn(move || drop(second)).join().unwrap();
    }
    let after = blocks(&first).await;
    assert!(after < before + ROUNDS, "{before} blocks before, {after} after {ROUNDS} sessions");
}
