//! What an embedder starts from: loaded plugins, and sessions with their tools.

mod builder;
mod info;
mod limits;

use std::fmt;
use std::sync::Arc;

use tokio::runtime::Handle;
use toolhost_core::{HostServices, Session, SessionOptions, SessionStep};

use crate::adapter::{Failed, Made, create};
use crate::load::Loaded;
use crate::{LoadError, LoadErrorKind};

pub use builder::{BuildError, HostBuilder};
pub use info::PluginInfo;
pub use limits::LoadLimits;

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
            let error = |kind| LoadError::new(&plugin.info.path, kind).with_evidence([plugin.info.evidence()]);
            errors.extend(kinds.into_iter().map(error));
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
                let (code, reason) = (failure.code, failure.message);
                return vec![LoadErrorKind::FactoryFailed { plugin: name(), code, reason }];
            }
        };
        let add = |(index, made): (usize, Made)| match made {
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
