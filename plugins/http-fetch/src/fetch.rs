//! The request, and what arrives of the answer.

use std::time::Duration;

use reqwest::{Response, StatusCode, Url};
use tokio::time::{Instant, timeout_at};
use toolhost_plugin_sdk::ToolError;

use crate::client::Connector;

/// The bounds of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    pub(crate) bytes: usize,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The URL that answered, after redirects.
    pub(crate) url: Url,
    pub(crate) status: StatusCode,
    /// In the server's order.
    pub(crate) headers: Vec<(String, String)>,
    /// How many bytes it says that the body has.
    pub(crate) announced: Option<u64>,
    /// As much of it as was read.
    pub(crate) body: Vec<u8>,
    pub(crate) end: End,
}

/// Why nothing more of a body was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Whole,
    /// It is longer than was asked for.
    Cut,
    OutOfTime(Duration),
    Broken(String),
}

impl Fetched {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }

    /// As `200 OK`.
    pub(crate) fn status_line(&self) -> String {
        status_line(self.status)
    }
}

fn status_line(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// Fetches a URL. `progress` hears of the status when it is there.
pub(crate) async fn fetch(
    connector: &Connector,
    url: &str,
    limits: Limits,
    progress: impl Fn(String),
) -> Result<Fetched, ToolError> {
    let url = connector.url(url)?;
    let deadline = Instant::now() + limits.time;
    let response = match timeout_at(deadline, connector.client().get(url.clone()).send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(ToolError::from(error.without_url()).context(url)),
        Err(_) => return Err(format!("{url}: no answer within {} s", limits.time.as_secs()).into()),
    };
    progress(format!("{}, {}", status_line(response.status()), size(response.content_length())));
    Ok(read(response, limits, deadline).await)
}

fn size(announced: Option<u64>) -> String {
    announced.map_or_else(|| "of unknown length".to_owned(), |bytes| format!("{bytes} bytes"))
}

async fn read(mut response: Response, limits: Limits, deadline: Instant) -> Fetched {
    // It shrinks while the body is read.
    let announced = response.content_length();
    let mut body = Vec::new();
    let end = loop {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                let room = limits.bytes - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    break End::Cut;
                }
            }
            Ok(Ok(None)) => break End::Whole,
            Ok(Err(error)) => break End::Broken(ToolError::from(error.without_url()).message().to_owned()),
            Err(_) => break End::OutOfTime(limits.time),
        }
    };
    let headers = response.headers().iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    });
    Fetched { url: response.url().clone(), status: response.status(), headers: headers.collect(), announced, body, end }
}
