use std::sync::Arc;

use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RResult, RSlice, RStr, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::change::ChangeObject;
use toolhost_abi::host::{Host, HostObject};
use toolhost_core::{Failure, WeakSession};
use toolhost_protocol::{PendingHead, PushReceipt};

use super::foreign::Foreign;
use super::log::PluginLog;
use super::{answer, change, guarded};
use crate::PluginInfo;
use crate::load::Loaded;
use crate::names::ToolNames;
use crate::trust::{Guard, Guarded};
use crate::watch::Mark;

/// The host as one plugin in one session sees it. It keeps neither alive: the session owns the plugin's tools, and
/// those own this.
#[derive(Clone)]
struct HostAdapter {
    session: WeakSession,
    plugin: Arc<PluginInfo>,
    log: Arc<PluginLog>,
    guard: Arc<Guard>,
    names: Arc<ToolNames>,
    mark: Mark,
}

pub(super) fn object(session: WeakSession, loaded: &Loaded, mark: Mark) -> HostObject {
    let (plugin, log) = (loaded.info.clone(), loaded.log.clone());
    let (guard, names) = (loaded.guard.clone(), loaded.names.clone());
    HostObject::from_value(HostAdapter { session, plugin, log, guard, names, mark }, TD_Opaque)
}

impl HostAdapter {
    fn push(&self, call: u64, head: &[u8], change: Guarded<Foreign<ChangeObject>>) -> Result<PushReceipt, Failure> {
        let mut head: PendingHead = serde_json::from_slice(head)
            .map_err(|error| Failure::new(format!("the pending action cannot be read: {error}")))?;
        head.source_tool_name = head.source_tool_name.map(|own| self.names.in_host(own));
        let action = change::action(self.plugin.name.clone(), head, change);
        let id = self.session.push_pending_action(call, action).map_err(|error| Failure::new(error.to_string()))?;
        Ok(PushReceipt::new(id))
    }
}

impl Host for HostAdapter {
    fn push_pending_action(&self, call: u64, head: RVec<u8>, change: ChangeObject) -> Bytes {
        let change = Guarded::new(Foreign::new(self.mark, change), self.guard.clone());
        guarded(|| answer(self.push(call, &head, change)))
            .unwrap_or_else(|| answer::<()>(Err(Failure::new("the host could not take the pending action"))))
    }

    fn log_level(&self) -> u8 {
        PluginLog::level()
    }

    fn log(&self, level: u8, record: RSlice<'_, u8>) {
        // A subscriber that panics has nowhere to report to.
        guarded(|| self.log.log(level, record.as_slice())).unwrap_or_default();
    }

    fn call(&self, call: u64, method: RStr<'_>, json: RVec<u8>) -> FfiFuture<Bytes> {
        let served = guarded(|| self.session.serve(&self.plugin.name, call, method.as_str(), &json));
        match served {
            Some(served) => async move { answered(served.await) }.into_ffi(),
            None => {
                let text = format!("the host could not serve `{method}`");
                std::future::ready(answered(Err(Failure::new(text)))).into_ffi()
            }
        }
    }
}

fn answered(served: Result<Vec<u8>, Failure>) -> Bytes {
    match served {
        Ok(json) => RResult::ROk(json.into()),
        Err(failure) => answer::<()>(Err(failure)),
    }
}
