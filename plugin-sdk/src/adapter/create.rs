use std::borrow::Borrow;
use std::sync::Arc;

use serde_json::json;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::host::HostObject;
use toolhost_abi::root::Created;
use toolhost_abi::tool::ToolObject;
use toolhost_protocol::{CreateRequest, Failure};

use super::guard::{GuardedFuture, NeedsRuntime, guarded};
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
    run::<M, F, F>(plugin, host, request, make)
}

/// Runs the factory of a plugin that is part of its host's program.
pub(crate) fn create_linked<M, F>(
    plugin: &'static Plugin,
    host: HostObject,
    request: RVec<u8>,
    factory: &Arc<F>,
) -> FfiFuture<Created>
where
    F: CustomToolFactory<M>,
{
    let factory = factory.clone();
    run::<M, F, _>(plugin, host, request, move || factory)
}

fn run<M, F, B>(
    plugin: &'static Plugin,
    host: HostObject,
    request: RVec<u8>,
    make: impl FnOnce() -> B + Send + 'static,
) -> FfiFuture<Created>
where
    F: CustomToolFactory<M>,
    B: Borrow<F> + Send + Sync + 'static,
{
    let host = HostLink::new(plugin, host);
    let work = async move {
        let request: CreateRequest = serde_json::from_slice(&request)
            .map_err(|error| Failure::new(format!("the session cannot be read: {error}")))?;
        let api = CustomToolApi::new(host.clone(), request);
        let factory = make();
        let tools = factory.borrow().create(api).await.map_err(crate::ToolError::into_failure)?;
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
    let definition = guarded(|| tool.definition()).and_then(|definition| encode(&definition));
    let definition = definition.unwrap_or_else(|failure| encode(&json!({ "failure": failure })).unwrap_or_default());
    ToolObject::from_value(ToolAdapter::new(host.clone(), tool, definition), TD_Opaque)
}
