//! The words that cross between toolhost, its plugins and its clients as JSON.
//!
//! Only serde types live here. Two rules hold for all of them, since a plugin and its host may be years apart:
//! unknown fields are ignored, and every enumeration has a catch-all variant. Field names are camelCase.

#![forbid(unsafe_code)]

mod change;
mod content;
mod create;
mod definition;
mod dependency;
mod event;
mod failure;
mod path;
mod pending;
mod resolve;
mod result;
mod step;

pub use change::{ChangeKind, FileChange};
pub use content::Content;
pub use create::{CreateRequest, PROTOCOL_VERSION};
pub use definition::{Effect, ToolDefinition};
pub use dependency::{Dependency, DependencyState, FileState};
pub use event::{Event, EventKind};
pub use failure::{Failure, PARAMETERS, STALE};
pub use path::JsonPath;
pub use pending::{PendingHead, PendingSummary, PushReceipt};
pub use resolve::{Actor, RESOLVE, ResolveAction, ResolveDetails, ResolveRequest};
pub use result::AgentToolResult;
pub use step::SessionStep;
