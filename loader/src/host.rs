use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::stat;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_abi::ABI_VERSION;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_abi::note::Metadata;
use toolhost_core::{HostServices, Session, SessionOptions, SessionStep};
use tracing::{debug, debug_span};

use crate::adapter::{Entry, Failed, PluginLog, create, open};
use crate::bundle::Bundle;
use crate::stage::Cache;
use crate::{LoadError, LoadErrorKind, discover, siblings};

/// A plugin that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// The package's name.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// The package's description; may be empty.
    pub description: String,
    /// The file that it was loaded from, absolute; of a linked one the program's own.
    pub path: PathBuf,
    /// Whether it is linked into the program.
    pub linked: bool,
    /// SHA-256 of the file in hexadecimal; where it brings libraries along, of all of them together. Of a linked one its
    /// name and version.
    pub fingerprint: String,
    /// The version of the plugin interface that it was built for.
    pub abi_version: String,
    /// The version of the SDK that it was built with.
    pub sdk_version: String,
}

impl PluginInfo {
    fn new(path: &Path, fingerprint: String, metadata: Metadata) -> Self {
        Self {
            name: metadata.name,
            version: metadata.version,
            description: metadata.description,
            path: path.to_owned(),
            linked: false,
            fingerprint,
            abi_version: metadata.abi_version,
            sdk_version: metadata.sdk_version,
        }
    }

    fn linked(plugin: &LinkedPlugin) -> Self {
        Self {
            name: plugin.name().to_owned(),
            version: plugin.version().to_owned(),
            description: String::new(),
            path: std::env::current_exe().unwrap_or_default(),
            linked: true,
            fingerprint: format!("linked {} {}", plugin.name(), plugin.version()),
            abi_version: ABI_VERSION.to_owned(),
            sdk_version: String::new(),
        }
    }
}

/// How long things may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadLimits {
    /// How long one plugin's factory may run for one session; 10 seconds by default.
    pub factory: Duration,
}

impl LoadLimits {
    /// The same limits with this one for factories.
    #[must_use]
    pub fn with_factory(mut self, limit: Duration) -> Self {
        self.factory = limit;
        self
    }
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { factory: Duration::from_secs(10) }
    }
}

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
        let mut plugins: Vec<_> = self.linked.into_iter().map(|plugin| Loaded::linked(plugin, &configs)).collect();
        let mut errors = Vec::new();
        if !self.plugins.is_empty() {
            let cache = Cache::new(self.cache.or_else(default_cache).ok_or(BuildError::NoCacheDirectory)?);
            let paths = self.plugins;
            let loading = runtime.spawn_blocking(move || load_all(&paths, &cache, &configs));
            let (loaded, failed) = loading.await.map_err(|_| BuildError::RuntimeGone)?;
            plugins.extend(loaded);
            errors = failed;
        }
        Ok(Host { inner: Arc::new(Inner { runtime, plugins, errors, services: self.services, limits: self.limits }) })
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

/// Loaded plugins, from which sessions get their tools. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Handle,
    plugins: Vec<Loaded>,
    errors: Vec<LoadError>,
    services: Option<Arc<dyn HostServices>>,
    limits: LoadLimits,
}

/// A plugin whose factory can be run.
pub(crate) struct Loaded {
    pub(crate) info: Arc<PluginInfo>,
    pub(crate) entry: Entry,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) config: Value,
}

impl Loaded {
    fn new(info: PluginInfo, entry: Entry, configs: &HashMap<String, Value>) -> Self {
        let log = Arc::new(PluginLog::new(&info.name));
        let config = configs.get(&info.name).cloned().unwrap_or_default();
        Self { info: Arc::new(info), entry, log, config }
    }

    fn linked(plugin: LinkedPlugin, configs: &HashMap<String, Value>) -> Self {
        Self::new(PluginInfo::linked(&plugin), Entry::Linked(plugin), configs)
    }
}

/// A session with its plugins' tools.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenedSession {
    /// The session.
    pub session: Session,
    /// What could not be made for it; the rest is there.
    pub errors: Vec<LoadError>,
}

