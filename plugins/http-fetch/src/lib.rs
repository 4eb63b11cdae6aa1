//! Fetches what is at a URL, for a model to read.
//!
//! ```text
//! $ toolhost call http_fetch --plugin libhttp_fetch.so url=http://localhost:8000/notes.txt
//! 200 OK
//! http://localhost:8000/notes.txt
//! content-type: text/plain; charset=utf-8
//! content-length: 14
//!
//! Buy new paint.
//! ```
//!
//! One GET request, of http or https, bounded in time, size and redirects. A body of text is answered as it is, HTML
//! too; any other is described. What a server answers is an answer, `404 Not Found` included; only where there is none,
//! the call fails. It reaches whatever the host's machine reaches, that machine itself included.
//!
//! The way of one call: [`client`], what connects, and where to; [`fetch`], the request and what arrives of the answer;
//! [`body`], whether that is text; [`answer`], what the model reads.
//!
//! Its settings, and what they are where nothing is set:
//!
//! ```json
//! {"timeLimitSeconds": 30, "maxBytes": 262144, "maxRedirects": 10}
//! ```

mod answer;
mod body;
mod client;
mod fetch;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::sync::OnceCell;
use toolhost_plugin_sdk::prelude::*;

use crate::answer::Details;
use crate::client::Connector;
use crate::fetch::Limits;

export_plugin!(HttpFetch::new);

struct HttpFetch {
    settings: Settings,
    /// Made by the first call, which an idle plugin does not pay for.
    connector: OnceCell<Connector>,
}

/// What whoever runs the host may set.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    /// How long a call may take, from the first connection to the last byte.
    time_limit_seconds: u64,
    /// How much of a body is read, whatever a call asks for.
    max_bytes: usize,
    /// How many redirects are followed.
    max_redirects: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { time_limit_seconds: 30, max_bytes: 256 * 1024, max_redirects: 10 }
    }
}

/// What is to be fetched.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(example = json!({"url": "https://example.org/"}))]
struct Params {
    /// The whole URL, with `http://` or `https://`.
    url: String,
    /// How many bytes of the body to read. Left out, and at most: what the host allows, 262144 unless it says otherwise.
    #[schemars(range(min = 1))]
    max_bytes: Option<usize>,
}

impl HttpFetch {
    fn new(pi: CustomToolApi) -> Result<Self, ToolError> {
        Ok(Self { settings: pi.config()?, connector: OnceCell::new() })
    }

    async fn fetch(&self, params: Params, call: &ToolCall) -> ToolResult {
        let redirects = self.settings.max_redirects;
        // To read a machine's certificates takes a while.
        let make = async || tokio::task::spawn_blocking(move || Connector::new(redirects)).await?;
        let connector = self.connector.get_or_try_init(make).await?;
        let limits = Limits {
            time: Duration::from_secs(self.settings.time_limit_seconds),
            bytes: params.max_bytes.unwrap_or(usize::MAX).min(self.settings.max_bytes),
        };
        let fetched = fetch::fetch(connector, &params.url, limits, |head| _ = call.update(head)).await?;
        answer::answer(&fetched)
    }
}

impl CustomTool for HttpFetch {
    const NAME: &'static str = "http_fetch";
    const LABEL: &'static str = "HTTP Fetch";
    const DESCRIPTION: &'static str = "Fetches what is at an http or https URL.\n\
        Answers the status, the headers and the text; HTML as it is, what is no text by its type and size. A long text \
        is cut, and the answer says so. Redirects are followed.";
    const EFFECT: Effect = Effect::ReadOnly;
    const PARALLEL: bool = true;
    type Params = Params;

    async fn execute(&self, params: Params, call: ToolCall) -> ToolResult {
        tokio::select! {
            answer = self.fetch(params, &call) => answer,
            () = call.cancelled() => Err("stopped, since the call was cancelled".into()),
        }
    }

    fn output_schema(&self) -> Option<Value> {
        Some(schema_of::<Details>())
    }
}
