use std::sync::Arc;

use serde_json::json;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::host::HostObject;
use toolhost_abi::root::Created;
use toolhost_abi::tool::ToolObject;
use toolhost_protocol::{CreateRequest, Failure};

use super::guard::{GuardedFuture, NeedsRuntime, drop_guarded, guarded};
use super::host::HostLink;
use super::tool::ToolAdapter;
use super::{encode, failure_bytes};
use crate::plugin::Plugin;
use crate::{AnyTool, CustomToolApi, CustomToolFactory};

/// Makes a plugin's factory, and runs it for one session.
pub(crate) fn create<M, F>(
    plugin: &'static Plugin,
    host: HostObject,
    request: RVec<u8>,
    make: fn() -> F,
) -> FfiFuture<Created>
where
    F: CustomToolFactory<M>,
{
    // Not under the guard: it is not the author's code, and what it sets up is what reports a panic.
    plugin.connect(&host);
    run(plugin, host, request, move || Arc::new(Kept::new(make())))
}

/// Runs the factory of a plugin that is part of its host's program.
pub(crate) fn create_linked<M, F>(
    plugin: &'static Plugin,
    host: HostObject,
    request: RVec<u8>,
    factory: &Arc<Kept<F>>,
) -> FfiFuture<Created>
where
    F: CustomToolFactory<M>,
{
    let factory = factory.clone();
    run(plugin, host, request, move || factory)
}

/// A factory, which may panic as it goes: what it made stands, and a host that drops a linked one hears nothing of it.
pub(crate) struct Kept<F> {
    /// Empty only while it is dropped.
    factory: Option<F>,
}

impl<F> Kept<F> {
    pub(crate) fn new(factory: F) -> Self {
        Self { factory: Some(factory) }
    }
}

impl<F> Drop for Kept<F> {
    fn drop(&mut self) {
        // The panic itself is on record: by the hook of the plugin, or of the program that it is linked into.
        let _ = drop_guarded(self.factory.take());
    }
}

fn run<M, F>(
    plugin: &'static Plugin,
    host: HostObject,
    request: RVec<u8>,
    make: impl FnOnce() -> Arc<Kept<F>> + Send + 'static,
) -> FfiFuture<Created>
where
    F: CustomToolFactory<M>,
{
    let host = HostLink::new(plugin, host);
    let work = async move {
        let request: CreateRequest = serde_json::from_slice(&request)
            .map_err(|error| Failure::new(format!("the session cannot be read: {error}")))?;
        let api = CustomToolApi::new(host.clone(), request);
        let kept = make();
        let factory = kept.factory.as_ref().ok_or_else(|| Failure::new("the factory is gone"))?;
        let tools = factory.create(api).await.map_err(crate::ToolError::into_failure)?;
        Ok(tools.into_iter().map(|tool| object(&host, tool)).collect::<RVec<_>>())
    };
    let runtime = if F::ASYNC { NeedsRuntime::Yes } else { NeedsRuntime::OnlyIfStarted };
    let guarded = GuardedFuture::new(plugin, 0, runtime, work);
    async move {
        match guarded.await {
            Ok(objects) => RResult::ROk(objects),
            Err(failure) => RResult::RErr(failure_bytes(&failure)),
        }
    }
    .into_ffi()
}

/// A tool as it crosses. One that cannot say what it is crosses too, with the reason, so that the others load.
fn object(host: &HostLink, tool: AnyTool) -> ToolObject {
    let tool = tool.into_erased();
    let definition = guarded(|| tool.definition());
    let name = definition.as_ref().map(|definition| definition.name.clone()).unwrap_or_default();
    let definition = definition.and_then(|definition| encode(&definition));
    let definition = definition.unwrap_or_else(|failure| encode(&json!({ "failure": failure })).unwrap_or_default());
    ToolObject::from_value(ToolAdapter::new(host.clone(), tool, name, definition), TD_Opaque)
}
