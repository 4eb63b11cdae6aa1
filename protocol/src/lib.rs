//! The words that cross between toolhost, its plugins and its clients as JSON.
//!
//! Only serde types live here. Two rules hold for all of them, since a plugin and its host may be years apart:
//! unknown fields are ignored, and every enumeration has a catch-all variant. Field names are camelCase.

#![forbid(unsafe_code)]

mod bytes;
mod change;
mod content;
mod create;
mod definition;
mod dependency;
mod event;
mod failure;
mod log;
mod path;
mod pending;
mod render;
mod resolve;
mod result;
pub mod service;
mod step;

pub use bytes::JsonBytes;
pub use change::{ChangeKind, FileChange};
pub use content::Content;
pub use create::{CreateRequest, PROTOCOL_VERSION};
pub use definition::{Effect, ToolDefinition, ToolHints};
pub use dependency::{Dependency, DependencyState, FileState};
pub use event::{Event, EventKind};
pub use failure::{CONFIG, Failure, PARAMETERS, STALE};
pub use log::{LogKind, LogRecord};
pub use path::JsonPath;
pub use pending::{PendingHead, PendingSummary, PushReceipt};
pub use render::RenderRequest;
pub use resolve::{Actor, RESOLVE, ResolveAction, ResolveDetails, ResolveRequest};
pub use result::AgentToolResult;
pub use step::SessionStep;
