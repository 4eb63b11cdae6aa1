//! `toolhost call`: a preview, a decision, its outcome.

mod ask;
mod diff;
mod params;
mod report;
mod resolving;

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;
use toolhost_core::{
    AgentToolResult, CallError, CallRequest, Cancellation, EndReason, EndReport, Pending, RESOLVE, RenderRequest,
    RunOptions, Session, ToolSet, TurnEvent, preview_hash,
};

use crate::args::{self, Plugins};
use crate::error::{self, CliError, FAILED, OK, STALE};
use crate::journal;
use crate::keyboard::Keyboard;
use crate::load::{Settings, load};
use crate::output::Output;
use crate::plain::{continued, plain, title};
use crate::screen::SCREEN;
use crate::services::Services;
use crate::signals::Signals;
use report::Report;
use resolving::{Decision, Resolving};

pub(crate) async fn run(
    call: &args::Call,
    plugins: &Plugins,
    output: &Output,
    signals: Signals,
) -> Result<u8, CliError> {
    let journal = journal::prepare(call.journal_dir.as_deref(), output);
    let keyboard = Keyboard::new(signals.clone());
    let services = Services::new(!plugins.no_exec);
    let services = match !output.is_json() && ask::possible() {
        true => services.with_person(keyboard.clone()),
        false => services,
    };
    let settings = Settings { cwd: call.cwd.as_deref(), journal, services: Some(services.clone()) };
    let loaded = load(plugins, settings, output, &signals).await?;
    loaded.require_trusted(&call.tool, output)?;
    loaded.require_tools(output)?;
    let tools = loaded.session.tools();
    if call.tool == RESOLVE {
        let fix = "call the tool that stages the change, with --apply REASON or --discard REASON";
        return Err(CliError::usage("resolve", "here a change is resolved by the call that stages it", fix));
    }
    let tool = tools
        .definition(&call.tool)
        .ok_or_else(|| CliError::unknown_tool(&call.tool, &tools.similar_names(&call.tool)))?;
    let parameters = params::parameters(call, &tool.parameters)?;
    let command =
        Command { call, output, signals, keyboard, services, session: loaded.session, asked: Cell::new(false) };
    let outcome = command.run(parameters).await;
    // Whatever is left over, an error's way out included, is discarded here.
    let ended = command.end(outcome.as_ref().err()).await;
    let (code, report) = outcome?;
    report.finish(&ended);
    let stopped = command.stopped();
    let code = if code == OK && (stopped || !is_clean(&ended)) { FAILED } else { code };
    Ok(command.signals.received().unwrap_or(code))
}

/// Whether all that was left over is gone without a trace.
fn is_clean(ended: &EndReport) -> bool {
    let cleaned_up = ended.discarded.iter().all(|resolution| resolution.status.is_success());
    cleaned_up && ended.not_cleaned_up.is_empty() && ended.unknown.is_none()
}

struct Command<'a> {
    call: &'a args::Call,
    output: &'a Output,
    signals: Signals,
    keyboard: Keyboard,
    services: Services,
    session: Session,
    /// Whether a person was asked, and so knows why something is discarded.
    asked: Cell<bool>,
}

