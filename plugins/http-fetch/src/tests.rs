use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolhost_plugin_testkit::{CallError, TestKit};

use super::*;

/// A server on this machine that answers each request as `answer` says to its path. Returns its address, as
/// `127.0.0.1:1234`.
async fn server(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let path = request(&mut stream).await;
            stream.write_all(&answer(&path)).await.unwrap();
        }
    });
    address
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

/// Reads a request to its end. Returns its path.
async fn request(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.contains("user-agent: http-fetch/"), "{head}");
    head.split(' ').nth(1).unwrap().to_owned()
}

/// An answer of HTTP with a body that ends with the connection.
fn http(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    [format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body.as_ref()].concat()
}

async fn kit() -> TestKit {
    TestKit::start(HttpFetch::new).await.unwrap()
}

async fn kit_with(settings: Value) -> TestKit {
    TestKit::builder().config(settings).start(HttpFetch::new).await.unwrap()
}

async fn fetch(kit: &TestKit, url: &str) -> AgentToolResult {
    kit.call("http_fetch", json!({"url": url})).await.unwrap()
}

async fn failure(kit: &TestKit, url: &str) -> String {
    kit.call_error("http_fetch", json!({"url": url})).await
}

#[tokio::test]
async fn a_page_is_answered_with_status_headers_and_its_source() {
    let page = "<p>Zürich</p>";
    let address = server(move |path| {
        assert_eq!(path, "/a?b=c");
        http("200 OK\r\nContent-Type: text/html\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 14", page)
    });
    let url = format!("http://{}/a?b=c", address.await);
    let kit = kit().await;
    let result = fetch(&kit, &url).await;

    let head = format!("200 OK\n{url}\ncontent-type: text/html\nx-two: 1\nx-two: 2\ncontent-length: 14\n");
    let details = json!({
        "url": url,
        "status": 200,
        "headers": {"content-type": "text/html", "x-two": "1\n2", "content-length": "14"},
        "bytesRead": 14,
        "truncated": false,
        "binary": false
    });
    let expected = AgentToolResult::text(head).with_content(Content::text(page)).with_details(details);
    assert_eq!(result, expected);
    assert_eq!(kit.update_texts(), ["200 OK, 14 bytes"]);
}

#[tokio::test]
async fn what_a_server_refuses_is_an_answer() {
    let address = server(|_| http("404 Not Found", "nothing here")).await;
    let url = format!("http://{address}/");
    let result = fetch(&kit().await, &url).await;
    assert_eq!((result.to_text(), result.is_error), (format!("404 Not Found\n{url}\n\nnothing here"), false));
}

#[tokio::test]
async fn a_long_body_is_cut_and_the_answer_says_so() {
    let long = |path: &str| {
        let length = if path == "/announced" { "\r\ncontent-length: 7" } else { "" };
        http(&format!("200 OK{length}"), "abcdéf")
    };
    let address = server(long).await;
    let kit = kit_with(json!({"maxBytes": 6})).await;

    let result = fetch(&kit, &format!("http://{address}/announced")).await;
    let note = "[only the first 6 of 7 bytes of the body were read, which is the limit]";
    let head = format!("200 OK\nhttp://{address}/announced\ncontent-length: 7\n{note}\n");
    assert_eq!(result.to_text(), format!("{head}\nabcdé"));
    assert_eq!(result.details.unwrap()["truncated"], true);

    let less = json!({"url": format!("http://{address}/"), "maxBytes": 5});
    let note = "[only the first 5 bytes of the body were read, which is the limit]";
    let text = kit.call_text("http_fetch", less).await;
    assert_eq!(text, format!("200 OK\nhttp://{address}/\n{note}\n\nabcd"), "a half character is left out");

    let more = json!({"url": format!("http://{address}/"), "maxBytes": 1000});
    let text = kit.call_text("http_fetch", more).await;
    assert!(text.contains("[only the first 6 bytes of the body were read, which is the limit]"), "{text}");
}

#[tokio::test]
async fn a_body_as_long_as_the_limit_is_whole() {
    let address = server(|_| http("200 OK", "abcdef")).await;
    let result = fetch(&kit_with(json!({"maxBytes": 6})).await, &format!("http://{address}/")).await;
    assert_eq!(result.to_text(), format!("200 OK\nhttp://{address}/\n\nabcdef"));
    assert_eq!(result.details.unwrap()["truncated"], false);
}

#[tokio::test]
async fn a_body_that_is_no_text_is_described() {
    let address = server(|path| match path {
        "/short" => http("200 OK\r\ncontent-type: image/png", b"\x89PNG\0"),
        "/long" => http("200 OK\r\ncontent-length: 10", b"\x89PNG\0\0\0\0\0\0"),
        _ => http("204 No Content", ""),
    });
    let (address, kit) = (address.await, kit_with(json!({"maxBytes": 8})).await);
    for (path, head, note) in [
        ("short", "200 OK", "content-type: image/png\n[the body is no text and is not shown; it has 5 bytes]"),
        (
            "long",
            "200 OK",
            "content-length: 10\n[the body is no text and is not shown; it has 10 bytes; only the first 8 of 10 bytes of \
             the body were read, which is the limit]",
        ),
        ("empty", "204 No Content", "[the body is empty]"),
    ] {
        let result = fetch(&kit, &format!("http://{address}/{path}")).await;
        assert_eq!(result.to_text(), format!("{head}\nhttp://{address}/{path}\n{note}\n"));
        assert_eq!(result.details.unwrap()["binary"], path != "empty");
    }
}

