//! What a plugin may ask of its host.

use abi_stable::sabi_trait;
use abi_stable::std_types::{RBox, RSlice, RStr, RVec};
use async_ffi::FfiFuture;

use super::Bytes;
use super::change::ChangeObject;

/// The host as one plugin in one session sees it; the host implements it, the plugin calls it.
///
/// The object holds weak references only: a plugin keeps it inside its tools, which the session owns.
#[sabi_trait]
pub trait Host: Send + Sync + Clone + 'static {
    /// Puts a change on the session's stack. `call` is the id of the tool call that stages it, 0 for a task that the
    /// plugin spawned; `head` is a `PendingHead`. Answers a `PushReceipt`, or a `Failure` whose message is final.
    ///
    /// `[any-thread]` Also from inside an apply.
    fn push_pending_action(&self, call: u64, head: RVec<u8>, change: ChangeObject) -> Bytes;

    /// The most verbose level that the host wants: 0 nothing, 1 error, 2 warn, 3 info, 4 debug, 5 trace.
    ///
    /// `[any-thread]` Cheap enough to ask for every record.
    fn log_level(&self) -> u8;

    /// Hands a record to the host's log. `record` is JSON with `message` and optionally `target`.
    ///
    /// `[any-thread]` Never blocks.
    fn log(&self, level: u8, record: RSlice<'_, u8>);

    /// Asks a service of the host by name. An unknown one is a `Failure` that says so.
    ///
    /// `[any-thread]` The future may be dropped at any time.
    #[sabi(last_prefix_field)]
    fn call(&self, call: u64, method: RStr<'_>, json: RVec<u8>) -> FfiFuture<Bytes>;
}

/// A host as it crosses.
pub type HostObject = Host_TO<RBox<()>>;
