//! A staged change: the plugin's two callbacks.

use abi_stable::sabi_trait;
use abi_stable::std_types::{RBox, RVec};
use async_ffi::FfiFuture;

use super::Bytes;

/// The callbacks of a pending action; the plugin implements it, the host calls it.
#[sabi_trait]
pub trait Change: Send + Sync + 'static {
    /// Makes the change. `reason` is UTF-8 text. Answers an `AgentToolResult`.
    ///
    /// `[any-thread]` Never twice at once; again only after a run that failed.
    fn apply(&self, reason: RVec<u8>) -> FfiFuture<Bytes>;

    /// Cleans up after a discard. `reason` is UTF-8 text. Answers an `AgentToolResult` or null.
    ///
    /// `[any-thread]` `[once]` Never beside or after a successful `apply`.
    #[sabi(last_prefix_field)]
    fn reject(&self, reason: RVec<u8>) -> FfiFuture<Bytes>;
}

/// A change as it crosses.
pub type ChangeObject = Change_TO<RBox<()>>;
