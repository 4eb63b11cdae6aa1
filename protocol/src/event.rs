use serde::{Deserialize, Serialize};

use crate::{AgentToolResult, PendingSummary, ResolveAction};

/// Something that happened in a session, with its place in the order of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Event {
    /// 1 for the session's first event, then one more each; a gap is events that a slow subscriber missed.
    pub number: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

impl Event {
    /// An event with this number.
    #[must_use]
    pub fn new(number: u64, kind: EventKind) -> Self {
        Self { number, kind }
    }
}

/// What happened in a session. Durations are in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum EventKind {
    /// An action was staged.
    Pushed {
        /// The action.
        pending: PendingSummary,
    },
    /// A resolve took an action off the stack; it runs when its turn comes.
    Claimed {
        /// The action.
        pending: PendingSummary,
        /// What was asked for.
        action: ResolveAction,
        /// Why.
        reason: String,
    },
    /// A change was made.
    Applied {
        /// The action.
        pending: PendingSummary,
        /// Why.
        reason: String,
        /// How long the apply ran.
        duration_ms: u64,
    },
    /// An apply failed; the action is pending again.
    Failed {
        /// The action.
        pending: PendingSummary,
        /// Why it was to be applied.
        reason: String,
        /// What went wrong.
        message: String,
        /// How long the apply ran.
        duration_ms: u64,
    },
    /// An action that was claimed is pending again, without having run.
    Returned {
        /// The action.
        pending: PendingSummary,
        /// Why it did not run.
        message: String,
    },
    /// An action was dropped.
    Discarded {
        /// The action.
        pending: PendingSummary,
        /// Why.
        reason: String,
        /// What went wrong with the clean-up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cleanup_failure: Option<String>,
        /// How long the clean-up ran.
        duration_ms: u64,
    },
    /// An action was dropped since nobody resolved it in time.
    Expired {
        /// The action.
        pending: PendingSummary,
    },
    /// The program took an action off the stack, without a callback.
    Removed {
        /// The action.
        pending: PendingSummary,
    },
    /// The session ended while an apply ran; nobody saw how it went.
    Unknown {
        /// The action.
        pending: PendingSummary,
    },
    /// The next model call is to be steered towards `resolve`.
    Steering {
        /// The action that it is about.
        pending: PendingSummary,
        /// Whether the model is forced, and not only reminded.
        forced: bool,
    },
    /// Steering no longer forces the model for this action; the reminder stays.
    LetGo {
        /// The action.
        pending: PendingSummary,
    },
    /// A tool call began.
    ToolStart {
        /// The call's id in the session.
        call: u64,
        /// The tool's name.
        tool: String,
    },
    /// A tool streamed a partial result.
    ToolUpdate {
        /// The call's id in the session.
        call: u64,
        /// The partial result.
        update: AgentToolResult,
    },
    /// A tool call ended.
    ToolEnd {
        /// The call's id in the session.
        call: u64,
        /// The tool's name.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// How long it ran.
        duration_ms: u64,
    },
    /// A tool holds up a thread of the host: one poll of it does not end.
    SlowPoll {
        /// The call's id in the session.
        call: u64,
        /// The tool's name.
        tool: String,
        /// How long the poll has taken so far.
        duration_ms: u64,
    },
    /// A kind of event that this version does not know.
    #[serde(other)]
    Other,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_event_is_one_flat_object() {
        let pending = PendingSummary::new("1", "Rename", "rename");
        let event = Event::new(7, EventKind::Applied { pending, reason: "fine".into(), duration_ms: 3 });
        let value = json!({
            "number": 7, "type": "applied", "reason": "fine", "durationMs": 3,
            "pending": {"id": "1", "label": "Rename", "sourceToolName": "rename"}
        });
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
        assert_eq!(serde_json::from_value::<Event>(value).unwrap(), event);
    }

    #[test]
    fn an_event_of_the_future_can_be_read() {
        let event: Event = serde_json::from_value(json!({"number": 1, "type": "teleported", "to": "x"})).unwrap();
        assert_eq!(event.kind, EventKind::Other);
    }
}
