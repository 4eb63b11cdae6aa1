//! Write a native tool plugin for toolhost.
//!
//! A plugin is a shared library with one or more tools that an agent's model calls by name. A tool that would change
//! something stages it first: the host shows a preview, and its `resolve` tool applies or discards it.
//!
//! # A first plugin
//!
//! `Cargo.toml` wants a library of type `cdylib`, this crate (by the path of a checkout) and serde:
//!
//! ```toml
//! [package]
//! name = "my-plugin"
//! version = "0.1.0"
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! serde = { version = "1", features = ["derive"] }
//! toolhost-plugin-sdk = { path = "../toolhost/plugin-sdk" }
//! ```
//!
//! and `src/lib.rs` one trait and one macro:
//!
//! ```
//! //! Removes a file, after a preview.
//! use std::{fs, future::ready, path::PathBuf};
//! use toolhost_plugin_sdk::prelude::*;
//!
//! export_plugin!(|pi: CustomToolApi| RemoveFile { pi });
//!
//! struct RemoveFile { pi: CustomToolApi }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     /// The file to remove, relative to the session's directory.
//!     path: PathBuf,
//! }
//!
//! impl CustomTool for RemoveFile {
//!     const NAME: &'static str = "remove_file";
//!     const LABEL: &'static str = "Remove File";
//!     const DESCRIPTION: &'static str = "Previews the removal of a file and defers it to resolve";
//!     const EFFECT: Effect = Effect::Stages;
//!     type Params = Params;
//!
//!     async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
//!         let path = self.pi.cwd().join(&params.path);
//!         let old = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
//!         let action = PendingAction::new(format!("Remove {}", params.path.display()), {
//!             let path = path.clone();
//!             move |_reason| ready(fs::remove_file(&path).map(|()| "Removed.".into()).map_err(ToolError::from))
//!         });
//!         let changes = Changes::new().delete(&path, &old);
//!         self.pi.push_pending_action(action.source_tool_name(Self::NAME).changes(changes))?;
//!         Ok(format!("Would remove {} ({} bytes).", params.path.display(), old.len()).into())
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! `cargo build` makes the file; `toolhost list --plugin target/debug/libmy_plugin.so` checks it as a host does.
//!
//! # Several tools
//!
//! The argument of [`export_plugin!`] is a factory, which a host calls once per session. It may return one tool, a `Vec`
//! or a tuple of them, a `Result`, or a future of any of these; [`tool`] forgets a tool's type, for a `Vec` of several:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Count;
//! # impl CustomTool for Count {
//! #     const NAME: &'static str = "count";
//! #     const LABEL: &'static str = "Count";
//! #     const DESCRIPTION: &'static str = "Counts";
//! #     type Params = NoParams;
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! # }
//! # struct Erase { _pi: CustomToolApi }
//! # impl CustomTool for Erase {
//! #     const NAME: &'static str = "erase";
//! #     const LABEL: &'static str = "Erase";
//! #     const DESCRIPTION: &'static str = "Erases";
//! #     type Params = NoParams;
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! # }
//! export_plugin!(async |pi: CustomToolApi| -> Result<Vec<AnyTool>, ToolError> {
//!     // An async factory may read files or ask the network; `?` fails the load with a message.
//!     Ok(vec![tool(Count), tool(Erase { _pi: pi })])
//! });
//! # fn main() {}
//! ```
//!
//! # Previews
//!
//! [`CustomToolApi::push_pending_action`] takes a [`PendingAction`] made of closures, or anything that implements
//! [`StagedChange`], which reads better where there is state; see there for what makes a good one. [`Changes`] makes the
//! list that a host shows as a diff, and what it verifies before it applies. Several actions are resolved last first, so
//! stage steps that build on each other as one action.
//!
//! # Progress and cancellation
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Slow;
//! # impl CustomTool for Slow {
//! #     const NAME: &'static str = "slow";
//! #     const LABEL: &'static str = "Slow";
//! #     const DESCRIPTION: &'static str = "Takes its time";
//! #     type Params = NoParams;
//! async fn execute(&self, _params: NoParams, call: ToolCall) -> ToolResult {
//!     for step in 1..=3 {
//!         call.update(format!("step {step} of 3"));
//!         tokio::select! {
//!             () = tokio::time::sleep(std::time::Duration::from_millis(1)) => {}
//!             () = call.cancelled() => return Err("stopped".into()),
//!         }
//!     }
//!     Ok("done".into())
//! }
//! # }
//! ```
//!
//! A tool that is asked to stop should return soon, with whatever result: its caller has stopped waiting for it.
//!
//! # Async
//!
//! `tokio::time`, `fs`, `process`, `net` and `spawn` work inside `execute`, `apply` and `reject` without any set-up: the
//! SDK starts a runtime of the plugin's own on first use. The plugin depends on tokio itself, with the features that it
//! uses. A factory that needs tokio is `async`. A loop that computes for long belongs on
//! `tokio::task::spawn_blocking`, since a poll that blocks cannot be interrupted.
//!
//! # Failures
//!
//! `?` turns any error into a [`ToolError`], which the model gets as a failed result; say in it which file or which
//! parameter it is about. A panic is caught and reported in the same way. Keep `panic = "unwind"`, the default: a host
//! refuses a plugin that was built to abort.
//!
//! # Shipping
//!
//! The file that `cargo build --release` makes is all there is to ship. `lto = "fat"`, `strip = true` and
//! `opt-level = "s"` in the release profile make it several times smaller.

// The macro's expansion names this crate, also inside of it.
extern crate self as toolhost_plugin_sdk;

mod adapter;
mod api;
mod bridge;
mod call;
mod changes;
mod context;
mod dynamic;
mod error;
mod exec;
mod export;
mod factory;
mod linked;
mod parameters;
mod pending;
mod plugin;
mod schema;
mod tool;
mod ui;
mod view;

pub use api::CustomToolApi;
pub use call::ToolCall;
pub use changes::{Changes, file_dependency};
pub use context::Scoped;
pub use dynamic::DynamicTool;
pub use error::{ToolError, ToolResult};
pub use exec::{ExecOptions, ExecOutput};
pub use factory::{CustomToolFactory, IntoTools, SingleTool, forms};
pub use linked::{LinkedPlugin, link};
pub use parameters::Parameters;
pub use pending::{PendingAction, PendingActionId, RejectResult, StagedChange};
pub use schema::schema_of;
pub use tool::{AnyTool, CustomTool, NoParams, tool};
pub use toolhost_protocol::service::{NoticeLevel, SessionState};
pub use toolhost_protocol::{
    AgentToolResult, ChangeKind, Content, Dependency, DependencyState, Effect, FileChange, FileState, SessionStep,
};
pub use ui::Ui;
pub use view::View;

#[doc(hidden)]
pub use export::__private;

/// Everything that a plugin usually needs: `use toolhost_plugin_sdk::prelude::*;`
pub mod prelude {
    pub use crate::{
        AgentToolResult, AnyTool, ChangeKind, Changes, Content, CustomTool, CustomToolApi, DynamicTool, Effect,
        ExecOptions, ExecOutput, LinkedPlugin, NoParams, NoticeLevel, PendingAction, RejectResult, SessionStep,
        StagedChange, ToolCall, ToolError, ToolResult, View, export_plugin, linked_plugin, schema_of, tool,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
    pub use tracing;
}
