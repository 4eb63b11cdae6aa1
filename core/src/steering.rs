use std::collections::HashMap;

use toolhost_protocol::{EventKind, RESOLVE};

use crate::Pending;
use crate::events::Events;

/// After so many forced turns that leave an action unresolved, the model is no longer forced for it.
const MOST_FORCED_TURNS: u32 = 3;

/// How a model is steered towards `resolve` while something is pending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SteeringMode {
    /// The turn after a preview is forced.
    #[default]
    ForceFirst,
    /// The turn after a preview only carries the reminder; those after it are forced.
    RemindFirst,
    /// No turn is forced.
    RemindOnly,
}

/// What a model's interface can be told about tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelCapabilities {
    /// How far the choice of a tool can be forced.
    pub choice: ChoiceSupport,
    /// Whether a forced choice and thinking exclude each other.
    pub forcing_excludes_thinking: bool,
    /// Whether the next call is to think.
    pub thinking: bool,
}

impl ModelCapabilities {
    /// A model that does not think, or may while it is forced.
    #[must_use]
    pub fn new(choice: ChoiceSupport) -> Self {
        Self { choice, forcing_excludes_thinking: false, thinking: false }
    }

    /// The same model, about to think, which forcing excludes or not.
    #[must_use]
    pub fn thinking(mut self, forcing_excludes_it: bool) -> Self {
        self.thinking = true;
        self.forcing_excludes_thinking = forcing_excludes_it;
        self
    }

    fn can_be_forced(self) -> bool {
        self.choice != ChoiceSupport::None && !(self.thinking && self.forcing_excludes_thinking)
    }
}

/// How far the choice of a tool can be forced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceSupport {
    /// One tool by name.
    Named,
    /// Any tool, out of a list.
    AnyOf,
    /// Any tool of those that are offered.
    Any,
    /// Not at all.
    None,
}

/// What the next model call should look like.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steering {
    /// How the choice of a tool is to be forced.
    pub choice: ToolChoice,
    /// What the model should read before it answers, after the preview; present while something is pending.
    pub reminder: Option<String>,
}

/// How the choice of a tool is to be forced.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model chooses.
    Free,
    /// This tool, by name.
    Named(&'static str),
    /// Any tool of a list that holds this one alone.
    AnyOf(&'static str),
    /// Any tool, where this one alone is offered.
    OfferOnly(&'static str),
}

/// How often each action was forced in vain.
#[derive(Debug, Default)]
pub(crate) struct SteeringState {
    turns: HashMap<String, Turns>,
    /// The action of the last call's forced turn.
    forced: Option<String>,
}

#[derive(Debug, Default)]
struct Turns {
    reminded: bool,
    forced_in_vain: u32,
    let_go: bool,
}

impl SteeringState {
    /// Counts the turn that ended, and says what the next one looks like. `pending` has the topmost first.
    pub(crate) fn next(
        &mut self,
        pending: &[impl AsRef<Pending>],
        mode: SteeringMode,
        capabilities: &ModelCapabilities,
        events: &Events,
    ) -> Steering {
        self.turns.retain(|id, _| pending.iter().any(|action| action.as_ref().id() == id));
        // Whatever the model did, and however it failed, the action that it was forced for is still there.
        if let Some(turns) = self.forced.take().and_then(|id| self.turns.get_mut(&id)) {
            turns.forced_in_vain += 1;
        }
        let Some(top) = pending.first().map(AsRef::as_ref) else {
            return Steering { choice: ToolChoice::Free, reminder: None };
        };
        let turns = self.turns.entry(top.id().to_owned()).or_default();
        if turns.forced_in_vain >= MOST_FORCED_TURNS && !turns.let_go {
            turns.let_go = true;
            events.emit(|| EventKind::LetGo { pending: top.summary() });
        }
        let waits = mode == SteeringMode::RemindFirst && !turns.reminded;
        let forces = mode != SteeringMode::RemindOnly && !waits && !turns.let_go && capabilities.can_be_forced();
        turns.reminded = true;
        self.forced = forces.then(|| top.id().to_owned());
        events.emit(|| EventKind::Steering { pending: top.summary(), forced: forces });
        let choice = if forces { choice(capabilities.choice) } else { ToolChoice::Free };
        Steering { choice, reminder: Some(reminder(top, pending.len())) }
    }
}

fn choice(support: ChoiceSupport) -> ToolChoice {
    match support {
        ChoiceSupport::Named => ToolChoice::Named(RESOLVE),
        ChoiceSupport::AnyOf => ToolChoice::AnyOf(RESOLVE),
        ChoiceSupport::Any => ToolChoice::OfferOnly(RESOLVE),
        ChoiceSupport::None => ToolChoice::Free,
    }
}

fn reminder(top: &Pending, count: usize) -> String {
    let others = match count - 1 {
        0 => String::new(),
        1 => " One more is pending below it; the last staged comes first.".to_owned(),
        more => format!(" {more} more are pending below it; the last staged comes first."),
    };
    format!(
        "Pending: {} ({}), id {}. Nothing has been changed yet. Read its preview, then call {RESOLVE} with action \
         \"apply\" or \"discard\" and a reason.{others}",
        top.label(),
        top.source_tool_name(),
        top.id(),
    )
}

#[cfg(test)]
mod tests;
