use serde::{Deserialize, Serialize};

/// A step in a session's life, as its tools are told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum SessionStep {
    /// The session is there, with all its tools.
    Start,
    /// The host turns to another conversation. What was pending was discarded.
    Switch,
    /// The conversation goes on from an earlier point. What was pending was discarded.
    Branch,
    /// The host moved within the conversation's tree of branches.
    Tree,
    /// The conversation was shortened.
    Compaction,
    /// A turn of the model is tried again.
    Retry {
        /// Which attempt it is, from 1.
        attempt: u32,
    },
    /// The session is over; the tools are dropped next.
    Shutdown,
    /// A step that this version does not know.
    #[serde(other)]
    Other,
}
