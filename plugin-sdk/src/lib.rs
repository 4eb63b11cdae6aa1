#![doc = include_str!("../GUIDE.md")]

// The macro's expansion names this crate, also inside of it.
extern crate self as toolhost_plugin_sdk;

mod adapter;
mod api;
mod bridge;
mod call;
mod changes;
pub mod code;
mod context;
mod dynamic;
mod error;
mod exec;
mod export;
mod factory;
mod inside;
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
pub use toolhost_protocol::service::{KilledBy, NoticeLevel, SessionState};
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
        ExecOptions, ExecOutput, KilledBy, LinkedPlugin, NoParams, NoticeLevel, PendingAction, RejectResult,
        SessionStep, StagedChange, ToolCall, ToolError, ToolResult, View, export_plugin, linked_plugin, schema_of,
        tool,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
    pub use tracing;
}
