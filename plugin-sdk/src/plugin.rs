use once_cell::sync::OnceCell;
use tokio::runtime::{Builder, Runtime};
use toolhost_protocol::Failure;

/// What one plugin has for itself in a process: who it is, and its async runtime.
///
/// It is a static of the plugin, not of this crate, since plugins that are linked into one host share this crate.
#[derive(Debug)]
pub struct Plugin {
    name: &'static str,
    runtime: OnceCell<Runtime>,
}

impl Plugin {
    /// The plugin of the package with this name; nothing is started.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self { name, runtime: OnceCell::new() }
    }

    /// The runtime, started on first use: one thread and a few descriptors that an idle plugin does without.
    pub(crate) fn runtime(&self) -> Result<&Runtime, Failure> {
        self.runtime.get_or_try_init(|| {
            Builder::new_multi_thread().worker_threads(1).thread_name(self.name).enable_all().build().map_err(|error| {
                Failure::new(format!("plugin `{}` cannot start its async runtime: {error}", self.name))
                    .with_code("runtime")
            })
        })
    }

    pub(crate) fn started_runtime(&self) -> Option<&Runtime> {
        self.runtime.get()
    }
}
