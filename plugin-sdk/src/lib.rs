//! Write a native tool plugin for toolhost.
//!
//! A plugin is a shared library with one or more tools that an agent's model calls by name. A tool that would change
//! something stages it first: the host shows a preview, and its `resolve` tool applies or discards it.
//!
//! # A first plugin
//!
//! `Cargo.toml` wants a library of type `cdylib`, this crate and serde:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! serde = { version = "1", features = ["derive"] }
//! toolhost-plugin-sdk = "0.1"
//! ```
//!
//! and `src/lib.rs` one trait and one macro:
//!
//! ```
//! //! Stages a batch rename that is applied or discarded later.
//! use toolhost_plugin_sdk::prelude::*;
//!
//! export_plugin!(|pi: CustomToolApi| BatchRenamePreview { pi });
//!
//! struct BatchRenamePreview { pi: CustomToolApi }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     /// Files to rename.
//!     files: Vec<String>,
//! }
//!
//! impl CustomTool for BatchRenamePreview {
//!     const NAME: &'static str = "batch_rename_preview";
//!     const LABEL: &'static str = "Batch Rename Preview";
//!     const DESCRIPTION: &'static str = "Previews renames and defers the commit to resolve";
//!     type Params = Params;
//!
//!     async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
//!         let n = params.files.len();
//!         self.pi.push_pending_action(
//!             PendingAction::new(format!("Batch rename: {n} files"), async |reason| {
//!                 Ok(format!("Applied batch rename. Reason: {reason}").into())
//!             })
//!             .source_tool_name(Self::NAME)
//!             .on_reject(async |reason| Ok(Some(format!("Discarded batch rename. Reason: {reason}").into()))),
//!         )?;
//!         Ok(format!("Prepared rename plan for {n} files. Call resolve to apply or discard.").into())
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! `cargo build` makes the file; `toolhost list --plugin target/debug/libmy_plugin.so` checks it.
//!
//! # Previews
//!
//! [`CustomToolApi::push_pending_action`] takes a [`PendingAction`] made of closures or anything that implements
//! [`StagedChange`], which reads better where there is state. See there for what makes a good one.
//!
//! # Async
//!
//! `tokio::time`, `fs`, `process`, `net` and `spawn` work inside `execute`, `apply` and `reject` without any set-up:
//! the SDK starts a runtime of the plugin's own on first use. A factory that needs it is `async`. A loop that computes
//! for long belongs on `tokio::task::spawn_blocking`, since a poll that blocks cannot be interrupted.
//!
//! # Failures
//!
//! `?` turns any error into a [`ToolError`], which the model gets as a failed result. A panic is caught and reported in
//! the same way. Keep `panic = "unwind"`, the default: a host refuses a plugin that was built to abort.

// The macro's expansion names this crate, also inside of it.
extern crate self as toolhost_plugin_sdk;

mod adapter;
mod api;
mod call;
mod context;
mod error;
mod export;
mod factory;
mod pending;
mod plugin;
mod tool;

pub use api::CustomToolApi;
pub use call::ToolCall;
pub use error::{ToolError, ToolResult};
pub use factory::{CustomToolFactory, IntoTools, forms};
pub use pending::{PendingAction, PendingActionId, RejectResult, StagedChange};
pub use tool::{AnyTool, CustomTool, NoParams, tool};
pub use toolhost_protocol::{AgentToolResult, ChangeKind, Content, Effect, FileChange};

#[doc(hidden)]
pub use export::__private;

/// Everything that a plugin usually needs: `use toolhost_plugin_sdk::prelude::*;`
pub mod prelude {
    pub use crate::{
        AgentToolResult, AnyTool, Content, CustomTool, CustomToolApi, Effect, NoParams, PendingAction, RejectResult,
        StagedChange, ToolCall, ToolError, ToolResult, export_plugin, tool,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
}
