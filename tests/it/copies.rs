//! How often a large text is copied on its way into a plugin and back.
//!
//! A linked plugin goes through the same adapters as a library, and allocates where it can be counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use toolhost_core::{AgentToolResult, BoxFuture, CallContext, Tool, ToolDefinition, ToolOutcome};
use toolhost_loader::{Host, Session, SessionOptions};
use toolhost_plugin_sdk::prelude::{CustomTool, CustomToolApi, JsonSchema, ToolCall, ToolResult, schemars};
use toolhost_tests::Fixture;

use crate::support::{open, session_of};

const LARGE: usize = 1024 * 1024;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Counts, per thread, how much is allocated in pieces that could hold the text.
struct Counting;

thread_local! {
    static LARGE_BYTES: Cell<usize> = const { Cell::new(0) };
}

fn count(size: usize) {
    if size >= LARGE {
        // A thread that ends may free its locals before it allocates for the last time.
        let _ = LARGE_BYTES.try_with(|bytes| bytes.set(bytes.get() + size));
    }
}

// SAFETY: everything is left to the system's allocator, whose guarantees these are.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller's guarantees are the system's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Params {
    text: String,
}

struct Echo;

impl CustomTool for Echo {
    const NAME: &'static str = "echo";
    const LABEL: &'static str = "Echo";
    const DESCRIPTION: &'static str = "Returns a text";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        Ok(params.text.into())
    }
}

/// A tool of the host's own that does what cannot be left out: JSON is written and read once each way.
struct Minimal(ToolDefinition);

impl Tool for Minimal {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        let written = serde_json::to_vec(call.parameters()).unwrap();
        Box::pin(async move {
            let params: Params = serde_json::from_slice(&written).unwrap();
            drop(written);
            let written = serde_json::to_vec(&AgentToolResult::text(params.text)).unwrap();
            Ok(serde_json::from_slice(&written).unwrap())
        })
    }
}

/// How much a call allocates for its text, which comes back as it was.
async fn allocated(session: &Session, tool: &str, parameters: Value) -> usize {
    let text = parameters["text"].as_str().unwrap().to_owned();
    let before = LARGE_BYTES.get();
    let result = session.call(tool, parameters).await.unwrap();
    let allocated = LARGE_BYTES.get() - before;
    assert!(result.to_text() == text);
    allocated
}

#[tokio::test]
async fn the_boundary_copies_nothing() {
    let host = Host::builder().linked(toolhost_plugin_sdk::link("echo", "1.0.0", |_: CustomToolApi| Echo));
    let linked = open(&host.build().await.unwrap(), SessionOptions::new("test")).await;
    let minimal = Session::new(SessionOptions::new("test"), Handle::current());
    let definition = linked.tools().definition("echo").unwrap().clone();
    minimal.register(Arc::new(Minimal(definition))).unwrap();

    let parameters = json!({"text": "x".repeat(LARGE)});
    let least = allocated(&minimal, "echo", parameters.clone()).await;
    assert!(least >= 4 * LARGE, "{least}");
    assert_eq!(allocated(&linked, "echo", parameters).await, least);
}

#[tokio::test]
async fn what_is_measured_is_what_it_says() {
    let session = session_of(&[Fixture::Measure]).await;
    let call = async |parameters| session.call("measure", parameters).await.unwrap().to_text();
    assert_eq!(call(json!({"work": "count", "text": "four", "lines": [1, 2], "deep": true})).await, "7");
    assert_eq!(call(json!({"work": "echo", "text": "four"})).await, "four");
    assert_eq!(call(json!({"work": "wait", "text": ""})).await, "");
    assert_eq!(call(json!({"work": "log", "text": ""})).await, "");
}
