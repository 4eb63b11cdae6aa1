use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_protocol::ResolveAction;

use super::{FORMAT, Timestamp};

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    pub(super) format: u64,
    pub(super) session: String,
    pub(super) started_at: Timestamp,
    pub(super) pid: u32,
}

impl Header {
    pub(super) fn new(session: &str, started_at: Timestamp) -> Self {
        Self { format: FORMAT, session: session.to_owned(), started_at, pid: std::process::id() }
    }
}

/// The part of a header that every format has.
#[derive(Deserialize)]
pub(super) struct FormatOnly {
    pub(super) format: u64,
}

/// Every line but the first: something that happened, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) event: Event,
}

impl Record {
    /// A record of what happens now.
    pub(crate) fn now(event: Event) -> Self {
        Self { at: Timestamp::now(), event }
    }
}

/// What happened to a pending action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum Event {
    /// It was staged.
    Pushed {
        id: String,
        label: String,
        source_tool_name: String,
        preview_hash: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    /// A resolve took it off the stack and waits for its turn; nothing of it has run.
    Claimed { id: String, action: ResolveAction, reason: String, attempt: u32 },
    /// The resolve that claimed it did not run; it is back in its place.
    Released { id: String },
    /// Its apply is about to run. Whatever follows without an outcome is unknown.
    Applying { id: String },
    /// Its apply succeeded.
    Applied { id: String },
    /// Its apply failed; it is back in its place.
    Failed { id: String, message: String },
    /// It was dropped.
    Discarded {
        id: String,
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleanup_failure: Option<String>,
    },
    /// Nobody decided on it in time.
    Expired { id: String },
    /// The program took it off the stack.
    Removed { id: String },
    /// Its apply was running when everybody who could have seen its outcome went away.
    Unknown { id: String },
    /// An event that this version does not know. Never written.
    #[serde(other)]
    Other,
}

impl Event {
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Pushed { id, .. }
            | Self::Claimed { id, .. }
            | Self::Released { id }
            | Self::Applying { id }
            | Self::Applied { id }
            | Self::Failed { id, .. }
            | Self::Discarded { id, .. }
            | Self::Expired { id }
            | Self::Removed { id }
            | Self::Unknown { id } => Some(id),
            Self::Other => None,
        }
    }
}
