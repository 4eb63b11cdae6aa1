//! A file's way through the stages, up to a plugin whose factory can be run.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use once_cell::sync::OnceCell;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_core::ToolDefinition;
use tracing::{debug, debug_span};

use crate::adapter::{Entry, PluginLog, open};
use crate::bundle::{Bundle, sha256};
use crate::cache::{Cache, Definitions, Index, clean};
use crate::first_sight::{FirstSight, Look};
use crate::trust::{Guard, Policy, Trust, depends_on_trust};
use crate::{LoadError, LoadErrorKind, PluginInfo, discover, siblings};

/// A plugin whose factory can be run.
pub(crate) struct Loaded {
    pub(crate) info: Arc<PluginInfo>,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) config: Value,
    /// Whether its code may still run.
    pub(crate) guard: Arc<Guard>,
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
}

impl Loaded {
    fn new(info: PluginInfo, guard: Guard, config: Value) -> Self {
        let log = Arc::new(PluginLog::new(&info.name));
        let (info, guard) = (Arc::new(info), Arc::new(guard));
        Self { info, log, config, guard, definitions: None, entry: OnceCell::new(), late: None }
    }

    pub(crate) fn open(info: PluginInfo, guard: Guard, config: Value, entry: Entry) -> Self {
        Self { entry: OnceCell::with_value(entry), ..Self::new(info, guard, config) }
    }

    /// A linked plugin, unless its name or version is blocked.
    pub(crate) fn linked(
        plugin: LinkedPlugin,
        policy: &Policy,
        configs: &HashMap<String, Value>,
    ) -> Result<Self, Box<LoadError>> {
        let info = PluginInfo::linked(&plugin);
        let guard = policy
            .guard(&info, Vec::new())
            .map_err(|kind| Box::new(LoadError::new(&info.path, kind).with_evidence([info.evidence()])))?;
        let config = configs.get(&info.name).cloned().unwrap_or_default();
        Ok(Self::open(info, guard, config, Entry::Linked(plugin)))
    }

