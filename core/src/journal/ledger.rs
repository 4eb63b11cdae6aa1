use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use toolhost_protocol::ResolveAction;

use super::{Event, Record, Timestamp};

/// A pending action as its session's journal tells it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct JournalAction {
    /// Its id.
    pub id: String,
    /// Its label; empty where the line that tells it is damaged.
    pub label: String,
    /// The tool that staged it; empty where the line that tells it is damaged.
    pub source_tool_name: String,
    /// The hash of its preview; empty where the line that tells it is damaged.
    pub preview_hash: String,
    /// What it was to change, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// When it was staged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_at: Option<Timestamp>,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
    /// When that became of it.
    pub at: Timestamp,
    /// The reason given by whoever last decided on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of an action. Where it is [`Pending`](Self::Pending), [`Claimed`](Self::Claimed) or
/// [`Failed`](Self::Failed) and its session is no longer live, nothing more will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Fate {
    /// It was staged; no resolve of it has had its turn. One may have waited for that.
    Pending,
    /// A resolve of it has had its turn. An apply of it had not begun.
    Claimed {
        /// What the resolve was to do.
        action: ResolveAction,
    },
    /// Its apply began.
    Applying,
    /// It was applied.
    Applied,
    /// Its apply failed, and it was pending again.
    Failed {
        /// Why.
        message: String,
    },
    /// It was discarded.
    Discarded {
        /// Why its clean-up failed, where it did.
        #[serde(skip_serializing_if = "Option::is_none")]
        cleanup_failure: Option<String>,
    },
    /// It was dropped, since nobody decided on it in time.
    Expired,
    /// The program took it off the stack.
    Removed,
    /// Its apply began, and nobody saw how it ended.
    Unknown,
}

/// The actions that records tell of, in the order in which they were staged.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    actions: Vec<JournalAction>,
    by_id: HashMap<String, usize>,
}

impl Ledger {
    /// Takes in the next record. One that is about an action whose push was lost, or stands further down, still tells
    /// what became of it.
    pub(super) fn enter(&mut self, Record { at, event }: Record) {
        let Some(action) = event.id().map(|id| self.action(id, at)) else {
            return;
        };
        match event {
            Event::Pushed { label, source_tool_name, preview_hash, details, .. } => {
                action.label = label;
                action.source_tool_name = source_tool_name;
                action.preview_hash = preview_hash;
                action.details = details;
                action.pushed_at = Some(at);
            }
            Event::Claimed { action: wanted, reason, .. } => {
                action.became(Fate::Claimed { action: wanted }, at, Some(reason));
            }
            Event::Released { .. } => action.became(Fate::Pending, at, None),
            Event::Applying { .. } => action.became_as_decided(Fate::Applying, at),
            Event::Applied { .. } => action.became_as_decided(Fate::Applied, at),
            Event::Failed { message, .. } => action.became_as_decided(Fate::Failed { message }, at),
            Event::Discarded { reason, cleanup_failure, .. } => {
                action.became(Fate::Discarded { cleanup_failure }, at, Some(reason));
            }
            Event::Expired { .. } => action.became(Fate::Expired, at, None),
            Event::Removed { .. } => action.became(Fate::Removed, at, None),
            Event::Unknown { .. } => action.became_as_decided(Fate::Unknown, at),
            Event::Other => {}
        }
    }

    pub(super) fn into_actions(self) -> Vec<JournalAction> {
        self.actions
    }

    fn action(&mut self, id: &str, at: Timestamp) -> &mut JournalAction {
        let index = self.by_id.get(id).copied().unwrap_or_else(|| {
            self.actions.push(JournalAction::untold(id, at));
            self.by_id.insert(id.to_owned(), self.actions.len() - 1);
            self.actions.len() - 1
        });
        &mut self.actions[index]
    }
}

impl JournalAction {
    fn untold(id: &str, at: Timestamp) -> Self {
        Self {
            id: id.to_owned(),
            label: String::new(),
            source_tool_name: String::new(),
            preview_hash: String::new(),
            details: None,
            pushed_at: None,
            fate: Fate::Pending,
            at,
            reason: None,
        }
    }

    fn became(&mut self, fate: Fate, at: Timestamp, reason: Option<String>) {
        self.fate = fate;
        self.at = at;
        self.reason = reason;
    }

    /// For what follows from the last decision, whose reason stands.
    fn became_as_decided(&mut self, fate: Fate, at: Timestamp) {
        self.fate = fate;
        self.at = at;
    }
}
