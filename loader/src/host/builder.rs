use std::collections::{HashMap, HashSet};
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
use crate::discover::Place;
use crate::load::{Found, Given, Loading};
use crate::names::Rename;
use crate::quarantine::Quarantine;
use crate::trust::{Block, Blocks, Policy, Trust, TrustStore};
use crate::{CodeWatch, FirstSight, PluginInfo, Quarantined};

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
    places: Vec<Place>,
    disabled: HashSet<String>,
    reserved: HashSet<String>,
    rename: Option<Rename>,
    blocks: Vec<Block>,
    block_lists: Vec<PathBuf>,
    trust_records: Vec<PathBuf>,
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
    /// runs with this process's rights. It has to be there, and to hold a plugin.
    ///
    /// Of the paths that are named one after the other none comes before the others: plugins of one name from two of
    /// them are both loaded, and each tool belongs to the first that has it.
    pub fn plugin(self, path: impl Into<PathBuf>) -> Self {
        self.plugin_trusted(path, Trust::Given)
    }

    /// The same, but loaded only where this trust allows it.
    pub fn plugin_trusted(mut self, path: impl Into<PathBuf>, trust: Trust) -> Self {
        self.places.push(Place { path: path.into(), trust, named: true });
        self
    }

    /// A directory in which plugins are looked for, with the reason to trust those in it. It need not be there, or hold
    /// any.
    ///
    /// Directories come in the order in which they are given. A plugin whose name, or whose content, an earlier one has
    /// is left alone, as a program is that comes later in `PATH`: see [`Host::shadowed`]. One that could not be loaded
    /// stands in nobody's way.
    pub fn plugin_dir(mut self, path: impl Into<PathBuf>, trust: Trust) -> Self {
        self.places.push(Place { path: path.into(), trust, named: false });
        self
    }

    /// Leaves plugins of this name alone, wherever they are found, linked ones too: none of their code runs. See
    /// [`Host::disabled`].
    pub fn disable(mut self, plugin: impl Into<String>) -> Self {
        self.disabled.insert(plugin.into());
        self
    }

    /// Names that no plugin's tool may have, besides `resolve`; one that has is left out, with an error.
    pub fn reserve<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.reserved.extend(names.into_iter().map(Into::into));
        self
    }

    /// Gives tools other names than their plugins do. The function is told the plugin and the plugin's own name for the
    /// tool; it is asked once for each tool of a session, and answers the same each time.
    ///
    /// What it returns has to be a name, and can be reserved or taken, as any other. Models call the tool by it, and
    /// events, pending actions and journals name it; the plugin, and what it logs, have its own.
    ///
    /// ```
    /// let builder = toolhost_loader::Host::builder()
    ///     .reserve(["read_file"])
    ///     .rename_tools(|plugin, tool| format!("{}_{tool}", plugin.name));
    /// ```
    pub fn rename_tools(mut self, rename: impl Fn(&PluginInfo, &str) -> String + Send + Sync + 'static) -> Self {
        self.rename = Some(Arc::new(rename));
        self
    }

    /// A record of trust, in which plugins with [`Trust::Recorded`] have to stand; may be given several times. See
    /// [`TrustStore`] for what writes it.
    pub fn trust_from(mut self, file: impl Into<PathBuf>) -> Self {
        self.trust_records.push(file.into());
        self
    }

    /// Something that is neither loaded nor called, whoever trusts it; a linked plugin neither.
    pub fn block(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// A list of what is neither loaded nor called, whoever trusts it; may be given several times. It is read again
    /// when its file changes: before each call, each step of a session and each resolve the file is looked at, and
    /// where the plugin has become blocked, none of its code runs any more; what it staged is discarded. One that
    /// cannot be read lets nothing be loaded. See [`BlockList`](crate::BlockList) for what writes it.
    pub fn blocks_from(mut self, file: impl Into<PathBuf>) -> Self {
        self.block_lists.push(file.into());
        self
    }

    /// A plugin that is linked into this program. Linked plugins come before those from files.
    pub fn linked(mut self, plugin: LinkedPlugin) -> Self {
        self.linked.push(plugin);
        self
    }

    /// What plugins may ask of this program: to run programs, a person to ask. By default programs are refused, and
    /// there is nobody to ask. A session's own [`services`](toolhost_core::SessionOptions::services) come before these.
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

    /// How long things may take, and how much there may be of them.
    pub fn limits(mut self, limits: LoadLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Loads the plugins, in the order in which they were given; those of a directory by name, each real file once.
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
        let records = self.trust_records.into_iter().map(TrustStore::new).collect();
        let policy = Policy::new(records, Blocks::new(self.blocks, self.block_lists));
        let (configs, disabled, limits) = (self.configs, self.disabled, self.limits.clone());
        let (quarantine, watch) = (Quarantine::new(self.quarantined), self.watch);
        let given = Given { configs, disabled, limits, policy, quarantine, watch };
        let mut found = Found::default();
        for plugin in self.linked {
            found.add_linked(plugin, &given);
        }
        let mut known = None;
        if !self.places.is_empty() {
            let cache = Cache::new(self.cache.or_else(default_cache).ok_or(BuildError::NoCacheDirectory)?);
            known = self.late.then(|| cache.root().to_owned());
            let first_sight = self.first_sight.map(|first_sight| (first_sight, runtime.clone()));
            let (places, loading) = (self.places, Loading { cache, given, late: self.late, first_sight });
            let work = move || {
                found.add_all(&places, &loading);
                found
            };
            found = runtime.spawn_blocking(work).await.map_err(|_| BuildError::RuntimeGone)?;
        }
        let Found { plugins, errors, shadowed, disabled } = found;
        let inner = Inner {
            runtime,
            plugins: plugins.into_iter().map(Arc::new).collect(),
            errors,
            shadowed,
            disabled,
            services: self.services,
            reserved: self.reserved,
            rename: self.rename,
            limits: self.limits,
            known,
        };
        Ok(Host { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("linked", &self.linked)
            .field("places", &self.places)
            .field("disabled", &self.disabled)
            .field("reserved", &self.reserved)
            .field("renames", &self.rename.is_some())
            .field("blocks", &self.blocks)
            .field("block_lists", &self.block_lists)
            .field("trust_records", &self.trust_records)
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
