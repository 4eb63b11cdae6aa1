//! A file's way through the stages, up to a plugin whose factory can be run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use once_cell::sync::OnceCell;
use rustix::fs::stat;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_core::ToolDefinition;
use tracing::{debug, debug_span};

use crate::adapter::{Entry, PluginLog, open};
use crate::bundle::{Bundle, sha256};
use crate::cache::{Cache, Definitions, Index, clean};
use crate::first_sight::{FirstSight, Look};
use crate::quarantine::Quarantine;
use crate::watch::Mark;
use crate::{CodeWatch, LoadError, LoadErrorKind, PluginInfo, discover, siblings};

/// A plugin whose factory can be run.
pub(crate) struct Loaded {
    pub(crate) info: Arc<PluginInfo>,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) config: Value,
    /// What its tools said of themselves at an earlier start, where it is not opened before one of them is called.
    pub(crate) definitions: Option<Vec<ToolDefinition>>,
    entry: OnceCell<Entry>,
    /// What opening it takes, where it is not open yet.
    late: Option<Late>,
}

struct Late {
    bundle: Bundle,
    cache: Cache,
    fits: bool,
    watch: Option<&'static dyn CodeWatch>,
}

impl Loaded {
    fn new(info: PluginInfo, config: Value) -> Self {
        let log = Arc::new(PluginLog::new(&info.name));
        Self { info: Arc::new(info), log, config, definitions: None, entry: OnceCell::new(), late: None }
    }

    pub(crate) fn open(info: PluginInfo, config: Value, entry: Entry) -> Self {
        Self { entry: OnceCell::with_value(entry), ..Self::new(info, config) }
    }

    pub(crate) fn linked(
        plugin: LinkedPlugin,
        configs: &HashMap<String, Value>,
        watch: Option<&'static dyn CodeWatch>,
    ) -> Self {
        let info = PluginInfo::linked(&plugin);
        let mark = Mark::opening(watch, &info);
        let config = configs.get(&info.name).cloned().unwrap_or_default();
        Self::open(info, config, Entry::linked(plugin, mark))
    }

    /// How its factory is reached. Opens the plugin where that was put off; may block.
    pub(crate) fn entry(&self) -> Result<&Entry, LoadErrorKind> {
        self.entry.get_or_try_init(|| {
            let Some(late) = &self.late else { return Err(LoadErrorKind::ChangedMeanwhile) };
            let mut bundle = late.bundle(&self.info.path)?;
            let entry = entry(&mut bundle, &self.info, &late.cache, late.fits, late.watch)?;
            self.log_loaded();
            Ok(entry)
        })
    }

    fn log_loaded(&self) {
        let PluginInfo { name, version, path, fingerprint, .. } = &*self.info;
        debug!(plugin = name, version, path = %path.display(), fingerprint, "loaded");
    }
}

impl Late {
    /// What was verified; read once more where the copies are gone.
    fn bundle(&self, file: &Path) -> Result<Bundle, LoadErrorKind> {
        if self.cache.has(&self.bundle) {
            return Ok(self.bundle.clone());
        }
        let bundle = Bundle::read(file)?;
        match bundle.fingerprint == self.bundle.fingerprint {
            true => Ok(bundle),
            false => Err(LoadErrorKind::ChangedMeanwhile),
        }
    }
}

/// How plugins are loaded.
pub(crate) struct Loading {
    pub(crate) cache: Cache,
    pub(crate) configs: HashMap<String, Value>,
    /// Opens no plugin whose tools are known before one of them is called.
    pub(crate) late: bool,
    pub(crate) first_sight: Option<(FirstSight, Handle)>,
    pub(crate) factory_limit: Duration,
    pub(crate) quarantine: Quarantine,
    pub(crate) watch: Option<&'static dyn CodeWatch>,
}

/// By what the definitions of a plugin's tools are known, besides its bytes: they may depend on its settings, and on
/// what this version of toolhost asks for.
pub(crate) fn definitions_key(config: &Value) -> String {
    sha256(format!("{} {config}", env!("CARGO_PKG_VERSION")).as_bytes())
}