    /// How its factory is reached. Opens the plugin where that was put off; may block.
    pub(crate) fn entry(&self) -> Result<&Entry, LoadErrorKind> {
        self.entry.get_or_try_init(|| {
            let Some(late) = &self.late else { return Err(LoadErrorKind::ChangedMeanwhile) };
            let mut bundle = late.bundle(&self.info.path)?;
            let entry = entry(&mut bundle, &late.cache, late.fits)?;
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
        // Wherever these very bytes come from, they were let in.
        let bundle = Bundle::read(file, Trust::Given)?;
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
    pub(crate) policy: Policy,
    /// Opens no plugin whose tools are known before one of them is called.
    pub(crate) late: bool,
    pub(crate) first_sight: Option<(FirstSight, Handle)>,
    pub(crate) factory_limit: Duration,
}

/// By what the definitions of a plugin's tools are known, besides its bytes: they may depend on its settings, and on
/// what this version of toolhost asks for.
pub(crate) fn definitions_key(config: &Value) -> String {
    sha256(format!("{} {config}", env!("CARGO_PKG_VERSION")).as_bytes())
}

/// Loads the plugins of these paths, in order, each as it is trusted.
pub(crate) fn all(paths: &[(PathBuf, Trust)], loading: &Loading) -> (Vec<Loaded>, Vec<LoadError>) {
    let (mut plugins, mut errors, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let cache = &loading.cache;
    let mut index = Index::open(cache.root());
    for (path, trust) in paths {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let files = discover::plugin_files(&path).unwrap_or_else(|kind| {
            errors.push(LoadError::new(&path, kind));
            Vec::new()
        });
        for file in files {
            // Links and repeated paths count once, unless a path is trusted for another reason.
            let identity = std::fs::metadata(&file).ok().map(|file| (file.dev(), file.ino()));
            let known = |(other, refused): &(Option<(u64, u64)>, Option<Trust>)| {
                *other == identity && refused.is_none_or(|refused| refused == *trust)
            };
            if identity.is_some() && seen.iter().any(known) {
                continue;
            }
            let loaded = one(&file, *trust, &mut index, loading);
            let refused = loaded.as_ref().err().filter(|error| depends_on_trust(&error.kind)).map(|_| *trust);
            seen.push((identity, refused));
            match loaded {
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

fn one(file: &Path, trust: Trust, index: &mut Index, loading: &Loading) -> Result<Loaded, Box<LoadError>> {
    let unsafe_place = |kind| Box::new(LoadError::new(file, kind).with_evidence(size(file)));
    let known = known(file, trust, index).map_err(unsafe_place)?;
    let is_known = known.is_some();
    let (bundle, info) = match known {
        Some(bundle) => {
            let info = PluginInfo::new(file, bundle.fingerprint.clone(), bundle.metadata.clone());
            (bundle, info)
        }
        None => inspect(file, trust)?,
    };
    let evidence = Evidence::new(&bundle, &info);
    let failed = |kind| evidence.error(file, kind);
    let guard = debug_span!("trust").in_scope(|| loading.policy.admit(&bundle, &info, trust)).map_err(failed)?;
    Candidate { info, bundle, guard, is_known, index, loading }.load().map_err(failed)
}

/// What the index knows of a file that is where this trust allows it to be.
fn known(file: &Path, trust: Trust, index: &Index) -> Result<Option<Bundle>, LoadErrorKind> {
    match index.known(file) {
        Some(bundle) if bundle.is_still_there(trust)? => Ok(Some(bundle)),
        _ => Ok(None),
    }
}

/// Reads a file and what it brings along; nothing of it runs.
pub(crate) fn inspect(file: &Path, trust: Trust) -> Result<(Bundle, PluginInfo), Box<LoadError>> {
    // The spans are how a load's time is attributed to its stages.
    let bundle = debug_span!("inspect")
        .in_scope(|| Bundle::read(file, trust))
        .map_err(|kind| Box::new(LoadError::new(file, kind).with_evidence(size(file))))?;
    let info = PluginInfo::new(file, bundle.fingerprint.clone(), bundle.metadata.clone());
    Ok((bundle, info))
}

/// What was found out about a file, whatever becomes of it.
pub(crate) struct Evidence {
    plugin: [String; 2],
    /// What a person who is to trust it wants to know besides.
    content: Vec<String>,
}

impl Evidence {
    pub(crate) fn new(bundle: &Bundle, info: &PluginInfo) -> Self {
        let plugin = [info.evidence(), format!("SHA-256 {}", info.fingerprint)];
        let libraries = bundle.parts[1..].iter().map(|part| format!("brings {}", part.relative.display()));
        let tools = Some(bundle.metadata.tools.join(", ")).filter(|tools| !tools.is_empty());
        let tools = tools.map(|tools| format!("declares the tools {tools}"));
        Self { plugin, content: libraries.chain(tools).collect() }
    }

    pub(crate) fn error(&self, file: &Path, kind: LoadErrorKind) -> Box<LoadError> {
        let more = match &kind {
            LoadErrorKind::NotTrusted { .. } | LoadErrorKind::ChangedSinceTrusted { .. } => self.content.clone(),
            LoadErrorKind::Blocked { block, .. } => {
                let since = block.since.map(|since| format!(" since {since}")).unwrap_or_default();
                vec![format!("blocked as {}{since}", block.target)]
            }
            _ => Vec::new(),
        };
        Box::new(LoadError::new(file, kind).with_evidence(self.plugin.iter().cloned().chain(more)))
    }
}

/// A file that passed the inspection.
struct Candidate<'a> {
    info: PluginInfo,
    bundle: Bundle,
    guard: Guard,
    /// The index has it, so that it was not read again.
    is_known: bool,
    index: &'a mut Index,
    loading: &'a Loading,
}

impl Candidate<'_> {
    fn load(mut self) -> Result<Loaded, LoadErrorKind> {
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
        let Self { info, mut bundle, guard, index, loading, .. } = self;
        let fits = index.fits(&bundle);
        if let Some(definitions) = definitions.filter(|_| loading.late) {
            debug!(plugin = info.name, path = %info.path.display(), "known, and not opened yet");
            let late = Late { bundle: bundle.without_bytes(), cache: loading.cache.clone(), fits };
            return Ok(Loaded { definitions: Some(definitions), late: Some(late), ..Loaded::new(info, guard, config) });
        }
        let entry = entry(&mut bundle, &loading.cache, fits)?;
        index.learn(&info.path, &bundle, true);
        let loaded = Loaded::open(info, guard, config, entry);
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
fn entry(bundle: &mut Bundle, cache: &Cache, fits: bool) -> Result<Entry, LoadErrorKind> {
    let names = siblings::claim_names(bundle)?;
    let staged = debug_span!("stage").in_scope(|| cache.stage(bundle))?;
    let library = debug_span!("open").in_scope(|| open(&staged))?;
    names.keep();
    let root = debug_span!("check").in_scope(|| library.root(&bundle.metadata, fits))?;
    Ok(Entry::Library(root))
}

fn size(file: &Path) -> Option<String> {
    let metadata = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    Some(format!("a file of {} bytes", metadata.len()))
}
