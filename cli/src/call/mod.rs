//! `toolhost call`: a preview, a decision, its outcome.

mod ask;
mod params;
mod report;
mod resolving;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolhost_core::{AgentToolResult, CallError, EndReason, Pending, Session, preview_hash};

use crate::args;
use crate::error::{CliError, FAILED, OK, STALE};
use crate::load::load;
use crate::output::Output;
use crate::signals::Signals;
use report::Report;
use resolving::{Decision, Resolving};

/// How long a tool that was asked to stop may take before it is stopped where it is.
const GRACE: Duration = Duration::from_secs(2);

pub(crate) async fn run(
    call: &args::Call,
    plugins: &[PathBuf],
    output: &Output,
    signals: Signals,
) -> Result<u8, CliError> {
    let loaded = load(plugins, call.cwd.as_deref(), &signals).await?;
    loaded.report_errors(output);
    loaded.require_tools()?;
    let tools = loaded.session.tools();
    let tool = tools
        .definition(&call.tool)
        .ok_or_else(|| CliError::unknown_tool(&call.tool, &tools.similar_names(&call.tool)))?;
    let parameters = params::parameters(call, &tool.parameters)?;
    let command = Command { call, output, signals, session: loaded.session, asked: Cell::new(false) };
    let outcome = command.run(parameters).await;
    // Whatever is left over, an error's way out included, is discarded here.
    command.end(outcome.as_ref().err()).await;
    outcome
}

struct Command<'a> {
    call: &'a args::Call,
    output: &'a Output,
    signals: Signals,
    session: Session,
    /// Whether a person was asked, and so knows why something is discarded.
    asked: Cell<bool>,
}

impl Command<'_> {
    async fn run(&self, parameters: Value) -> Result<u8, CliError> {
        let result = self.preview(parameters).await?;
        let staged = self.staged();
        let hash = preview_hash(&staged.iter().rev().map(AsRef::as_ref).collect::<Vec<_>>());
        let mut report = Report::new(self.output, result, hash);
        report.show_preview();
        if report.tool_failed() {
            report.finish();
            return Ok(FAILED);
        }
        let decision = self.decision(&staged);
        if let (Some(expected), Some(hash)) = (&self.call.expect, &report.preview_hash)
            && expected != hash
        {
            return Err(preview_differs(expected, hash));
        }
        let code = match decision {
            Some(decision) => Resolving::new(&self.session, &self.signals, &mut report).run(decision, &staged).await,
            None => OK,
        };
        report.finish();
        Ok(self.signals.received().unwrap_or(code))
    }

    /// Runs the tool, with its progress on a terminal.
    async fn preview(&self, parameters: Value) -> Result<AgentToolResult, CliError> {
        let mut running = self.session.call(&self.call.tool, parameters);
        let cancellation = running.cancellation();
        let progress = async {
            while let Some(update) = running.next_update().await {
                self.output.progress(&update.to_text());
            }
            running.await
        };
        tokio::pin!(progress);
        let outcome = tokio::select! {
            outcome = &mut progress => outcome,
            code = self.signals.wait() => {
                cancellation.cancel();
                let _ = tokio::time::timeout(GRACE, progress).await;
                return Err(CliError::interrupted(code));
            }
        };
        outcome.map_err(|error| self.refused(&error))
    }

    fn refused(&self, error: &CallError) -> CliError {
        let fix = format!("`toolhost show {}` with the same --plugin lists the parameters", self.call.tool);
        match error {
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
    async fn end(&self, error: Option<&CliError>) {
        let decided = self.asked.get() || self.call.apply.is_some() || self.call.discard.is_some();
        let reason = match (self.signals.received(), error) {
            (Some(_), _) => EndReason::Interrupted,
            (None, None) if !decided => EndReason::Undecided,
            (None, _) => EndReason::Shutdown,
        };
        let ended = self.session.end(reason).await;
        let discarded = ended.discarded.iter().filter_map(|resolution| {
            let pending = resolution.pending.as_ref()?;
            Some((pending, (!resolution.status.is_success()).then(|| resolution.result.to_text())))
        });
        let dropped = ended.not_cleaned_up.iter().map(|pending| (pending, Some("its clean-up did not end".to_owned())));
        for (pending, problem) in discarded.chain(dropped) {
            let problem = problem.map(|problem| format!(": {problem}")).unwrap_or_default();
            let what = format!("{} ({})", pending.label(), pending.source_tool_name());
            self.output.note(&format!("Discarded, since {reason}: {what}{problem}"));
        }
        if let Some(pending) = ended.unknown {
            let what = format!("{} ({})", pending.label(), pending.source_tool_name());
            self.output.warn(&format!("{what} was still being resolved; check what it changed"));
        }
        if reason == EndReason::Undecided && !ended.discarded.is_empty() {
            self.output.note(
                "To apply it, run the command again with --apply REASON, and --expect HASH for this very preview.",
            );
        }
    }
}

fn preview_differs(expected: &str, hash: &str) -> CliError {
    CliError {
        exit: STALE,
        code: "preview-differs",
        message: format!("the preview has the hash {hash}, not {expected}; nothing was applied"),
        fix: "look at the new preview, and give its hash if it is right".to_owned(),
    }
}
