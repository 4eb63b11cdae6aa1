use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::call::CallObject;
use toolhost_abi::change::ChangeObject;
use toolhost_abi::host::HostObject;
use toolhost_protocol::{AgentToolResult, Failure, LogRecord, PushReceipt};

use super::change::ChangeAdapter;
use super::{encode, from_bytes};
use crate::bridge;
use crate::pending::{self, StagedChange};
use crate::plugin::Plugin;

/// The host as this plugin's code reaches it.
#[derive(Clone)]
pub(crate) struct HostLink {
    plugin: &'static Plugin,
    host: HostObject,
}

impl HostLink {
    pub(super) fn new(plugin: &'static Plugin, host: HostObject) -> Self {
        Self { plugin, host }
    }

    pub(super) fn plugin(&self) -> &'static Plugin {
        self.plugin
    }

    /// Pushes for the call with this id; 0 where no call is running.
    pub(crate) fn push(&self, call: u64, change: impl StagedChange) -> Result<String, Failure> {
        let head = pending::head(&change);
        let json = encode(&head)?;
        let change = ChangeObject::from_value(ChangeAdapter::new(self.clone(), head.label, change), TD_Opaque);
        let answer = from_bytes(self.host.push_pending_action(call, json.into(), change))?;
        Ok(parse::<PushReceipt>(&answer)?.id)
    }

    /// Asks for a service on behalf of the call with this id. The host is asked before this returns; the future is of
    /// its answer.
    pub(crate) fn ask<T, R>(
        &self,
        call: u64,
        service: &str,
        request: &R,
    ) -> impl Future<Output = Result<T, Failure>> + Send + use<T, R>
    where
        T: DeserializeOwned,
        R: Serialize + ?Sized,
    {
        let asked = encode(request).map(|json| self.host.call(call, service.into(), json.into()));
        async move { parse(&from_bytes(asked?.await)?) }
    }

    /// Reports a failure that has no caller, such as a panic in a destructor.
    pub(super) fn report(&self, what: &str, failure: &Failure) {
        if self.host.log_level() >= bridge::ERROR {
            let mut record = LogRecord::default();
            record.target = self.plugin.name().to_owned();
            record.message = format!("{what} {failure}");
            bridge::send(&self.host, bridge::ERROR, record);
        }
    }
}

impl fmt::Debug for HostLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostLink").field("plugin", self.plugin).finish_non_exhaustive()
    }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| Failure::new(format!("the host's answer cannot be read: {error}")))
}

/// One tool call as this plugin's code reaches it.
#[derive(Clone)]
pub(crate) struct CallLink(pub(super) CallObject);

impl CallLink {
    pub(crate) fn id(&self) -> u64 {
        self.0.id()
    }

    pub(crate) fn update(&self, partial: &AgentToolResult) -> bool {
        encode(partial).is_ok_and(|json| self.0.update(json.into()))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.cancelled()
    }
}

impl fmt::Debug for CallLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallLink").field(&self.id()).finish()
    }
}