/// Loads the plugins of these paths, in order.
pub(crate) fn all(paths: &[PathBuf], loading: &Loading) -> (Vec<Loaded>, Vec<LoadError>) {
    let (mut plugins, mut errors, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let cache = &loading.cache;
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
            match one(&file, &mut index, loading) {
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

fn one(file: &Path, index: &mut Index, loading: &Loading) -> Result<Loaded, Box<LoadError>> {
    let known = index.known(file);
    let is_known = known.is_some();
    // The spans are how a load's time is attributed to its stages.
    let bundle = debug_span!("inspect")
        .in_scope(|| known.map_or_else(|| Bundle::read(file), Ok))
        .map_err(|kind| Box::new(LoadError::new(file, kind).with_evidence(size(file))))?;
    let info = PluginInfo::new(file, bundle.fingerprint.clone(), bundle.metadata.clone());
    let evidence = [info.evidence(), format!("SHA-256 {}", info.fingerprint)];
    let fingerprint = info.fingerprint.clone();
    Candidate { info, bundle, is_known, index, loading }
        .load()
        .map_err(|kind| Box::new(LoadError::new(file, kind).with_fingerprint(&fingerprint).with_evidence(evidence)))
}

/// A file that passed the inspection.
struct Candidate<'a> {
    info: PluginInfo,
    bundle: Bundle,
    /// The index has it, so that it was not read again.
    is_known: bool,
    index: &'a mut Index,
    loading: &'a Loading,
}

impl Candidate<'_> {
    fn load(mut self) -> Result<Loaded, LoadErrorKind> {
        self.loading.quarantine.check(&self.info)?;
        let config = self.loading.configs.get(&self.info.name).cloned().unwrap_or_default();
        let key = definitions_key(&config);
        let mut definitions = None;
        if self.is_known {
            definitions = self.index.definitions(&self.info.path, &key).map(<[_]>::to_vec);
        }
        if let Some((first_sight, runtime)) = &self.loading.first_sight
            && !(self.is_known && self.index.was_looked_at(&self.bundle))
        {
            definitions = self.look(&config, key, first_sight, runtime)?;
        }
        let Self { info, mut bundle, index, loading, .. } = self;
        let fits = index.fits(&bundle);
        if let Some(definitions) = definitions.filter(|_| loading.late) {
            debug!(plugin = info.name, path = %info.path.display(), "known, and not opened yet");
            let cache = loading.cache.clone();
            let late = Late { bundle: bundle.without_bytes(), cache, fits, watch: loading.watch };
            return Ok(Loaded { definitions: Some(definitions), late: Some(late), ..Loaded::new(info, config) });
        }
        let entry = entry(&mut bundle, &info, &loading.cache, fits, loading.watch)?;
        index.learn(&info.path, &bundle, true);
        let loaded = Loaded::open(info, config, entry);
        loaded.log_loaded();
        Ok(loaded)
    }

    /// Lets another process open it first. What that says of the tools holds for later.
    fn look(
        &mut self,
        config: &Value,
        key: String,
        first_sight: &FirstSight,
        runtime: &Handle,
    ) -> Result<Option<Vec<ToolDefinition>>, LoadErrorKind> {
        let staged = debug_span!("stage").in_scope(|| self.loading.cache.stage(&mut self.bundle))?;
        let look = Look {
            info: &self.info,
            bundle: &self.bundle,
            copy: staged.path(),
            config,
            factory_limit: self.loading.factory_limit,
        };
        let looked = debug_span!("first_sight").in_scope(|| look.take(first_sight, runtime))?;
        let file = &self.info.path;
        self.index.learn(file, &self.bundle, false);
        self.index.learn_look(file);
        let tools = looked.filter(|_| !self.info.dynamic);
        if let Some(tools) = &tools {
            let said = Definitions { key, tools: tools.clone() };
            self.index.learn_definitions(file, &self.info.fingerprint, said);
        }
        // What might have changed unseen is not to be opened late, as if it were known.
        Ok(tools.filter(|_| self.bundle.parts.iter().all(|part| part.copy.is_some())))
    }
}

/// From the inspected bytes to the plugin's root.
fn entry(
    bundle: &mut Bundle,
    info: &PluginInfo,
    cache: &Cache,
    fits: bool,
    watch: Option<&'static dyn CodeWatch>,
) -> Result<Entry, LoadErrorKind> {
    let names = siblings::claim_names(bundle)?;
    let staged = debug_span!("stage").in_scope(|| cache.stage(bundle))?;
    let mark = Mark::opening(watch, info);
    let library = debug_span!("open").in_scope(|| mark.within(|| open(&staged)))?;
    names.keep();
    let root = debug_span!("check").in_scope(|| mark.within(|| library.root(&bundle.metadata, fits)))?;
    let entry = Entry::library(root, mark);
    mark.opened(info, entry.address());
    Ok(entry)
}

fn size(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some(format!("a file of {} bytes", metadata.len()))
}
