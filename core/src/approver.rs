use std::sync::Arc;

use toolhost_protocol::{Actor, Effect, ResolveAction};

use crate::{BoxFuture, Pending};

/// Who has the last word on an apply.
///
/// It is asked when the apply's turn has come, outside of every lock and within
/// [`Limits::approve`](crate::Limits::approve); a discard is never asked about. What the action depends on is verified
/// after the answer. Dropping the future takes the question back.
pub trait Approver: Send + Sync + 'static {
    /// Decides on one apply.
    fn decide(&self, pending: Arc<Pending>, request: ApprovalRequest) -> BoxFuture<Decision>;

    /// Who it speaks for, as the result's `resolvedBy` says it: `human`, `rules`.
    fn name(&self) -> &str;
}

/// What an approver is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// What is asked for; an apply so far.
    pub action: ResolveAction,
    /// Why.
    pub reason: String,
    /// Who asks.
    pub by: Actor,
    /// What the tool that staged the action does, as it says; the gravest where that is not known.
    pub effect: Effect,
}

/// What an approver answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// Go on.
    Apply,
    /// Not now: the action stays pending, and the asker gets this message.
    Refuse(String),
    /// Drop the action, for this reason.
    Discard(String),
    /// Stop: the action stays pending, and the host should not let the model go on.
    Abort,
}

/// Lets whoever asks decide; the same as no approver.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskerDecides;

impl Approver for AskerDecides {
    fn decide(&self, _pending: Arc<Pending>, _request: ApprovalRequest) -> BoxFuture<Decision> {
        Box::pin(std::future::ready(Decision::Apply))
    }

    fn name(&self) -> &str {
        "asker"
    }
}

/// Only a person applies: a model's or a program's apply is refused with a text that says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct PersonDecides;

impl Approver for PersonDecides {
    fn decide(&self, _pending: Arc<Pending>, request: ApprovalRequest) -> BoxFuture<Decision> {
        Box::pin(std::future::ready(match request.by {
            Actor::Human => Decision::Apply,
            _ => Decision::Refuse(
                "A person has to decide on this change. Tell the user what is pending, and wait for their decision."
                    .to_owned(),
            ),
        }))
    }

    fn name(&self) -> &str {
        "human"
    }
}

type Matches = Box<dyn Fn(&Pending, &ApprovalRequest) -> bool + Send + Sync>;

/// Decides by rules: the first one that matches; where none does, another approver.
pub struct Rules {
    rules: Vec<(Matches, Decision)>,
    otherwise: Arc<dyn Approver>,
}

impl Rules {
    /// No rules yet: `otherwise` decides on everything.
    #[must_use]
    pub fn otherwise(otherwise: impl Approver) -> Self {
        Self { rules: Vec::new(), otherwise: Arc::new(otherwise) }
    }

    /// A rule for the actions that this tool staged.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, decision: Decision) -> Self {
        let name = name.into();
        self.rule(move |pending, _| pending.source_tool_name() == name, decision)
    }

    /// A rule for the actions of tools with this effect.
    #[must_use]
    pub fn effect(self, effect: Effect, decision: Decision) -> Self {
        self.rule(move |_, request| request.effect == effect, decision)
    }

    /// A rule for the actions whose every change lies in this directory, as their `changes` say. An action without
    /// such a list never matches.
    #[must_use]
    pub fn within(self, directory: impl Into<std::path::PathBuf>, decision: Decision) -> Self {
        let directory = directory.into();
        self.rule(
            move |pending, _| {
                pending
                    .changed_paths()
                    .is_some_and(|paths| !paths.is_empty() && paths.iter().all(|path| is_within(path, &directory)))
            },
            decision,
        )
    }

    /// A rule of any kind.
    #[must_use]
    pub fn rule(
        mut self,
        matches: impl Fn(&Pending, &ApprovalRequest) -> bool + Send + Sync + 'static,
        decision: Decision,
    ) -> Self {
        self.rules.push((Box::new(matches), decision));
        self
    }
}

/// By the path's words alone: one that steps up anywhere is not within.
fn is_within(path: &std::path::Path, directory: &std::path::Path) -> bool {
    let steps_up = path.components().any(|component| component == std::path::Component::ParentDir);
    path.starts_with(directory) && !steps_up
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl Approver for Rules {
    fn decide(&self, pending: Arc<Pending>, request: ApprovalRequest) -> BoxFuture<Decision> {
        match self.rules.iter().find(|(matches, _)| matches(&pending, &request)) {
            Some((_, decision)) => Box::pin(std::future::ready(decision.clone())),
            None => self.otherwise.decide(pending, request),
        }
    }

    fn name(&self) -> &str {
        "rules"
    }
}