impl Host {
    /// Starts to describe a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// The plugins that are loaded, in order.
    pub fn plugins(&self) -> impl Iterator<Item = &PluginInfo> {
        self.inner.plugins.iter().map(|plugin| &*plugin.info)
    }

    /// Why other files are not.
    #[must_use]
    pub fn load_errors(&self) -> &[LoadError] {
        &self.inner.errors
    }

    /// Opens a session: runs each plugin's factory once, in order, registers the tools that it makes, and tells them
    /// that the session has started. The first tool of a name stays.
    pub async fn session(&self, mut options: SessionOptions) -> OpenedSession {
        options.services = options.services.or_else(|| self.inner.services.clone());
        let session = Session::new(options, self.inner.runtime.clone());
        let mut errors = Vec::new();
        for plugin in &self.inner.plugins {
            let kinds = self.add_tools(plugin, &session).await;
            errors.extend(kinds.into_iter().map(|kind| LoadError::new(&plugin.info.path, kind)));
        }
        session.step(SessionStep::Start).await;
        OpenedSession { session, errors }
    }

    async fn add_tools(&self, plugin: &Loaded, session: &Session) -> Vec<LoadErrorKind> {
        let name = || plugin.info.name.clone();
        let limit = self.inner.limits.factory;
        let made = match create(plugin, session, &self.inner.runtime, limit).await {
            Ok(made) => made,
            Err(Failed::TimedOut) => return vec![LoadErrorKind::FactoryTimedOut { plugin: name(), limit }],
            Err(Failed::Refused(failure)) => {
                return vec![LoadErrorKind::FactoryFailed { plugin: name(), reason: failure.message }];
            }
        };
        let add = |(index, made): (usize, crate::adapter::Made)| match made {
            Err(reason) => Some(LoadErrorKind::BadDefinition { plugin: name(), index, reason }),
            Ok(tool) => {
                let refused = session.register(tool).err()?;
                Some(LoadErrorKind::ToolRefused { plugin: name(), index, reason: refused })
            }
        };
        made.into_iter().enumerate().filter_map(add).collect()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("plugins", &self.plugins().map(|plugin| &plugin.name).collect::<Vec<_>>())
            .field("load_errors", &self.inner.errors)
            .finish()
    }
}

fn load_all(paths: &[PathBuf], cache: &Cache, configs: &HashMap<String, Value>) -> (Vec<Loaded>, Vec<LoadError>) {
    let (mut plugins, mut errors, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let files = discover::plugin_files(&path).unwrap_or_else(|error| {
            errors.push(error);
            Vec::new()
        });
        for file in files {
            // Links and repeated paths count once.
            let identity = stat(&file).ok().map(|stat| (stat.st_dev, stat.st_ino));
            if identity.is_some() && seen.contains(&identity) {
                continue;
            }
            seen.push(identity);
            match load(&file, cache, configs) {
                Ok(loaded) => plugins.push(loaded),
                Err(kind) => errors.push(LoadError::new(&file, kind)),
            }
        }
    }
    (plugins, errors)
}

fn load(file: &Path, cache: &Cache, configs: &HashMap<String, Value>) -> Result<Loaded, LoadErrorKind> {
    // The spans are how a load's time is attributed to its stages.
    let bundle = debug_span!("inspect").in_scope(|| Bundle::read(file))?;
    let names = siblings::claim_names(&bundle)?;
    let staged = debug_span!("stage").in_scope(|| cache.stage(&bundle))?;
    let library = debug_span!("open").in_scope(|| open(&staged))?;
    names.keep();
    let root = debug_span!("check").in_scope(|| library.root(&bundle.metadata))?;
    let info = PluginInfo::new(file, bundle.fingerprint, bundle.metadata);
    debug!(plugin = info.name, version = info.version, path = %file.display(), fingerprint = info.fingerprint, "loaded");
    Ok(Loaded::new(info, Entry::Library(root), configs))
}
