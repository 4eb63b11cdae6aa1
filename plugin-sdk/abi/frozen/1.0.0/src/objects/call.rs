//! One running tool call.

use abi_stable::sabi_trait;
use abi_stable::std_types::{RBox, RVec};
use async_ffi::FfiFuture;

/// One tool call, as the tool sees it; the host implements it, the plugin calls it.
#[sabi_trait]
pub trait Call: Send + Sync + Clone + 'static {
    /// The call's id, unique in the process and never 0.
    ///
    /// `[any-thread]`
    fn id(&self) -> u64;

    /// Streams a partial `AgentToolResult`. False once the call's result was taken: nothing was streamed then.
    ///
    /// `[any-thread]` Never blocks.
    fn update(&self, json: RVec<u8>) -> bool;

    /// Whether the host asks the tool to stop.
    ///
    /// `[any-thread]` Cheap enough for a loop.
    fn is_cancelled(&self) -> bool;

    /// Ends when the host asks the tool to stop; never, where it does not.
    ///
    /// `[any-thread]` The future may be dropped at any time.
    #[sabi(last_prefix_field)]
    fn cancelled(&self) -> FfiFuture<()>;
}

/// A call as it crosses.
pub type CallObject = Call_TO<RBox<()>>;
