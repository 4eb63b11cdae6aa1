//! The steps in a session's life.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::timeout;
use toolhost_protocol::SessionStep;

use super::options::discards;
use super::{EndReason, EndReport, Session, end_store};
use crate::Resolution;
use crate::catch::caught;
use crate::tool::Registered;

impl Session {
    /// Takes the session through a step of its life: on a switch and on a branch what is pending is discarded first,
    /// the topmost first, within [`Limits::end`](crate::Limits::end); then every tool is told, all of them at once,
    /// each within [`Limits::step`](crate::Limits::step). A tool that fails or takes too long is logged. Returns what
    /// was discarded.
    ///
    /// Steps are taken one at a time, in the order in which they were asked for. [`SessionStep::Shutdown`] is
    /// [`end`](Self::end)'s own.
    pub async fn step(&self, step: SessionStep) -> Vec<Resolution> {
        let session = self.clone();
        let taking = self.runtime().spawn(async move {
            let _one_at_a_time = session.inner.stepping.lock().await;
            let discarded = session.discard_for(&step).await;
            session.tell_tools(&step).await;
            discarded
        });
        taking.await.unwrap_or_default()
    }

    async fn discard_for(&self, step: &SessionStep) -> Vec<Resolution> {
        let mut discarded = Vec::new();
        if let (Some(reason), Some(resolver)) = (discards(step), &self.inner.resolver) {
            let discarding = resolver.discard_all(reason, |resolution| discarded.push(resolution));
            // What is not cleaned up in time goes on in its own task; a session that goes on does not give it up.
            let _ = timeout(self.limits().end, discarding).await;
        }
        discarded
    }

    async fn tell_tools(&self, step: &SessionStep) {
        let limit = self.limits().step;
        let tools = self.tools();
        let telling = tools.registered().filter(|tool| tool.tool.watches_session()).map(|tool| {
            let runtime = self.runtime().clone();
            tell(tool.clone(), step.clone(), limit, runtime)
        });
        futures_util::future::join_all(telling).await;
    }

    /// Ends the session: running calls are asked to stop, pushes are refused from now on, and what is pending is
    /// discarded through its clean-up, the topmost first, after a resolve that is running, all bounded by
    /// [`Limits::end`](crate::Limits::end). Then the tools are told. Ending again does nothing.
    pub async fn end(&self, reason: EndReason) -> EndReport {
        if !self.stop_calls() {
            return EndReport::default();
        }
        if let Some(resolver) = &self.inner.resolver {
            resolver.store.close();
        }
        let session = self.clone();
        let ending = self.runtime().spawn(async move {
            let report = match session.inner.resolver.clone() {
                Some(resolver) => end_store(resolver, reason, session.limits().end).await,
                None => EndReport::default(),
            };
            session.tell_tools(&SessionStep::Shutdown).await;
            session.inner.over.cancel();
            report
        });
        ending.await.unwrap_or_else(|_runtime_gone| self.give_up())
    }

    /// What is left of a session whose runtime is gone.
    fn give_up(&self) -> EndReport {
        let mut report = EndReport::default();
        if let Some(resolver) = &self.inner.resolver {
            (report.unknown, report.not_cleaned_up) = resolver.store.abandon();
        }
        report
    }
}

/// On a thread that the tool may block, so that neither the limit nor the other tools depend on it.
async fn tell(tool: Arc<Registered>, step: SessionStep, limit: Duration, runtime: Handle) {
    let (name, plugin) = (tool.definition.name.clone(), tool.plugin().map(str::to_owned));
    let inner = runtime.clone();
    let telling = runtime
        .spawn_blocking(move || inner.block_on(async { timeout(limit, caught(|| tool.tool.on_session(step))).await }));
    match timeout(limit, telling).await {
        Ok(Ok(Ok(Ok(())))) | Ok(Err(_)) => {}
        Ok(Ok(Ok(Err(failure)))) => {
            tracing::warn!(plugin, tool = name, "a tool failed at a step of its session: {failure}")
        }
        Ok(Ok(Err(_elapsed))) | Err(_elapsed) => {
            tracing::warn!(
                plugin,
                tool = name,
                seconds = limit.as_secs_f64(),
                "a tool takes too long for a step of its session"
            );
        }
    }
}
