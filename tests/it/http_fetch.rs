//! The plugin `http-fetch`, which has to reach the network whatever runtime its host has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::json;
use tokio::runtime::Builder;
use toolhost_core::{CallRequest, Cancellation, RunOptions, TurnEvent};
use toolhost_loader::{CallError, SessionOptions};
use toolhost_tests::Artifact;

use crate::support::{bounded, session_with};

/// Answers one request by these bytes, and waits until the connection is closed. A thread of its own does it: the host's
/// runtime may have no way to.
fn server(answer: &'static str) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let serve = move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut stream);
        stream.write_all(answer.as_bytes()).unwrap();
        // Whatever else comes, the end is that of the connection.
        let _ = stream.read_to_end(&mut Vec::new());
    };
    (url, std::thread::spawn(serve))
}

fn read_request(stream: &mut TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
}

async fn joined(thread: JoinHandle<()>) {
    bounded(tokio::task::spawn_blocking(|| thread.join().unwrap())).await.unwrap();
}

async fn fetches_and_stops() {
    let session = session_with(Artifact::HttpFetch, SessionOptions::new("test")).await;
    let (url, whole) = server("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nhello");
    let result = bounded(session.call("http_fetch", json!({"url": url}))).await.unwrap();
    let head = format!("200 OK\n{url}\ncontent-type: text/plain\ncontent-length: 5\n");
    assert_eq!(result.to_text(), format!("{head}\nhello"));
    joined(whole).await;

    let (url, half) = server("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe");
    let cancel = Cancellation::new();
    let calls = vec![CallRequest::new("1", "http_fetch", json!({"url": url}))];
    let mut turn = session.tools().run(calls, RunOptions::default().cancel(cancel.clone()));
    match bounded(turn.next()).await {
        Some(TurnEvent::Update { update, .. }) => assert_eq!(update.to_text(), "200 OK, 5 bytes"),
        other => panic!("{other:?}"),
    }
    cancel.cancel();
    match bounded(turn.next()).await {
        Some(TurnEvent::Done { outcome, .. }) => {
            assert_eq!(outcome, Err(CallError::Cancelled { tool: "http_fetch".to_owned() }));
        }
        other => panic!("{other:?}"),
    }
    // Only a connection that is closed lets it end.
    joined(half).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_on_a_host_with_several_threads() {
    fetches_and_stops().await;
}

#[test]
fn fetches_on_a_host_with_one_thread_and_without_input_and_output() {
    Builder::new_current_thread().enable_time().build().unwrap().block_on(fetches_and_stops());
}
