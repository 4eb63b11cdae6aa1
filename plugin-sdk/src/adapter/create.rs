use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::host::HostObject;
use toolhost_abi::root::Created;
use toolhost_abi::tool::ToolObject;
use toolhost_protocol::{CreateRequest, Failure};

use super::guard::{GuardedFuture, NeedsRuntime};
use super::host::HostLink;
use super::tool::ToolAdapter;
use super::{encode, failure_bytes};
use crate::api::CustomToolApi;
use crate::factory::CustomToolFactory;
use crate::plugin::Plugin;

/// Runs a plugin's factory for one session.
pub fn create<M, F>(plugin: &'static Plugin, host: HostObject, request: RVec<u8>, factory: F) -> FfiFuture<Created>
where
    F: CustomToolFactory<M> + Send + 'static,
    M: 'static,
{
    let host = HostLink::new(plugin, host);
    let work = async move {
        let request: CreateRequest = serde_json::from_slice(&request)
            .map_err(|error| Failure::new(format!("the session cannot be read: {error}")))?;
        let api = CustomToolApi::new(host.clone(), request);
        let tools = factory.create(api).await.map_err(crate::ToolError::into_failure)?;
        let mut objects = RVec::with_capacity(tools.len());
        for tool in tools {
            let tool = tool.into_erased();
            let definition = encode(&tool.definition())?;
            objects.push(ToolObject::from_value(ToolAdapter::new(host.clone(), tool, definition), TD_Opaque));
        }
        Ok(objects)
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
