use std::sync::Arc;

use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::call::CallObject;
use toolhost_abi::tool::Tool;
use toolhost_protocol::{Failure, ToolDefinition};

use super::guard::{GuardedFuture, NeedsRuntime, drop_guarded};
use super::host::{CallLink, HostLink};
use super::to_bytes;
use crate::call::ToolCall;
use crate::tool::{CustomTool, define};

/// A tool whose type is forgotten, still with everything that the boundary asks of it.
pub(crate) trait ErasedTool: Send + Sync {
    fn definition(&self) -> ToolDefinition;
    fn execute(self: Arc<Self>, host: HostLink, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes>;
}

pub(crate) struct Concrete<T>(pub(crate) T);

impl<T: CustomTool> ErasedTool for Concrete<T> {
    fn definition(&self) -> ToolDefinition {
        define(&self.0)
    }

    fn execute(self: Arc<Self>, host: HostLink, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes> {
        let (plugin, id) = (host.plugin(), call.id());
        let work = async move {
            let params = serde_json::from_slice(&params).map_err(|error| {
                Failure::new(format!("the parameters do not fit `{}`: {error}", T::NAME)).with_code("parameters")
            })?;
            self.0.execute(params, ToolCall::new(host, CallLink(call))).await.map_err(crate::ToolError::into_failure)
        };
        let guarded = GuardedFuture::new(plugin, id, NeedsRuntime::Yes, work);
        async move { to_bytes(guarded.await) }.into_ffi()
    }
}

pub(super) struct ToolAdapter {
    /// Empty only while it is dropped.
    tool: Option<Arc<dyn ErasedTool>>,
    definition: RVec<u8>,
    host: HostLink,
}

impl ToolAdapter {
    pub(super) fn new(host: HostLink, tool: Arc<dyn ErasedTool>, definition: Vec<u8>) -> Self {
        Self { tool: Some(tool), definition: definition.into(), host }
    }
}

impl Tool for ToolAdapter {
    fn definition(&self) -> RVec<u8> {
        self.definition.clone()
    }

    fn execute(&self, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes> {
        match &self.tool {
            Some(tool) => tool.clone().execute(self.host.clone(), params, call),
            None => nothing(),
        }
    }

    fn on_session(&self, _json: RVec<u8>) -> FfiFuture<Bytes> {
        nothing()
    }

    fn render(&self, _json: RVec<u8>) -> Bytes {
        null()
    }
}

fn nothing() -> FfiFuture<Bytes> {
    std::future::ready(null()).into_ffi()
}

fn null() -> Bytes {
    RResult::ROk(RVec::from_slice(b"null"))
}

impl Drop for ToolAdapter {
    fn drop(&mut self) {
        if let Err(failure) = drop_guarded(self.tool.take()) {
            self.host.report("a tool was dropped and", &failure);
        }
    }
}
