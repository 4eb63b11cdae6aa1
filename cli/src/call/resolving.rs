//! From a decision to its outcome.

use std::sync::Arc;

use toolhost_core::{Actor, Pending, Resolution, ResolveRequest, ResolveStatus, STALE};

use super::Command;
use super::ask::{self, Answer};
use super::report::Report;
use crate::error;
use crate::screen::SCREEN;

/// What to do with what a call staged.
pub(crate) enum Decision {
    Apply(String),
    Discard(String),
    /// A person says, one action after the other.
    Ask,
}

/// Resolves what a call staged, the newest first.
pub(crate) struct Resolving<'r, 'o> {
    command: &'r Command<'o>,
    report: &'r mut Report<'o>,
}

impl<'r, 'o> Resolving<'r, 'o> {
    pub(crate) fn new(command: &'r Command<'o>, report: &'r mut Report<'o>) -> Self {
        Self { command, report }
    }

    /// Returns the exit code. What is left pending is for the end of the session to discard.
    pub(crate) async fn run(mut self, decision: Decision, staged: &[Arc<Pending>]) -> u8 {
        match decision {
            Decision::Ask => self.ask(staged).await,
            Decision::Apply(reason) => self.all(staged, ResolveRequest::apply(reason)).await,
            Decision::Discard(reason) => self.all(staged, ResolveRequest::discard(reason)).await,
        }
    }

    /// Stops at the first failure.
    async fn all(&mut self, staged: &[Arc<Pending>], request: ResolveRequest) -> u8 {
        if staged.is_empty() {
            return self.resolve(request).await;
        }
        for pending in staged {
            if let Some(code) = self.stopped() {
                return code;
            }
            let code = self.resolve(request.clone().with_id(pending.id())).await;
            if code != error::OK {
                return code;
            }
        }
        error::OK
    }

    /// The exit code, where somebody asked to stop.
    fn stopped(&self) -> Option<u8> {
        let aborted = || self.command.services.aborted_by().map(|_| error::FAILED);
        self.command.signals.received().or_else(aborted)
    }

    async fn ask(&mut self, staged: &[Arc<Pending>]) -> u8 {
        let Command { session, output, keyboard, services, .. } = self.command;
        for (at, pending) in staged.iter().enumerate() {
            let mut code = error::OK;
            loop {
                let place = (at + 1, staged.len());
                let answer = tokio::select! {
                    biased;
                    () = services.aborted() => return error::FAILED,
                    answer = ask::decide(pending, place, session.cwd(), output, keyboard) => answer,
                };
                let request = match answer {
                    Answer::Apply(reason) => ResolveRequest::apply(reason),
                    Answer::Discard(reason) => ResolveRequest::discard(reason),
                    Answer::Quit => return code,
                };
                let discarded = request.action == toolhost_core::ResolveAction::Discard;
                let outcome = self.resolve(request.with_id(pending.id())).await;
                if self.stopped().is_some() {
                    return outcome;
                }
                // A failed apply stays a failure when the action is given up.
                if !(discarded && outcome == error::OK) {
                    code = outcome;
                }
                // What was withdrawn is gone, too.
                if discarded || matches!(outcome, error::OK | error::TRUST) {
                    break;
                }
            }
            if code != error::OK {
                return code;
            }
        }
        error::OK
    }

    /// Runs one resolve to its end, whatever signal arrives meanwhile.
    async fn resolve(&mut self, request: ResolveRequest) -> u8 {
        let Command { session, signals, output, .. } = self.command;
        signals.resolving(true);
        let running = session.resolve(request.by(Actor::Human));
        tokio::pin!(running);
        // In this order for the same reason as in a preview.
        let resolution = tokio::select! {
            biased;
            _ = signals.wait() => {
                SCREEN.take_back();
                output.note("Interrupted; waiting for what is being resolved to end.");
                running.await
            }
            resolution = &mut running => resolution,
        };
        signals.resolving(false);
        let code = exit_code(&resolution);
        self.report.resolved(resolution);
        code
    }
}

fn exit_code(resolution: &Resolution) -> u8 {
    match &resolution.status {
        status if status.is_success() => error::OK,
        ResolveStatus::ApplyFailed { code } if code.as_deref() == Some(STALE) => error::STALE,
        ResolveStatus::Withdrawn => error::TRUST,
        _ => error::FAILED,
    }
}
