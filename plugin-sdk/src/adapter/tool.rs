use std::sync::Arc;

use serde_json::Value;
use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::call::CallObject;
use toolhost_abi::tool::Tool;
use toolhost_protocol::{Failure, RenderRequest, SessionStep, ToolDefinition};

use super::depth;
use super::guard::{GuardedFuture, NeedsRuntime, drop_guarded, guarded_within};
use super::host::{CallLink, HostLink};
use super::to_bytes;
use crate::parameters::Parameters;
use crate::{CustomTool, DynamicTool, ToolCall, ToolError, ToolResult, View, dynamic, tool};

/// A tool whose type is forgotten, still with everything that the boundary asks of it.
pub(crate) trait ErasedTool: Send + Sync {
    fn definition(&self) -> ToolDefinition;
    fn watches_session(&self) -> bool;
    fn execute(self: Arc<Self>, host: HostLink, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes>;
    fn on_session(self: Arc<Self>, host: HostLink, step: RVec<u8>) -> FfiFuture<Bytes>;
    fn render(&self, request: RenderRequest) -> Option<Vec<String>>;
}

pub(crate) struct Concrete<T>(pub(crate) T);

impl<T: CustomTool> ErasedTool for Concrete<T> {
    fn definition(&self) -> ToolDefinition {
        tool::define(&self.0)
    }

    fn watches_session(&self) -> bool {
        tool::watches_session(T::on_session)
    }

    fn execute(self: Arc<Self>, host: HostLink, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes> {
        call_of(host, call, move |call| async move { self.0.execute(T::Params::from_json(&params)?, call).await })
    }

    fn on_session(self: Arc<Self>, host: HostLink, step: RVec<u8>) -> FfiFuture<Bytes> {
        let watches = self.watches_session();
        step_of(host, watches, async move { self.0.on_session(parse_step(&step)?).await })
    }

    fn render(&self, request: RenderRequest) -> Option<Vec<String>> {
        match request {
            RenderRequest::Call { parameters, width } => {
                let params = T::Params::from_value(parameters).ok()?;
                self.0.render_call(&params, View::new(width))
            }
            RenderRequest::Result { result, width, expanded } => {
                self.0.render_result(&result, View::new(width).expanded(expanded))
            }
            _ => None,
        }
    }
}

/// A tool that is made from data.
pub(crate) struct Dynamic<T>(pub(crate) T);

impl<T: DynamicTool> ErasedTool for Dynamic<T> {
    fn definition(&self) -> ToolDefinition {
        dynamic::define(&self.0)
    }

    fn watches_session(&self) -> bool {
        tool::watches_session(T::on_session)
    }

    fn execute(self: Arc<Self>, host: HostLink, params: RVec<u8>, call: CallObject) -> FfiFuture<Bytes> {
        call_of(host, call, move |call| async move { self.0.execute(Value::from_json(&params)?, call).await })
    }

    fn on_session(self: Arc<Self>, host: HostLink, step: RVec<u8>) -> FfiFuture<Bytes> {
        let watches = self.watches_session();
        step_of(host, watches, async move { self.0.on_session(parse_step(&step)?).await })
    }

    fn render(&self, request: RenderRequest) -> Option<Vec<String>> {
        match request {
            RenderRequest::Call { parameters, width } => self.0.render_call(&parameters, View::new(width)),
            RenderRequest::Result { result, width, expanded } => {
                self.0.render_result(&result, View::new(width).expanded(expanded))
            }
            _ => None,
        }
    }
}

/// One call of a tool's code.
fn call_of<F, Fut>(host: HostLink, call: CallObject, execute: F) -> FfiFuture<Bytes>
where
    F: FnOnce(ToolCall) -> Fut + Send + 'static,
    Fut: Future<Output = ToolResult> + Send + 'static,
{
    let (plugin, id) = (host.plugin(), call.id());
    let work = async move {
        let result = execute(ToolCall::new(host, CallLink(call))).await;
        result.map_err(|error| depth::failure_without_too_deep(error.into_failure())).and_then(depth::checked)
    };
    let guarded = GuardedFuture::new(plugin, id, NeedsRuntime::Yes, work);
    async move { to_bytes(guarded.await) }.into_ffi()
}

/// One step in a session's life. Most tools do nothing at it, and that must not cost an idle plugin its runtime: a host
/// that is too old to know tells them all the same.
fn step_of<Fut>(host: HostLink, watches: bool, hear: Fut) -> FfiFuture<Bytes>
where
    Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
{
    let runtime = if watches { NeedsRuntime::Yes } else { NeedsRuntime::OnlyIfStarted };
    let work = async move { hear.await.map_err(ToolError::into_failure) };
    let guarded = GuardedFuture::new(host.plugin(), 0, runtime, work);
    async move { to_bytes(guarded.await) }.into_ffi()
}

fn parse_step(json: &[u8]) -> Result<SessionStep, Failure> {
    serde_json::from_slice(json).map_err(|error| Failure::new(format!("the session's step cannot be read: {error}")))
}

pub(super) struct ToolAdapter {
    /// Empty only while it is dropped.
    tool: Option<Arc<dyn ErasedTool>>,
    /// Empty where it could not say.
    name: String,
    definition: RVec<u8>,
    host: HostLink,
}

impl ToolAdapter {
    pub(super) fn new(host: HostLink, tool: Arc<dyn ErasedTool>, name: String, definition: Vec<u8>) -> Self {
        Self { tool: Some(tool), name, definition: definition.into(), host }
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

    fn on_session(&self, json: RVec<u8>) -> FfiFuture<Bytes> {
        match &self.tool {
            Some(tool) => tool.clone().on_session(self.host.clone(), json),
            None => nothing(),
        }
    }

    fn render(&self, json: RVec<u8>) -> Bytes {
        let Some(tool) = &self.tool else {
            return null();
        };
        let render = || {
            let request = serde_json::from_slice(&json)
                .map_err(|error| Failure::new(format!("what is to be rendered cannot be read: {error}")))?;
            Ok(tool.render(request))
        };
        to_bytes(
            guarded_within(self.host.plugin(), NeedsRuntime::OnlyIfStarted, 0, render).and_then(|rendered| rendered),
        )
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
            let tool = if self.name.is_empty() { "a tool".to_owned() } else { format!("the tool `{}`", self.name) };
            self.host.report(&format!("{tool} was dropped and"), &failure);
        }
    }
}
