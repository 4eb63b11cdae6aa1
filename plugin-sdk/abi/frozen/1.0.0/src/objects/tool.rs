//! One tool of a plugin.

use abi_stable::sabi_trait;
use abi_stable::std_types::{RBox, RVec};
use async_ffi::FfiFuture;

use super::Bytes;
use super::call::CallObject;

/// One tool in one session; the plugin implements it, the host calls it.
#[sabi_trait]
pub trait Tool: Send + Sync + 'static {
    /// The tool's `ToolDefinition`.
    ///
    /// `[any-thread]` Called once, right after the tool was made.
    fn definition(&self) -> RVec<u8>;

    /// Runs the tool. `params` is a JSON object that satisfies the definition's schema. Answers an `AgentToolResult`.
    ///
    /// `[any-thread]` Calls of one tool may overlap. Dropping the future is the hard cancel.
    fn execute(&self, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes>;

    /// Tells the tool of a step in its session's life. Answers null.
    ///
    /// `[any-thread]` One event at a time, in order.
    fn on_session(&self, json: RVec<u8>) -> FfiFuture<Bytes>;

    /// Renders a call or a result for a person. Answers lines, or null for the host's own rendering.
    ///
    /// `[any-thread]` Never blocks.
    #[sabi(last_prefix_field)]
    fn render(&self, json: RVec<u8>) -> Bytes;
}

/// A tool as it crosses.
pub type ToolObject = Tool_TO<RBox<()>>;
