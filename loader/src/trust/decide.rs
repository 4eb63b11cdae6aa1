//! The stage between the inspection of a file and its copy.

use std::cell::OnceCell;
use std::sync::Arc;

use super::Trust;
use super::guard::{Blocks, Guard, Hit, Subject};
use super::record::{Standing, TrustStore, TrustedPlugin, standing};
use crate::bundle::Bundle;
use crate::state::StateError;
use crate::{LoadErrorKind, PluginInfo, UntrustedPlugin};

/// What decides over the plugins of one host.
#[derive(Debug)]
pub(crate) struct Policy {
    records: Vec<TrustStore>,
    trusted: OnceCell<Result<Vec<TrustedPlugin>, StateError>>,
    blocks: Arc<Blocks>,
}

impl Policy {
    pub(crate) fn new(records: Vec<TrustStore>, blocks: Blocks) -> Self {
        Self { records, trusted: OnceCell::new(), blocks: Arc::new(blocks) }
    }

    /// Whether a plugin may be loaded; the guard that answers from now on whether its code may run.
    pub(crate) fn admit(&self, bundle: &Bundle, info: &PluginInfo, trust: Trust) -> Result<Guard, LoadErrorKind> {
        let parts = bundle.parts.iter().map(|part| part.hash.clone());
        let guard = self.guard(info, parts.chain([info.fingerprint.clone()]).collect())?;
        if trust == Trust::Recorded {
            self.require_record(info, &bundle.metadata.tools)?;
        }
        Ok(guard)
    }

    /// The guard of a plugin that is not blocked.
    pub(crate) fn guard(&self, info: &PluginInfo, hashes: Vec<String>) -> Result<Guard, LoadErrorKind> {
        let subject = Subject::new(&info.name, &info.version, hashes);
        match self.blocks.find_strictly(&subject) {
            Ok(None) => Ok(Guard::new(subject, self.blocks.clone())),
            Ok(Some(hit)) => Err(blocked(info, hit)),
            Err(error) => Err(LoadErrorKind::Undecided { error }),
        }
    }

    fn require_record(&self, info: &PluginInfo, tools: &[String]) -> Result<(), LoadErrorKind> {
        let trusted = self.trusted().map_err(|error| LoadErrorKind::Undecided { error })?;
        let untrusted = || Box::new(UntrustedPlugin::new(info, tools));
        match standing(trusted, &info.fingerprint, &info.path) {
            Standing::Trusted => Ok(()),
            Standing::Unknown => Err(LoadErrorKind::NotTrusted { plugin: untrusted() }),
            Standing::Changed(trusted) => Err(LoadErrorKind::ChangedSinceTrusted { plugin: untrusted(), trusted }),
        }
    }

    /// What all records say, read once.
    fn trusted(&self) -> Result<&[TrustedPlugin], StateError> {
        let read = || {
            self.records.iter().try_fold(Vec::new(), |mut all, record| {
                all.extend(record.trusted()?);
                Ok(all)
            })
        };
        self.trusted.get_or_init(read).as_deref().map_err(Clone::clone)
    }
}

pub(crate) fn blocked(info: &PluginInfo, hit: Hit) -> LoadErrorKind {
    let (plugin, version) = (info.name.clone(), info.version.clone());
    LoadErrorKind::Blocked { plugin, version, block: Box::new(hit.block), list: hit.list }
}

/// Whether another reason to trust a file could load it after all.
pub(crate) fn depends_on_trust(kind: &LoadErrorKind) -> bool {
    matches!(
        kind,
        LoadErrorKind::NotTrusted { .. }
            | LoadErrorKind::ChangedSinceTrusted { .. }
            | LoadErrorKind::UnsafePlace { .. }
    )
}
