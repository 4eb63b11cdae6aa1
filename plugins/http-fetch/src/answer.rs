//! What the model reads, and what programs do.

use std::collections::BTreeMap;

use serde_json::to_value;
use toolhost_plugin_sdk::prelude::*;

use crate::body::Body;
use crate::fetch::{End, Fetched};

/// The longest value of a header that is shown, in characters.
const HEADER_CHARACTERS: usize = 1_000;

/// What a fetch ended with.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Details {
    /// The URL that answered, after redirects.
    url: String,
    status: u16,
    /// By name, in lower case; the values of one that came several times are joined by line feeds.
    headers: BTreeMap<String, String>,
    /// How many bytes of the body were read.
    bytes_read: usize,
    /// Whether the body has more than was read.
    truncated: bool,
    /// Whether the body is no text, so that the answer does not show it.
    binary: bool,
}

/// The answer in two parts: what this plugin says, and what the server does, so that no page can pass for the former.
pub(crate) fn answer(fetched: &Fetched) -> ToolResult {
    let whole = fetched.end == End::Whole;
    let body = Body::of(&fetched.body, fetched.header("content-type"), whole);
    let details = to_value(details(fetched, body == Body::Binary))?;
    let mut head = head(fetched);
    let note = note(fetched, &body);
    if !note.is_empty() {
        head.push_str(&format!("\n[{note}]"));
    }
    head.push('\n');
    let result = AgentToolResult::text(head).with_details(details);
    Ok(match body {
        Body::Text(text) => result.with_content(Content::text(text)),
        Body::Empty | Body::Binary => result,
    })
}

fn details(fetched: &Fetched, binary: bool) -> Details {
    let mut headers = BTreeMap::<String, String>::new();
    for (name, value) in &fetched.headers {
        headers.entry(name.clone()).and_modify(|all| *all = format!("{all}\n{value}")).or_insert_with(|| value.clone());
    }
    Details {
        url: fetched.url.to_string(),
        status: fetched.status.as_u16(),
        headers,
        bytes_read: fetched.body.len(),
        truncated: fetched.end != End::Whole,
        binary,
    }
}

/// Status, URL and headers, a line each.
fn head(fetched: &Fetched) -> String {
    let mut lines = vec![fetched.status_line(), fetched.url.to_string()];
    lines.extend(fetched.headers.iter().map(|(name, value)| {
        let shown: String = value.chars().take(HEADER_CHARACTERS).collect();
        let more = if shown.len() < value.len() { "…" } else { "" };
        format!("{name}: {shown}{more}")
    }));
    lines.join("\n")
}

/// What the model has to know of the body; empty where the body says all.
fn note(fetched: &Fetched, body: &Body) -> String {
    let read = fetched.body.len();
    let of = fetched.announced.map(|all| format!(" of {all}")).unwrap_or_default();
    let why = match &fetched.end {
        End::Whole => None,
        End::Cut => Some(format!("only the first {read}{of} bytes of the body were read, which is the limit")),
        End::OutOfTime(limit) => {
            Some(format!("only {read}{of} bytes of the body arrived within {} s", limit.as_secs()))
        }
        End::Broken(why) => Some(format!("the connection broke after {read}{of} bytes of the body: {why}")),
    };
    let what = match body {
        Body::Text(_) => None,
        Body::Empty => (fetched.end == End::Whole).then(|| "the body is empty".to_owned()),
        Body::Binary => Some(match (&fetched.end, fetched.announced) {
            (End::Whole, _) => format!("the body is no text and is not shown; it has {read} bytes"),
            (_, Some(all)) => format!("the body is no text and is not shown; it has {all} bytes"),
            (_, None) => "the body is no text and is not shown".to_owned(),
        }),
    };
    what.into_iter().chain(why).collect::<Vec<_>>().join("; ")
}