impl Command<'_> {
    /// Returns the exit code, and what is to be said once the session has ended.
    async fn run(&self, parameters: Value) -> Result<(u8, Report<'_>), CliError> {
        let tools = self.session.tools();
        let result = self.preview(&tools, parameters).await?;
        let staged = self.staged();
        let hash = preview_hash(&staged.iter().rev().map(AsRef::as_ref).collect::<Vec<_>>());
        let rendered = self.rendered(&tools, &result).await;
        let mut report = Report::new(self.output, result, hash);
        report.show_preview(rendered, &staged, self.session.cwd());
        // Showing it may have taken long, where somebody reads slowly.
        if let Some(code) = self.signals.received() {
            return Err(CliError::interrupted(code));
        }
        if report.tool_failed() {
            return Ok((FAILED, report));
        }
        let decision = self.decision(&staged);
        if let (Some(expected), Some(hash)) = (&self.call.expect, &report.preview_hash)
            && expected != hash
        {
            return Err(preview_differs(expected, hash));
        }
        let code = match decision {
            Some(decision) => Resolving::new(self, &mut report).run(decision, &staged).await,
            None => OK,
        };
        Ok((code, report))
    }

    /// The lines that the tool has for its result, where a person reads them. All of it: there is no second look.
    async fn rendered(&self, tools: &ToolSet, result: &AgentToolResult) -> Option<Vec<String>> {
        let width = self.output.columns_of_person().filter(|_| !result.is_error)?;
        let request = RenderRequest::Result { result: result.clone(), width, expanded: true };
        tools.render(&self.call.tool, request).await
    }

    /// Whether a tool asked to stop after its call had ended, which is said here.
    fn stopped(&self) -> bool {
        let by = self.services.aborted_by();
        if let Some(by) = &by {
            self.output.warn(&error::aborted(by));
        }
        by.is_some()
    }

    /// Runs the tool, with its progress on a terminal. A tool that does not stop when asked to is left behind.
    async fn preview(&self, tools: &ToolSet, parameters: Value) -> Result<AgentToolResult, CliError> {
        let cancel = Cancellation::new();
        let call = CallRequest::new("preview", &self.call.tool, parameters);
        let mut turn = tools.run(vec![call], RunOptions::default().cancel(cancel.clone()));
        loop {
            // A question that a signal ends may end the call before the signal is heeded here.
            let event = tokio::select! {
                biased;
                _code = self.signals.wait(), if !cancel.is_cancelled() => {
                    SCREEN.take_back();
                    self.output.note("Interrupted; waiting for the tool to stop.");
                    cancel.cancel();
                    continue;
                }
                () = self.services.aborted(), if !cancel.is_cancelled() => {
                    cancel.cancel();
                    continue;
                }
                event = turn.next() => event,
            };
            match event {
                Some(TurnEvent::Update { update, .. }) => self.output.progress(&plain(&update.to_text())),
                Some(TurnEvent::Done { outcome, .. }) => {
                    return match (self.signals.received(), self.services.aborted_by()) {
                        (Some(code), _) => Err(CliError::interrupted(code)),
                        (None, Some(by)) => Err(CliError::aborted(&by)),
                        (None, None) => outcome.map_err(|error| self.refused(&error)),
                    };
                }
                _ => return Err(CliError::failed("call", "the call ended without an outcome")),
            }
        }
    }

    fn refused(&self, error: &CallError) -> CliError {
        let fix = format!("`toolhost show {}` with the same --plugin lists the parameters", self.call.tool);
        match error {
            CallError::Refused { .. } => CliError::refused(error),
            CallError::InvalidParameters(_) => CliError::usage("invalid-parameters", error.to_string(), fix),
            _ => CliError::failed("call", error.to_string()),
        }
    }

    /// What the call staged, the newest first.
    fn staged(&self) -> Vec<Arc<Pending>> {
        self.session.pending().map(|store| store.list()).unwrap_or_default()
    }

    /// What to do with what was staged; `None` where nobody says.
    fn decision(&self, staged: &[Arc<Pending>]) -> Option<Decision> {
        match (&self.call.apply, &self.call.discard) {
            (Some(reason), _) => Some(Decision::Apply(reason.clone())),
            (_, Some(reason)) => Some(Decision::Discard(reason.clone())),
            (None, None) if staged.is_empty() || self.output.is_json() || !ask::possible() => None,
            (None, None) => {
                self.asked.set(true);
                Some(Decision::Ask)
            }
        }
    }

    /// Ends the session, and says what it discarded.
    async fn end(&self, error: Option<&CliError>) -> EndReport {
        let decided = self.asked.get() || self.call.apply.is_some() || self.call.discard.is_some();
        let reason = match (self.signals.received(), error) {
            (Some(_), _) => EndReason::Interrupted,
            (None, None) if !decided => EndReason::Undecided,
            (None, _) => EndReason::Shutdown,
        };
        self.signals.resolving(true);
        let ended = self.session.end(reason).await;
        self.signals.resolving(false);
        for resolution in &ended.discarded {
            let Some(pending) = &resolution.pending else {
                continue;
            };
            let problem = match resolution.status.is_success() {
                true => String::new(),
                false => continued(&format!("\n{}", plain(&resolution.result.to_text()))),
            };
            self.output.note(&format!("Discarded, since {reason}: {}{problem}", title(pending)));
        }
        for pending in &ended.not_cleaned_up {
            self.output.warn(&format!("{} was discarded, but its clean-up did not end in time", title(pending)));
        }
        if let Some(pending) = &ended.unknown {
            self.output.warn(&format!("{} was still being resolved; check what it changed", title(pending)));
        }
        if reason == EndReason::Undecided && !ended.discarded.is_empty() {
            self.output
                .note("To apply, run the command again with --apply REASON, and --expect HASH for this preview.");
        }
        ended
    }
}

fn preview_differs(expected: &str, hash: &str) -> CliError {
    CliError {
        exit: STALE,
        code: "preview-differs",
        message: format!("the preview has the hash {hash}, not {expected}; nothing was applied"),
        fix: "run the command without --apply to see the new preview, and give its hash if it is right".to_owned(),
    }
}
