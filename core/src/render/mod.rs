//! Lines that show calls and results to a person: a tool's own, or the host's.

mod lines;
mod own;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;
use toolhost_protocol::{AgentToolResult, Failure, RESOLVE, RenderRequest};

use crate::catch::panicked;
use crate::resolve::resolve_definition;
use crate::tool::Registered;
use crate::{Pending, ToolSet};

/// What the renders of one tool share.
#[derive(Default)]
pub(crate) struct Renders {
    /// Held by the one that runs: a tool that never returns holds up one thread, and no more.
    turn: Arc<Mutex<()>>,
    /// One took too long, and may be running still.
    overdue: AtomicBool,
}

/// A tool's own lines, none where it leaves that to the host.
type Rendered = Result<Option<Vec<String>>, Failure>;

impl ToolSet {
    /// Lines that show a call to a person: those of the tool, otherwise the host's own, which are the tool's label and
    /// the parameters. Works for `resolve` and for unknown names, too, and with parameters that no schema accepts.
    ///
    /// The lines are plain text without control characters, at most 1,000, each of at most `width` columns (at least 2,
    /// which one character may need).
    pub async fn render_call(&self, name: &str, parameters: &Value, width: usize) -> Vec<String> {
        let request = RenderRequest::Call { parameters: parameters.clone(), width };
        match self.render(name, request).await {
            Some(lines) => lines,
            None if name == RESOLVE => {
                let taken = self.taken(parameters);
                own::call(Some(&resolve_definition()), name, taken.as_deref(), parameters, width)
            }
            None => own::call(self.definition(name), name, None, parameters, width),
        }
    }

    /// Lines that show a person what a call ended with, like [`render_call`](Self::render_call): those of the tool,
    /// otherwise the host's own, which are the result's text, with a line in place of each image. Where the person did
    /// not ask for all of it (`expanded`), the host shows the first ten lines, and says how many more there are.
    pub async fn render_result(
        &self,
        name: &str,
        result: &AgentToolResult,
        width: usize,
        expanded: bool,
    ) -> Vec<String> {
        let request = RenderRequest::Result { result: result.clone(), width, expanded };
        match self.render(name, request).await {
            Some(lines) => lines,
            None => own::result(name, result, width, expanded),
        }
    }

    /// The tool's own lines, made fit like those of [`render_call`](Self::render_call). `None` where it leaves them to
    /// the host, where it fails or takes longer than [`Limits::render`](crate::Limits::render), which is logged, and
    /// where there is no such tool.
    ///
    /// Runs on a thread that the tool may block, one render of a tool at a time.
    pub async fn render(&self, name: &str, request: RenderRequest) -> Option<Vec<String>> {
        let tool = self.get(name)?.clone();
        let (runtime, limit) = {
            let session = self.session().upgrade()?;
            (session.runtime().clone(), session.limits().render)
        };
        match runtime.spawn(in_time(tool.clone(), request, limit)).await {
            Ok(Ok(lines)) => lines,
            Ok(Err(failure)) => {
                tracing::warn!(
                    plugin = tool.plugin(),
                    tool = name,
                    "a tool cannot render, so that the host does: {failure}"
                );
                None
            }
            Err(_runtime_gone) => None,
        }
    }

    /// The action that a `resolve` with these parameters is about, where that is certain.
    fn taken(&self, parameters: &Value) -> Option<Arc<Pending>> {
        let id = parameters["id"].as_str().filter(|id| !id.trim().is_empty());
        self.session().upgrade()?.pending().and_then(|store| store.about(id))
    }
}

async fn in_time(tool: Arc<Registered>, request: RenderRequest, limit: Duration) -> Rendered {
    let renders = &tool.renders;
    if renders.overdue.load(Ordering::Relaxed) && renders.turn.try_lock().is_err() {
        return Ok(None);
    }
    let rendering = async {
        let turn = renders.turn.clone().lock_owned().await;
        renders.overdue.store(false, Ordering::Relaxed);
        let tool = tool.clone();
        let rendering = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            render(&tool, &request)
        });
        rendering.await.unwrap_or(Ok(None))
    };
    timeout(limit, rendering).await.unwrap_or_else(|_elapsed| {
        renders.overdue.store(true, Ordering::Relaxed);
        Err(Failure::new(format!("it takes longer than {} s", limit.as_secs_f64())))
    })
}

fn render(tool: &Registered, request: &RenderRequest) -> Rendered {
    let (RenderRequest::Call { width, .. } | RenderRequest::Result { width, .. }) = request else {
        return Ok(None);
    };
    let rendered = catch_unwind(AssertUnwindSafe(|| tool.tool.render(request)));
    let rendered = rendered.unwrap_or_else(|payload| Err(panicked(payload)))?;
    Ok(rendered.map(|lines| lines::fit(&lines, *width)))
}
