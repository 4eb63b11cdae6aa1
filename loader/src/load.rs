//! A file's way through the stages, up to a plugin whose factory can be run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::stat;
use serde_json::Value;
use toolhost_abi::linked::LinkedPlugin;
use tracing::{debug, debug_span};

use crate::adapter::{Entry, PluginLog, open};
use crate::bundle::Bundle;
use crate::cache::{Cache, Index, clean};
use crate::{LoadError, LoadErrorKind, PluginInfo, discover, siblings};

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

    pub(crate) fn linked(plugin: LinkedPlugin, configs: &HashMap<String, Value>) -> Self {
        Self::new(PluginInfo::linked(&plugin), Entry::Linked(plugin), configs)
    }
}

/// Loads the plugins of these paths, in order.
pub(crate) fn all(paths: &[PathBuf], cache: &Cache, configs: &HashMap<String, Value>) -> (Vec<Loaded>, Vec<LoadError>) {
    let (mut plugins, mut errors, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let mut index = Index::open(cache.root());
    for path in paths {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let files = discover::plugin_files(&path).unwrap_or_else(|kind| {
            errors.push(LoadError::new(&path, kind));
            Vec::new()
        });
        for file in files {
            // Links and repeated paths count once.
            let identity = stat(&file).ok().map(|stat| (stat.st_dev, stat.st_ino));
            if identity.is_some() && seen.contains(&identity) {
                continue;
            }
            seen.push(identity);
            match one(&file, cache, &mut index, configs) {
                Ok(loaded) => plugins.push(loaded),
                Err(error) => errors.push(*error),
            }
        }
    }
    if index.has_learned() {
        // Where there are new copies, there may be old ones.
        clean(cache.root());
    }
    index.save();
    (plugins, errors)
}

fn one(
    file: &Path,
    cache: &Cache,
    index: &mut Index,
    configs: &HashMap<String, Value>,
) -> Result<Loaded, Box<LoadError>> {
    // The spans are how a load's time is attributed to its stages.
    let mut bundle = debug_span!("inspect")
        .in_scope(|| index.known(file).map_or_else(|| Bundle::read(file), Ok))
        .map_err(|kind| Box::new(LoadError::new(file, kind).with_evidence(size(file))))?;
    let info = PluginInfo::new(file, bundle.fingerprint.clone(), bundle.metadata.clone());
    let entry = entry(&mut bundle, cache, index).map_err(|kind| {
        let hash = format!("SHA-256 {}", info.fingerprint);
        Box::new(LoadError::new(file, kind).with_evidence([info.evidence(), hash]))
    })?;
    index.learn(file, &bundle);
    debug!(plugin = info.name, version = info.version, path = %file.display(), fingerprint = info.fingerprint, "loaded");
    Ok(Loaded::new(info, entry, configs))
}

/// From the inspected bytes to the plugin's root.
fn entry(bundle: &mut Bundle, cache: &Cache, index: &Index) -> Result<Entry, LoadErrorKind> {
    let names = siblings::claim_names(bundle)?;
    let staged = debug_span!("stage").in_scope(|| cache.stage(bundle))?;
    let library = debug_span!("open").in_scope(|| open(&staged))?;
    names.keep();
    let root = debug_span!("check").in_scope(|| library.root(&bundle.metadata, index.fits(bundle)))?;
    Ok(Entry::Library(root))
}

fn size(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some(format!("a file of {} bytes", metadata.len()))
}