#[tokio::test]
async fn redirects_are_followed_within_bounds() {
    let address = server(|path| match path {
        "/elsewhere" => http("302 Found\r\nlocation: ftp://example.org/a", ""),
        "/0" => http("200 OK", "arrived"),
        step => {
            let next = step[1..].parse::<u32>().unwrap() - 1;
            http(&format!("302 Found\r\nlocation: /{next}"), "")
        }
    });
    let (address, kit) = (address.await, kit_with(json!({"maxRedirects": 2})).await);

    let result = fetch(&kit, &format!("http://{address}/2")).await;
    assert_eq!(result.to_text(), format!("200 OK\nhttp://{address}/0\n\narrived"));
    assert_eq!(
        failure(&kit, &format!("http://{address}/3")).await,
        format!(
            "http://{address}/3: error following redirect: redirected more than 2 times, the last time to \
             http://{address}/0"
        )
    );
    assert_eq!(
        failure(&kit, &format!("http://{address}/elsewhere")).await,
        format!(
            "http://{address}/elsewhere: error following redirect: redirected to ftp://example.org/a, which was not \
             fetched: its scheme is `ftp`, neither `http` nor `https`"
        )
    );
}

#[tokio::test]
async fn what_is_no_url_of_http_is_not_fetched() {
    let kit = kit().await;
    for (url, error) in [
        (
            "example.org",
            "`example.org` is no URL: relative URL without a base; give it whole, with `http://` or `https://`",
        ),
        (
            "file:///etc/passwd",
            "`file:///etc/passwd` was not fetched: its scheme is `file`, neither `http` nor `https`",
        ),
    ] {
        assert_eq!(failure(&kit, url).await, error);
    }
    assert_eq!(kit.update_texts(), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let (listener, address) = listen().await;
    drop(listener);
    let error = failure(&kit().await, &format!("http://{address}/")).await;
    let beginning = format!("http://{address}/: error sending request: client error (Connect): tcp connect error: ");
    assert!(error.starts_with(&beginning), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_not_waited_for() {
    let (_listener, address) = listen().await;
    let error = failure(&kit_with(json!({"timeLimitSeconds": 7})).await, &format!("http://{address}/")).await;
    assert_eq!(error, format!("http://{address}/: no answer within 7 s"));
}

/// Answers one request by part of a body. The task ends when the connection does.
async fn half(rest: &'static str) -> (String, tokio::task::JoinHandle<()>) {
    let (listener, address) = listen().await;
    let connection = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        request(&mut stream).await;
        stream.write_all(&http("200 OK\r\ncontent-length: 9", rest)).await.unwrap();
        // Whatever else comes, the end is that of the connection.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    (format!("http://{address}/"), connection)
}

#[tokio::test]
async fn what_arrived_in_time_is_answered() {
    let (url, _connection) = half("only").await;
    let kit = kit().await;
    let mut call = kit.begin("http_fetch", json!({"url": url}));
    assert_eq!(call.next_update().await.unwrap().to_text(), "200 OK, 9 bytes");
    // Nothing is left to happen but the end of the time.
    tokio::time::pause();
    let text = call.outcome().await.unwrap().to_text();
    let note = "[only 4 of 9 bytes of the body arrived within 30 s]";
    assert_eq!(text, format!("200 OK\n{url}\ncontent-length: 9\n{note}\n\nonly"));
}

#[tokio::test]
async fn a_cancelled_call_closes_its_connection() {
    let (url, connection) = half("only").await;
    let kit = kit().await;
    let mut call = kit.begin("http_fetch", json!({"url": url}));
    call.next_update().await.unwrap();
    call.cancel();
    assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "http_fetch".to_owned() }));
    tokio::time::timeout(Duration::from_secs(30), connection).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_that_breaks_is_told() {
    let address = server(|_| http("200 OK\r\ncontent-length: 9", "only")).await;
    let text = fetch(&kit().await, &format!("http://{address}/")).await.to_text();
    let note = "[the connection broke after 4 of 9 bytes of the body: error decoding response body: error reading a body \
                from connection: end of file before message length reached]";
    assert_eq!(text, format!("200 OK\nhttp://{address}/\ncontent-length: 9\n{note}\n\nonly"));
}

#[tokio::test]
async fn a_wrong_setting_fails_the_load() {
    for (settings, error) in [
        (json!({"maxBytes": "many"}), "the plugin's setting `maxBytes`: invalid type: string \"many\", expected usize"),
        (
            json!({"maxSize": 1}),
            "the plugin's setting `maxSize`: unknown field `maxSize`, expected one of `timeLimitSeconds`, `maxBytes`, \
             `maxRedirects`",
        ),
    ] {
        let refused = TestKit::builder().config(settings).start(HttpFetch::new).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("the factory of `http-fetch` failed: {error}"));
    }
}

#[tokio::test]
async fn a_host_is_told_that_it_only_reads_and_what_it_answers() {
    let definition = kit().await.definition("http_fetch").unwrap();
    assert_eq!((definition.effect, definition.parallel), (Effect::ReadOnly, true));
    let parameters = &definition.parameters;
    assert_eq!(parameters["required"], json!(["url"]));
    assert_eq!(parameters["properties"]["maxBytes"]["minimum"], 1);
    let output = definition.output_schema.unwrap();
    assert_eq!(output["required"], json!(["url", "status", "headers", "bytesRead", "truncated", "binary"]));
}
