use std::fmt;

use once_cell::sync::OnceCell;
use tokio::runtime::{Builder, EnterGuard, Runtime};
use toolhost_abi::host::HostObject;
use toolhost_protocol::Failure;

use crate::bridge::Bridge;

/// What one plugin has for itself in a process: who it is, its async runtime, its way to the host's log.
///
/// It is a static of the plugin, not of this crate, since plugins that are linked into one host share this crate.
#[derive(Debug)]
pub struct Plugin {
    name: &'static str,
    own: Option<Own>,
}

/// What a plugin has that shares no code with its host. A linked one uses the host's own.
#[derive(Default)]
struct Own {
    runtime: OnceCell<Runtime>,
    bridge: OnceCell<Bridge>,
}

impl Plugin {
    /// A plugin of its own library; nothing is started.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, own: Some(Own { runtime: OnceCell::new(), bridge: OnceCell::new() }) }
    }

    /// A plugin that is part of its host's program.
    pub(crate) const fn linked(name: &'static str) -> Self {
        Self { name, own: None }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Connects the plugin's log and its panics with the host, once.
    pub(crate) fn connect(&'static self, host: &HostObject) {
        if let Some(own) = &self.own {
            own.bridge.get_or_init(|| Bridge::connect(self.name, host.clone()));
        }
    }

    /// Enters the plugin's code: its log is as verbose as the host wants it now, and its runtime is current. Both last
    /// as long as what this returns.
    ///
    /// The runtime is started on first use where `needed` says so: one thread and a few descriptors that an idle plugin
    /// does without.
    pub(crate) fn enter(&self, needed: NeedsRuntime) -> Result<Option<EnterGuard<'_>>, Failure> {
        let Some(own) = &self.own else {
            return Ok(None);
        };
        if let Some(bridge) = own.bridge.get() {
            bridge.follow_level();
        }
        let runtime = match needed {
            NeedsRuntime::Yes => Some(own.runtime.get_or_try_init(|| self.start())?),
            NeedsRuntime::OnlyIfStarted => own.runtime.get(),
        };
        Ok(runtime.map(Runtime::enter))
    }

    fn start(&self) -> Result<Runtime, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(1).thread_name(self.name).enable_all().build();
        runtime.map_err(|error| {
            Failure::new(format!("plugin `{}` cannot start its async runtime: {error}", self.name)).with_code("runtime")
        })
    }
}

/// Whether entering a plugin's code starts its runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NeedsRuntime {
    Yes,
    OnlyIfStarted,
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Own").field("started", &self.runtime.get().is_some()).finish_non_exhaustive()
    }
}
