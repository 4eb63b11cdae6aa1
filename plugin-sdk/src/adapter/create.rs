use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::host::HostObject;
use toolhost_abi::root::Created;
use toolhost_abi::tool::ToolObject;
use toolhost_protocol::{CreateRequest, Failure, ToolDefinition, ToolHints};

use super::guard::{GuardedFuture, NeedsRuntime, drop_guarded, guarded};
use super::host::HostLink;
use super::tool::{ErasedTool, ToolAdapter};
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

/// What a tool says of itself, as one object.
#[derive(Serialize)]
struct Said {
    #[serde(flatten)]
    definition: ToolDefinition,
    #[serde(flatten)]
    hints: ToolHints,
}

impl Said {
    fn by(tool: &dyn ErasedTool) -> Self {
        let mut hints = ToolHints::default();
        hints.watches_session = tool.watches_session();
        Self { definition: tool.definition(), hints }
    }
}

/// A tool as it crosses. One that cannot say what it is crosses too, with the reason, so that the others load.
fn object(host: &HostLink, tool: AnyTool) -> ToolObject {
    let tool = tool.into_erased();
    let said = guarded(|| Said::by(&*tool));
    let name = said.as_ref().map(|said| said.definition.name.clone()).unwrap_or_default();
    let definition = said.and_then(|said| encode(&said));
    let definition = definition.unwrap_or_else(|failure| encode(&json!({ "failure": failure })).unwrap_or_default());
    ToolObject::from_value(ToolAdapter::new(host.clone(), tool, name, definition), TD_Opaque)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::{Concrete, Dynamic};
    use crate::prelude::*;

    /// What a host is told of the tool, beside what a definition has in any case.
    fn said(tool: &dyn ErasedTool) -> Value {
        let mut said = serde_json::to_value(Said::by(tool)).unwrap();
        for known in ["label", "description", "parameters", "effect"] {
            assert!(said.as_object_mut().unwrap().remove(known).is_some(), "{known}");
        }
        said
    }

    #[test]
    fn a_host_is_told_which_tools_do_nothing_at_a_step() {
        struct Quiet;
        struct Watching;
        /// Does its work before the future, which has no size.
        struct Eager;
        macro_rules! tool {
            ($type:ident { $($more:tt)* }) => {
                impl CustomTool for $type {
                    const NAME: &'static str = "x";
                    const LABEL: &'static str = "X";
                    const DESCRIPTION: &'static str = "";
                    type Params = NoParams;
                    async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
                        Ok("".into())
                    }
                    $($more)*
                }
            };
        }
        tool!(Quiet {});
        tool!(Watching {
            async fn on_session(&self, _step: SessionStep) -> Result<(), ToolError> {
                Ok(())
            }
        });
        struct Done;
        impl Future for Done {
            type Output = Result<(), ToolError>;
            fn poll(self: std::pin::Pin<&mut Self>, _cx: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
                std::task::Poll::Ready(Ok(()))
            }
        }
        tool!(Eager {
            fn on_session(&self, _step: SessionStep) -> impl Future<Output = Result<(), ToolError>> + Send {
                Done
            }
        });
        assert_eq!(said(&Concrete(Quiet)), json!({"name": "x", "watchesSession": false}));
        assert_eq!(said(&Concrete(Watching)), json!({"name": "x"}));
        assert_eq!(said(&Concrete(Eager)), json!({"name": "x"}));

        struct Made;
        impl DynamicTool for Made {
            fn name(&self) -> String {
                "x".to_owned()
            }
            fn description(&self) -> String {
                String::new()
            }
            fn schema(&self) -> Value {
                json!({})
            }
            async fn execute(&self, _params: Value, _call: ToolCall) -> ToolResult {
                Ok("".into())
            }
        }
        assert_eq!(said(&Dynamic(Made)), json!({"name": "x", "watchesSession": false}));
    }
}
