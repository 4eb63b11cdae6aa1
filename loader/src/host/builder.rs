use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_core::HostServices;

use super::{Host, Inner, LoadLimits};
use crate::cache::Cache;
use crate::load::{self, Loaded, Loading};
use crate::quarantine::Quarantine;
use crate::{CodeWatch, FirstSight, Quarantined};

/// Why no host could be made. What is wrong with a plugin is no reason: see [`Host::load_errors`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No runtime was given, and none is running here.
    #[error("no tokio runtime was given, and none is running here")]
    NoRuntime,
    /// No directory was given for copies of plugins, and this user has none for caches.
    #[error("this user has no cache directory; set HOME or XDG_CACHE_HOME, or give a directory")]
    NoCacheDirectory,
    /// The runtime has no time driver, without which nothing can be bounded.
    #[error("the tokio runtime has no time driver; build it with `enable_time` or `enable_all`")]
    NoTimer,
    /// The runtime was shut down meanwhile.
    #[error("the runtime was shut down while plugins were loaded")]
    RuntimeGone,
}

/// Collects what a [`Host`] is made of.
#[derive(Clone, Default)]
#[must_use = "a host is made by `build`"]
pub struct HostBuilder {
    runtime: Option<Handle>,
    linked: Vec<LinkedPlugin>,
    plugins: Vec<PathBuf>,
    services: Option<Arc<dyn HostServices>>,
    configs: HashMap<String, Value>,
    cache: Option<PathBuf>,
    late: bool,
    first_sight: Option<FirstSight>,
    quarantined: Vec<Quarantined>,
    watch: Option<&'static dyn CodeWatch>,
    limits: LoadLimits,
}

impl HostBuilder {
    /// The runtime for everything that the host runs; by default the one that [`build`](Self::build) is called in. It
    /// needs its time driver.
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// A plugin's file, or a directory whose `.so` (`.dylib`) files are plugins. Naming it is trusting it: its code
    /// runs with this process's rights.
    pub fn plugin(mut self, path: impl Into<PathBuf>) -> Self {
        self.plugins.push(path.into());
        self
    }

    /// A plugin that is linked into this program. Linked plugins come before those from files.
    pub fn linked(mut self, plugin: LinkedPlugin) -> Self {
        self.linked.push(plugin);
        self
    }

    /// What plugins may ask of this program: to run programs, a person to ask. By default programs are refused, and
    /// there is nobody to ask. A session's own [`services`](SessionOptions::services) come before these.
    pub fn services(mut self, services: impl HostServices) -> Self {
        self.services = Some(Arc::new(services));
        self
    }

    /// The settings of the plugin with this name, which it reads for itself. A wrong one is an error of each session.
    pub fn config(mut self, plugin: impl Into<String>, settings: Value) -> Self {
        self.configs.insert(plugin.into(), settings);
        self
    }

    /// The directory for private copies of plugins; by default `toolhost/plugins` in the user's cache directory.
    pub fn cache_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.cache = Some(path.into());
        self
    }

    /// Opens a plugin only when one of its tools is called, where what they say of themselves is known from an earlier
    /// start: for the same bytes, the same settings and the same version of toolhost. Off by default. A plugin that
    /// decides at run time what tools it has is always opened. That one cannot be opened after all is an error of the
    /// call.
    pub fn open_late(mut self, late: bool) -> Self {
        self.late = late;
        self
    }

    /// Looks at the code of new plugins in a child process first. One that ends it, or hangs there, is not loaded. Off by
    /// default: a plugin that crashes takes this process with it.
    pub fn first_sight(mut self, first_sight: FirstSight) -> Self {
        self.first_sight = Some(first_sight);
        self
    }

    /// Plugins that are not to be loaded, since they ended a process; adds to those that were given before. Linked plugins
    /// are no files that could be refused.
    pub fn quarantined(mut self, quarantined: impl IntoIterator<Item = Quarantined>) -> Self {
        self.quarantined.extend(quarantined);
        self
    }

    /// Tells this whose code the threads of this process run. Nobody is told by default.
    pub fn watch(mut self, watch: &'static dyn CodeWatch) -> Self {
        self.watch = Some(watch);
        self
    }

    /// How long things may take.
    pub fn limits(mut self, limits: LoadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Loads the plugins, in the order in which they were named; those of a directory by name, each real file once.
    ///
    /// # Errors
    ///
    /// Only where there is nothing to load with. A plugin that cannot be loaded is left out, and
    /// [`Host::load_errors`] says why.
    pub async fn build(self) -> Result<Host, BuildError> {
        let runtime = self.runtime.or_else(|| Handle::try_current().ok()).ok_or(BuildError::NoRuntime)?;
        if !has_timer(&runtime) {
            return Err(BuildError::NoTimer);
        }
        let configs = self.configs;
        let linked = self.linked.into_iter().map(|plugin| Arc::new(Loaded::linked(plugin, &configs, self.watch)));
        let mut plugins: Vec<_> = linked.collect();
        let mut known = None;
        let mut errors = Vec::new();
        if !self.plugins.is_empty() {
            let cache = Cache::new(self.cache.or_else(default_cache).ok_or(BuildError::NoCacheDirectory)?);
            known = self.late.then(|| cache.root().to_owned());
            let first_sight = self.first_sight.map(|first_sight| (first_sight, runtime.clone()));
            let (late, factory_limit) = (self.late, self.limits.factory);
            let (quarantine, watch) = (Quarantine::new(self.quarantined), self.watch);
            let loading = Loading { cache, configs, late, first_sight, factory_limit, quarantine, watch };
            let paths = self.plugins;
            let loading = runtime.spawn_blocking(move || load::all(&paths, &loading));
            let (loaded, failed) = loading.await.map_err(|_| BuildError::RuntimeGone)?;
            plugins.extend(loaded.into_iter().map(Arc::new));
            errors = failed;
        }
        let (services, limits) = (self.services, self.limits);
        Ok(Host { inner: Arc::new(Inner { runtime, plugins, errors, services, limits, known }) })
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("linked", &self.linked)
            .field("plugins", &self.plugins)
            .field("services", &self.services.is_some())
            .field("configs", &self.configs.keys())
            .field("cache", &self.cache)
            .field("open_late", &self.late)
            .field("first_sight", &self.first_sight)
            .field("quarantined", &self.quarantined)
            .field("watch", &self.watch.is_some())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Tokio says so only by a panic.
fn has_timer(runtime: &Handle) -> bool {
    let _entered = runtime.enter();
    std::panic::catch_unwind(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

fn default_cache() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    etcetera::choose_base_strategy().ok().map(|directories| directories.cache_dir().join("toolhost/plugins"))
}
