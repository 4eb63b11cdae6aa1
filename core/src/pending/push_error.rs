use std::path::PathBuf;

/// Why an action was not staged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// The host keeps no pending actions.
    #[error("Pending action store unavailable for custom tools in this runtime.")]
    StoreUnavailable,
    /// The session has ended.
    #[error("the session has ended, so nothing can be staged in it any more")]
    SessionEnded,
    /// The tool call that would stage it was cancelled.
    #[error("the tool call was cancelled, so nothing can be staged for it any more")]
    CallCancelled,
    /// The session's journal cannot be written, and nothing is staged that is not on record.
    #[error("the journal in {} cannot be written, so nothing was staged: {reason}", directory.display())]
    NotRecorded {
        /// The journal's directory.
        directory: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// As many actions as there may be are pending.
    #[error(
        "{limit} actions are pending, which are as many as there may be, so nothing was staged; resolve some first"
    )]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// What the action says of itself is too large.
    #[error(
        "the action's details and dependencies have {bytes} bytes, and {limit} are the most, so nothing was staged; leave \
         long texts and diffs out of its `changes`"
    )]
    TooLarge {
        /// Its size, as JSON.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The tool call that would stage it is not one of this session's.
    #[error("the tool call belongs to another session; stage through the API that this session's factory was given")]
    ForeignCall,
}
