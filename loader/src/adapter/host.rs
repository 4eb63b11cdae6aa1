use std::sync::Arc;

use serde::Deserialize;
use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::{RSlice, RStr, RVec};
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::change::ChangeObject;
use toolhost_abi::host::{Host, HostObject};
use toolhost_core::{Failure, WeakSession};
use toolhost_protocol::{PendingHead, PushReceipt};
use tracing::level_filters::LevelFilter;
use tracing::{debug, error, info, trace, warn};

use super::{answer, change, guarded};
use crate::PluginInfo;

/// The host as one plugin in one session sees it. It keeps neither alive: the session owns the plugin's tools, and
/// those own this.
#[derive(Clone)]
struct HostAdapter {
    session: WeakSession,
    plugin: Arc<PluginInfo>,
}

pub(super) fn object(session: WeakSession, plugin: Arc<PluginInfo>) -> HostObject {
    HostObject::from_value(HostAdapter { session, plugin }, TD_Opaque)
}

/// What a plugin hands over for the log; what is unreadable is logged as it is.
#[derive(Deserialize)]
struct Record {
    message: String,
    #[serde(default)]
    target: String,
}

impl HostAdapter {
    fn push(&self, call: u64, head: &[u8], change: ChangeObject) -> Result<PushReceipt, Failure> {
        let head: PendingHead = serde_json::from_slice(head)
            .map_err(|error| Failure::new(format!("the pending action cannot be read: {error}")))?;
        let action = change::action(self.plugin.name.clone(), head, change);
        let id = self.session.push_pending_action(call, action).map_err(|error| Failure::new(error.to_string()))?;
        Ok(PushReceipt::new(id))
    }
}

impl Host for HostAdapter {
    fn push_pending_action(&self, call: u64, head: RVec<u8>, change: ChangeObject) -> Bytes {
        guarded(|| answer(self.push(call, &head, change)))
            .unwrap_or_else(|| answer::<()>(Err(Failure::new("the host could not take the pending action"))))
    }

    fn log_level(&self) -> u8 {
        match LevelFilter::current() {
            LevelFilter::OFF => 0,
            LevelFilter::ERROR => 1,
            LevelFilter::WARN => 2,
            LevelFilter::INFO => 3,
            LevelFilter::DEBUG => 4,
            LevelFilter::TRACE => 5,
        }
    }

    fn log(&self, level: u8, record: RSlice<'_, u8>) {
        let logged = guarded(|| {
            let plugin = &*self.plugin.name;
            let record = serde_json::from_slice(record.as_slice()).unwrap_or_else(|_| Record {
                message: String::from_utf8_lossy(record.as_slice()).into_owned(),
                target: String::new(),
            });
            let Record { message, target } = record;
            match level {
                0 => {}
                1 => error!(plugin, target, "{message}"),
                2 => warn!(plugin, target, "{message}"),
                3 => info!(plugin, target, "{message}"),
                4 => debug!(plugin, target, "{message}"),
                _ => trace!(plugin, target, "{message}"),
            }
        });
        // A subscriber that panics has nowhere to report to.
        logged.unwrap_or_default();
    }

    fn call(&self, _call: u64, method: RStr<'_>, _json: RVec<u8>) -> FfiFuture<Bytes> {
        let text = format!("this host offers no service `{method}`");
        let refused = answer::<()>(Err(Failure::new(text).with_code("unknown-service")));
        std::future::ready(refused).into_ffi()
    }
}
