//! Sessions of agent tools: what a model may call, what waits for a decision, and the `resolve` tool between them.
//!
//! A [`Session`] owns tools and a [`PendingActionStore`]. A tool that would change something pushes a
//! [`PendingAction`] instead; `resolve` applies or discards the topmost one. This crate knows nothing of plugins:
//! whatever implements [`Tool`] takes part.
//!
//! ```
//! use std::sync::Arc;
//! use toolhost_core::{BoxFuture, CallContext, PendingAction, Session, SessionOptions, Tool, ToolOutcome};
//! use toolhost_core::{ResolveRequest, ToolDefinition};
//! use serde_json::json;
//!
//! struct Erase(ToolDefinition);
//!
//! impl Tool for Erase {
//!     fn definition(&self) -> &ToolDefinition {
//!         &self.0
//!     }
//!
//!     fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
//!         Box::pin(async move {
//!             call.push_pending_action(
//!                 PendingAction::new("Erase the board", |reason| async move {
//!                     Ok(format!("Erased, since {reason}.").into())
//!                 })
//!                 .source_tool_name("erase"),
//!             )?;
//!             Ok("The board would be empty.".into())
//!         })
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::new(SessionOptions::new("demo"), tokio::runtime::Handle::current());
//! session.register(Arc::new(Erase(ToolDefinition::new("erase"))))?;
//! let preview = session.call("erase", json!({})).await?;
//! assert_eq!(preview.to_text(), "The board would be empty.");
//! let applied = session.resolve(ResolveRequest::apply("it is full")).await;
//! assert_eq!(applied.result.to_text(), "Erased, since it is full.");
//! # Ok(()) }
//! ```

#![forbid(unsafe_code)]

mod approver;
mod call;
mod cancel;
mod catch;
mod events;
mod exec;
pub mod journal;
mod pending;
mod render;
mod resolve;
mod run;
mod services;
mod session;
mod steering;
mod sync;
mod tool;
mod validate;
mod wording;

pub use approver::{ApprovalRequest, Approver, AskerDecides, Decision, PersonDecides, Rules};
pub use call::{Call, CallContext, CallError};
pub use cancel::Cancellation;
pub use events::{EventStream, NextEvent};
pub use exec::LocalExec;
pub use pending::{Pending, PendingAction, PendingActionStore, PushError, RejectOutcome, preview_hash};
pub use resolve::{Resolution, ResolveFuture, ResolveStatus, resolve_definition};
pub use run::{CallRequest, RunOptions, Turn, TurnEvent};
pub use services::{Caller, HostServices, NoServices, UserInterface};
pub use session::{EndReason, EndReport, Limits, Session, SessionOptions, WeakSession};
pub use steering::{ChoiceSupport, ModelCapabilities, Steering, SteeringMode, ToolChoice};
pub use tool::{RegisterError, Tool, ToolOrigin, ToolOutcome, ToolSet};
pub use toolhost_protocol::service;
pub use toolhost_protocol::{
    Actor, AgentToolResult, Content, Dependency, Effect, Event, EventKind, Failure, FileChange, PendingSummary,
    RESOLVE, RenderRequest, ResolveAction, ResolveDetails, ResolveRequest, STALE, SessionStep, ToolDefinition,
};
pub use validate::{InvalidParameters, Violation};

/// A future on the heap that may move between threads.
pub type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;
