//! Tools whose plugin is opened only when one of them is called.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use toolhost_core::{
    BoxFuture, CallContext, Failure, Session, SessionStep, Tool, ToolDefinition, ToolOrigin, ToolOutcome, WeakSession,
};
use toolhost_protocol::RenderRequest;
use tracing::warn;

use super::create::{Failed, Made, create};
use crate::load::Loaded;
use crate::{LoadErrorKind, LoadLimits};

/// The code of the failure of a call whose plugin could not be opened after all.
const LOAD: &str = "load";

/// A plugin in one session, whose factory runs when the first of its tools is called.
pub(crate) struct LatePlugin {
    plugin: Arc<Loaded>,
    session: WeakSession,
    runtime: Handle,
    limits: LoadLimits,
    tools: OnceCell<HashMap<String, Arc<dyn Tool>>>,
}

impl LatePlugin {
    /// The tools that its definitions promise.
    pub(crate) fn tools(
        plugin: &Arc<Loaded>,
        session: &Session,
        runtime: &Handle,
        limits: &LoadLimits,
    ) -> Option<Vec<Made>> {
        let definitions = plugin.definitions.as_ref()?;
        let (plugin, session, runtime) = (plugin.clone(), session.downgrade(), runtime.clone());
        let info = plugin.info.clone();
        let late = Arc::new(Self { plugin, session, runtime, limits: limits.clone(), tools: OnceCell::new() });
        let origin = ToolOrigin::new(&info.name, &info.version, &info.fingerprint);
        let tool = |definition: &ToolDefinition| {
            let (definition, origin, plugin) = (definition.clone(), origin.clone(), late.clone());
            Ok(Arc::new(LateTool { definition, origin, plugin }) as Arc<dyn Tool>)
        };
        Some(definitions.iter().map(tool).collect())
    }

    async fn open(&self) -> Result<&HashMap<String, Arc<dyn Tool>>, Failure> {
        self.tools.get_or_try_init(|| self.create()).await
    }

    async fn create(&self) -> Result<HashMap<String, Arc<dyn Tool>>, Failure> {
        let session = self.session.upgrade().ok_or_else(|| Failure::new("the session has ended"))?;
        let made = create(&self.plugin, &session, &self.runtime, &self.limits).await;
        let made = made.map_err(|failed| self.failed(failed))?;
        let tools: HashMap<_, _> =
            made.into_iter().filter_map(Result::ok).map(|tool| (tool.definition().name.clone(), tool)).collect();
        for tool in tools.values().filter(|tool| tool.watches_session()) {
            if let Err(failure) = tool.on_session(SessionStep::Start).await {
                let (plugin, tool) = (&self.plugin.info.name, &tool.definition().name);
                warn!(plugin, tool, "a tool failed at the start of its session: {failure}");
            }
        }
        Ok(tools)
    }

    fn failed(&self, failed: Failed) -> Failure {
        let plugin = self.plugin.info.name.clone();
        let kind = match failed {
            Failed::NotOpened(kind) => kind,
            Failed::TimedOut => LoadErrorKind::FactoryTimedOut { plugin, limit: self.limits.factory },
            Failed::Refused(failure) => {
                LoadErrorKind::FactoryFailed { plugin, code: failure.code, reason: failure.message }
            }
        };
        let error = crate::LoadError::new(&self.plugin.info.path, kind);
        let details = serde_json::to_value(&error).unwrap_or_default();
        Failure::new(error.to_string()).with_code(LOAD).with_details(details)
    }
}

/// A tool that is known by what it said of itself at an earlier start.
struct LateTool {
    definition: ToolDefinition,
    origin: ToolOrigin,
    plugin: Arc<LatePlugin>,
}

impl LateTool {
    /// The plugin's own tool, where the plugin is open.
    fn opened(&self) -> Option<&Arc<dyn Tool>> {
        self.plugin.tools.get()?.get(&self.definition.name)
    }

    fn not_there(&self) -> Failure {
        let (plugin, tool) = (&self.plugin.plugin.info.name, &self.definition.name);
        Failure::new(format!("`{plugin}` had a tool `{tool}` at an earlier start, and has none now")).with_code(LOAD)
    }
}

impl Tool for LateTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn refusal(&self) -> Option<String> {
        self.plugin.plugin.guard.refusal()
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        if let Some(tool) = self.opened() {
            return tool.execute(call);
        }
        let this =
            Self { definition: self.definition.clone(), origin: self.origin.clone(), plugin: self.plugin.clone() };
        Box::pin(async move {
            this.plugin.open().await?;
            let tool = this.opened().ok_or_else(|| this.not_there())?;
            if *tool.definition() != this.definition {
                let (plugin, tool) = (&this.plugin.plugin.info.name, &this.definition.name);
                warn!(plugin, tool, "the tool says other things of itself than at an earlier start");
            }
            tool.execute(call).await
        })
    }

    fn watches_session(&self) -> bool {
        self.opened().is_some_and(|tool| tool.watches_session())
    }

    fn on_session(&self, step: SessionStep) -> BoxFuture<Result<(), Failure>> {
        match self.opened() {
            Some(tool) => tool.on_session(step),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn render(&self, request: &RenderRequest) -> Result<Option<Vec<String>>, Failure> {
        if self.plugin.plugin.guard.hit().is_some() {
            return Ok(None);
        }
        self.plugin.runtime.block_on(self.plugin.open())?;
        self.opened().ok_or_else(|| self.not_there())?.render(request)
    }

    fn origin(&self) -> Option<&ToolOrigin> {
        Some(&self.origin)
    }
}
