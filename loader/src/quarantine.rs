//! Plugins that are not to be loaded, since they end their process.

use std::collections::HashMap;

use toolhost_core::journal::Timestamp;

use crate::{LoadErrorKind, PluginInfo};

/// A plugin that is not to be loaded, since it ended a process, until its content is another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// The [`fingerprint`](PluginInfo::fingerprint) of its content.
    pub hash: String,
    /// What it did.
    pub reason: String,
    /// Since when it is not to be loaded.
    pub since: Option<Timestamp>,
}

impl Quarantined {
    /// A plugin with this fingerprint, for this reason.
    pub fn new(hash: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { hash: hash.into(), reason: reason.into(), since: None }
    }

    /// The same, since then.
    #[must_use]
    pub fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }
}

/// All of them, by their hashes.
#[derive(Debug, Default)]
pub(crate) struct Quarantine(HashMap<String, Quarantined>);

impl Quarantine {
    pub(crate) fn new(quarantined: impl IntoIterator<Item = Quarantined>) -> Self {
        Self(quarantined.into_iter().map(|quarantined| (quarantined.hash.clone(), quarantined)).collect())
    }

    /// Refuses a plugin that is not to be loaded.
    pub(crate) fn check(&self, plugin: &PluginInfo) -> Result<(), LoadErrorKind> {
        let Some(Quarantined { hash, reason, since }) = self.0.get(&plugin.fingerprint).cloned() else {
            return Ok(());
        };
        Err(LoadErrorKind::Quarantined { plugin: plugin.name.clone(), hash, reason, since })
    }
}
