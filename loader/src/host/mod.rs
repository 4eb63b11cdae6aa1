//! What an embedder starts from: loaded plugins, and sessions with their tools.

mod builder;
mod info;
mod limits;
mod shadowed;

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::runtime::Handle;
use toolhost_core::{HostServices, RegisterError, Session, SessionOptions, SessionStep, Tool};

use crate::adapter::{Failed, LatePlugin, Made, create};
use crate::cache::{Definitions, Index};
use crate::load::{Loaded, definitions_key};
use crate::names::Rename;
use crate::trust::blocked;
use crate::{LoadError, LoadErrorKind};

pub use builder::{BuildError, HostBuilder};
pub use info::PluginInfo;
pub use limits::LoadLimits;
pub use shadowed::Shadowed;

/// Loaded plugins, from which sessions get their tools. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    runtime: Handle,
    plugins: Vec<Arc<Loaded>>,
    errors: Vec<LoadError>,
    shadowed: Vec<Shadowed>,
    disabled: Vec<PluginInfo>,
    services: Option<Arc<dyn HostServices>>,
    reserved: HashSet<String>,
    rename: Option<Rename>,
    limits: LoadLimits,
    /// The directory whose index is told what tools say of themselves, where that is of use.
    known: Option<PathBuf>,
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

    /// The plugins that were found and left alone, since another one comes before them.
    #[must_use]
    pub fn shadowed(&self) -> &[Shadowed] {
        &self.inner.shadowed
    }

    /// The plugins that were found and left alone, since plugins of their name are disabled.
    #[must_use]
    pub fn disabled(&self) -> &[PluginInfo] {
        &self.inner.disabled
    }

    /// Opens a session: runs each plugin's factory once, in order, registers the tools that it makes, and tells them
    /// that the session has started. The first tool of a name stays. A plugin that has become blocked makes none.
    pub async fn session(&self, mut options: SessionOptions) -> OpenedSession {
        options.services = options.services.or_else(|| self.inner.services.clone());
        let session = Session::new(options, self.inner.runtime.clone());
        let (mut errors, mut said) = (Vec::new(), Vec::new());
        for plugin in &self.inner.plugins {
            let kinds = self.add_tools(plugin, &session, &mut said).await;
            let error = |kind| {
                let owner = self.owner(&session, &kind);
                LoadError::new(&plugin.info.path, kind).with_evidence([plugin.info.evidence()].into_iter().chain(owner))
            };
            errors.extend(kinds.into_iter().map(error));
        }
        self.remember(said).await;
        session.step(SessionStep::Start).await;
        OpenedSession { session, errors }
    }

    async fn add_tools(
        &self,
        plugin: &Arc<Loaded>,
        session: &Session,
        said: &mut Vec<(Arc<Loaded>, Definitions)>,
    ) -> Vec<LoadErrorKind> {
        if let Some(hit) = plugin.guard.hit() {
            return vec![blocked(&plugin.info, hit)];
        }
        let name = || plugin.info.name.clone();
        let limits = &self.inner.limits;
        let late = LatePlugin::tools(plugin, session, &self.inner.runtime, limits);
        let made = match late {
            Some(late) => Ok(late),
            None => create(plugin, session, &self.inner.runtime, limits).await.inspect(|made| {
                said.extend(definitions(plugin, made, limits).map(|definitions| (plugin.clone(), definitions)));
            }),
        };
        let made = match made {
            Ok(made) => made,
            Err(Failed::NotOpened(kind)) => return vec![kind],
            Err(Failed::TimedOut) => {
                return vec![LoadErrorKind::FactoryTimedOut { plugin: name(), limit: limits.factory }];
            }
            Err(Failed::Refused(failure)) => {
                let (code, reason) = (failure.code, failure.message);
                return vec![LoadErrorKind::FactoryFailed { plugin: name(), code, reason }];
            }
        };
        let add = |(index, made): (usize, Made)| match made {
            Err(kind) => Some(kind),
            Ok(tool) => {
                let refused = self.register(plugin, tool, session).err()?;
                Some(LoadErrorKind::ToolRefused { plugin: name(), index, reason: refused })
            }
        };
        made.into_iter().enumerate().filter_map(add).collect()
    }

    /// Registers a tool under its name in this host.
    fn register(&self, plugin: &Loaded, tool: Arc<dyn Tool>, session: &Session) -> Result<(), RegisterError> {
        let tool = match &self.inner.rename {
            Some(rename) => {
                let name = rename(&plugin.info, &tool.definition().name);
                plugin.names.rename(tool, name)
            }
            None => tool,
        };
        match self.inner.reserved.get(&tool.definition().name) {
            Some(name) => Err(RegisterError::Reserved { name: name.clone() }),
            None => session.register(tool),
        }
    }

    /// Which file has the tool whose name was taken.
    fn owner(&self, session: &Session, kind: &LoadErrorKind) -> Option<String> {
        let LoadErrorKind::ToolRefused { reason: RegisterError::Taken { name, .. }, .. } = kind else { return None };
        let tools = session.tools();
        let owner =
            self.plugins().find(|plugin| Some(&plugin.fingerprint) == tools.origin(name).map(|o| &o.fingerprint))?;
        Some(format!("`{name}` is a tool of {}", owner.path.display()))
    }

    /// Remembers what tools say of themselves for later starts.
    async fn remember(&self, said: Vec<(Arc<Loaded>, Definitions)>) {
        if let (Some(root), false) = (self.inner.known.clone(), said.is_empty()) {
            let remembering = move || {
                let mut index = Index::open(&root);
                for (plugin, definitions) in said {
                    index.learn_definitions(&plugin.info.path, &plugin.info.fingerprint, definitions);
                }
                index.save();
            };
            let _ = self.inner.runtime.spawn_blocking(remembering).await;
        }
    }
}

/// What the tools of a plugin said of themselves, where that holds for later starts. Where one of them has something to
/// complain of, it should do so then, too.
fn definitions(plugin: &Loaded, made: &[Made], limits: &LoadLimits) -> Option<Definitions> {
    let said = |tool: &Made| tool.as_ref().ok().map(|tool| tool.definition().clone());
    let tools = made.iter().map(said).collect::<Option<_>>().filter(|_| !plugin.info.dynamic)?;
    Some(Definitions { key: definitions_key(&plugin.config, limits), tools })
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("plugins", &self.plugins().map(|plugin| &plugin.name).collect::<Vec<_>>())
            .field("load_errors", &self.inner.errors)
            .finish()
    }
}
