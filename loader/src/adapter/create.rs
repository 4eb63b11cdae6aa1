use std::sync::Arc;

use tokio::runtime::Handle;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::FfiFuture;
use toolhost_abi::host::HostObject;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_abi::root::{Created, PluginRootRef};
use toolhost_abi::tool::ToolObject;
use toolhost_core::{Failure, Session, Tool};
use toolhost_protocol::service::{EXEC, SESSION, UI};
use toolhost_protocol::{CreateRequest, JsonPath, PROTOCOL_VERSION};

use super::foreign::Foreign;
use super::tool::PluginTool;
use super::{encode, failure, host};
use crate::load::Loaded;
use crate::trust::Guarded;
use crate::watch::Mark;
use crate::{LoadErrorKind, LoadLimits};

/// Why a factory gave no tools.
pub(crate) enum Failed {
    NotOpened(LoadErrorKind),
    Refused(Failure),
    TimedOut,
}

/// A tool that can be registered, or why it cannot.
pub(crate) type Made = Result<Arc<dyn Tool>, LoadErrorKind>;

/// How a plugin's factory is reached.
#[derive(Clone)]
pub(crate) struct Entry {
    factory: Factory,
    mark: Mark,
}

#[derive(Clone)]
enum Factory {
    Library(PluginRootRef),
    Linked(LinkedPlugin),
}

impl Entry {
    pub(crate) fn library(root: PluginRootRef, mark: Mark) -> Self {
        Self { factory: Factory::Library(root), mark }
    }

    pub(crate) fn linked(plugin: LinkedPlugin, mark: Mark) -> Self {
        Self { factory: Factory::Linked(plugin), mark }
    }

    /// An address in the library; 0 where there is none.
    pub(crate) fn address(&self) -> usize {
        match &self.factory {
            Factory::Library(root) => root.create() as *const () as usize,
            Factory::Linked(_) => 0,
        }
    }

    fn create(&self, host: HostObject, request: RVec<u8>) -> Foreign<FfiFuture<Created>> {
        let create = || match &self.factory {
            Factory::Library(root) => root.create()(host, request),
            Factory::Linked(plugin) => plugin.create(host, request),
        };
        Foreign::new(self.mark, self.mark.within(create))
    }
}

/// Runs a plugin's factory for this session, on a thread that it may block.
pub(crate) async fn create(
    loaded: &Arc<Loaded>,
    session: &Session,
    runtime: &Handle,
    limits: &LoadLimits,
) -> Result<Vec<Made>, Failed> {
    let limit = limits.factory;
    let request = encode(&request(loaded, session));
    let opening = loaded.clone();
    let opened = runtime.spawn_blocking(move || opening.entry().cloned()).await;
    let entry = match opened {
        Ok(Ok(entry)) => entry,
        Ok(Err(kind)) => return Err(Failed::NotOpened(kind)),
        Err(error) => return Err(Failed::Refused(Failure::new(error.to_string()))),
    };
    let mark = entry.mark;
    let host = host::object(session.downgrade(), loaded, mark);
    let inner = runtime.clone();
    // A factory that awaits for too long is dropped, so that it does not keep its thread, and with it the runtime.
    let factory = async move { tokio::time::timeout(limit, entry.create(host, request)).await };
    let running = runtime.spawn_blocking(move || inner.block_on(factory));
    // One that blocks for too long is left behind. The timer belongs to the given runtime, whichever executor awaits.
    let waiting = runtime.spawn(async move { tokio::time::timeout(limit, running).await });
    match waiting.await {
        Ok(Ok(Ok(Ok(created)))) => tools(loaded, mark, created, limits),
        Ok(Err(_elapsed)) | Ok(Ok(Ok(Err(_elapsed)))) => Err(Failed::TimedOut),
        Ok(Ok(Err(error))) | Err(error) => Err(Failed::Refused(Failure::new(error.to_string()))),
    }
}

/// The tools, of which none beyond the limit is even asked what it is.
fn tools(loaded: &Loaded, mark: Mark, created: Created, limits: &LoadLimits) -> Result<Vec<Made>, Failed> {
    let plugin = &loaded.info;
    let objects: RVec<ToolObject> = match created {
        RResult::ROk(objects) => objects,
        RResult::RErr(json) => return Err(Failed::Refused(failure(&plugin.name, &json))),
    };
    // All of them are in its hands before any code of theirs runs.
    let hold = |object| Guarded::new(Foreign::new(mark, object), loaded.guard.clone());
    let objects: Vec<_> = objects.into_iter().map(hold).collect();
    let found = objects.len();
    let made = |(index, object)| {
        let tool = PluginTool::new(plugin.clone(), object, limits.definition_bytes);
        tool.map(|tool| Arc::new(tool) as Arc<dyn Tool>).map_err(|unusable| unusable.of(plugin, index, limits))
    };
    let mut made: Vec<Made> = objects.into_iter().take(limits.tools).enumerate().map(made).collect();
    if found > limits.tools {
        let plugin = plugin.name.clone();
        made.push(Err(LoadErrorKind::TooManyTools { plugin, found, limit: limits.tools }));
    }
    Ok(made)
}

fn request(loaded: &Loaded, session: &Session) -> CreateRequest {
    let mut request = CreateRequest::default();
    request.services = [EXEC, SESSION].into_iter().chain(session.has_ui().then_some(UI)).map(str::to_owned).collect();
    request.config = loaded.config.clone();
    request.protocol = PROTOCOL_VERSION;
    request.session_id = session.id().to_owned();
    request.cwd = JsonPath::from(session.cwd());
    request.plugin_dir = loaded.info.path.parent().map(JsonPath::from).unwrap_or_default();
    request
}
