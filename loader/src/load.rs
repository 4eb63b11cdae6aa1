//! A file's way through the stages, up to a plugin whose factory can be run.

use std::collections::{HashMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use once_cell::sync::OnceCell;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_core::ToolDefinition;
use tracing::{debug, debug_span};

use crate::adapter::{Entry, PluginLog, open};
use crate::bundle::{Bundle, sha256};
use crate::cache::{Cache, Definitions, Index, clean};
use crate::discover::{Place, ranked};
use crate::first_sight::{FirstSight, Look};
use crate::names::ToolNames;
use crate::quarantine::Quarantine;
use crate::trust::{Guard, Policy, Trust, depends_on_trust};
use crate::watch::Mark;
use crate::{CodeWatch, LoadError, LoadErrorKind, LoadLimits, PluginInfo, Shadowed, siblings};

/// A plugin whose factory can be run.
pub(crate) struct Loaded {
    pub(crate) info: Arc<PluginInfo>,
    pub(crate) log: Arc<PluginLog>,
    pub(crate) config: Value,
    pub(crate) names: Arc<ToolNames>,
    /// Of the place in which it was found; of a linked plugin 0.
    rank: usize,
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
    watch: Option<&'static dyn CodeWatch>,
}

impl Loaded {
    fn new(info: PluginInfo, guard: Guard, config: Value) -> Self {
        let log = Arc::new(PluginLog::new(&info.name));
        let (info, guard, names, entry) = (Arc::new(info), Arc::new(guard), Arc::default(), OnceCell::new());
        Self { info, log, config, guard, names, rank: 0, definitions: None, entry, late: None }
    }

    pub(crate) fn open(info: PluginInfo, guard: Guard, config: Value, entry: Entry) -> Self {
        Self { entry: OnceCell::with_value(entry), ..Self::new(info, guard, config) }
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
        // Wherever these very bytes come from, they were let in.
        let bundle = Bundle::read(file, Trust::Given)?;
        match bundle.fingerprint == self.bundle.fingerprint {
            true => Ok(bundle),
            false => Err(LoadErrorKind::ChangedMeanwhile),
        }
    }
}

/// What a host is told of plugins, wherever they come from.
pub(crate) struct Given {
    /// Their settings, by name.
    pub(crate) configs: HashMap<String, Value>,
    /// The names of those that are left alone.
    pub(crate) disabled: HashSet<String>,
    pub(crate) limits: LoadLimits,
    pub(crate) policy: Policy,
    pub(crate) quarantine: Quarantine,
    pub(crate) watch: Option<&'static dyn CodeWatch>,
}

impl Given {
    fn config(&self, plugin: &str) -> Value {
        self.configs.get(plugin).cloned().unwrap_or_default()
    }
}

/// How plugins are loaded from files.
pub(crate) struct Loading {
    pub(crate) cache: Cache,
    pub(crate) given: Given,
    /// Opens no plugin whose tools are known before one of them is called.
    pub(crate) late: bool,
    pub(crate) first_sight: Option<(FirstSight, Handle)>,
}

/// By what the definitions of a plugin's tools are known, besides its bytes: they may depend on its settings, on what
/// this version of toolhost asks for, and on what it lets through.
pub(crate) fn definitions_key(config: &Value, limits: &LoadLimits) -> String {
    let LoadLimits { tools, definition_bytes, .. } = limits;
    sha256(format!("{} {tools} {definition_bytes} {config}", env!("CARGO_PKG_VERSION")).as_bytes())
}

/// The files that were looked at, by which links and repeated paths count once; with the reasons to trust them that did
/// not do, of which another one may.
#[derive(Default)]
struct Seen(HashMap<(u64, u64), Vec<Trust>>);

impl Seen {
    fn is_new(&self, file: &Path, trust: Trust) -> bool {
        let refused = identity(file).and_then(|identity| self.0.get(&identity));
        refused.is_none_or(|refused| !refused.is_empty() && !refused.contains(&trust))
    }

    fn add(&mut self, file: &Path, trust: Trust, error: Option<&LoadError>) {
        let Some(identity) = identity(file) else { return };
        let refused = self.0.entry(identity).or_default();
        match error {
            Some(error) if depends_on_trust(&error.kind) => refused.push(trust),
            _ => refused.clear(),
        }
    }
}

fn identity(file: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(file).ok().map(|file| (file.dev(), file.ino()))
}

/// What came of everything that was found.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) plugins: Vec<Loaded>,
    pub(crate) errors: Vec<LoadError>,
    pub(crate) shadowed: Vec<Shadowed>,
    pub(crate) disabled: Vec<PluginInfo>,
}

impl Found {
    /// Takes in what is linked into the program.
    pub(crate) fn add_linked(&mut self, plugin: LinkedPlugin, given: &Given) {
        let info = PluginInfo::linked(&plugin);
        if given.disabled.contains(&info.name) {
            return self.disabled.push(info);
        }
        match given.policy.guard(&info, Vec::new()) {
            Ok(guard) => {
                let config = given.config(&info.name);
                let mark = Mark::opening(given.watch, &info);
                self.plugins.push(Loaded::open(info, guard, config, Entry::linked(plugin, mark)));
            }
            Err(kind) => self.errors.push(LoadError::new(&info.path, kind).with_evidence([info.evidence()])),
        }
    }

    /// Loads the plugins of these places, in order.
    pub(crate) fn add_all(&mut self, places: &[Place], loading: &Loading) {
        let (cache, mut seen) = (&loading.cache, Seen::default());
        let mut index = Index::open(cache.root());
        for (rank, place) in ranked(places) {
            let files = place.files().unwrap_or_else(|kind| {
                let path = std::path::absolute(&place.path).unwrap_or_else(|_| place.path.clone());
                self.errors.push(LoadError::new(&path, kind));
                Vec::new()
            });
            for file in files {
                if seen.is_new(&file, place.trust) {
                    let added = self.add(&file, rank, place.trust, &mut index, loading);
                    seen.add(&file, place.trust, added.as_ref().err().map(|error| &**error));
                    self.errors.extend(added.err().map(|error| *error));
                }
            }
        }
        if index.has_learned() {
            // Where there are new copies, there may be old ones.
            clean(cache.root());
        }
        index.save();
    }

    fn add(
        &mut self,
        file: &Path,
        rank: usize,
        trust: Trust,
        index: &mut Index,
        loading: &Loading,
    ) -> Result<(), Box<LoadError>> {
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
        if loading.given.disabled.contains(&info.name) {
            debug!(plugin = info.name, path = %file.display(), "disabled");
            self.disabled.push(info);
        } else if let Some(by) = self.before(&info, rank) {
            debug!(plugin = info.name, path = %file.display(), by = %by.path.display(), "shadowed");
            self.shadowed.push(Shadowed::new(info, &by));
        } else {
            let evidence = Evidence::new(&bundle, &info);
            let failed = |kind| evidence.error(file, kind);
            let guard =
                debug_span!("trust").in_scope(|| loading.given.policy.admit(&bundle, &info, trust)).map_err(failed)?;
            let loaded = Candidate { info, bundle, guard, is_known, index, loading }.load().map_err(failed)?;
            self.plugins.push(Loaded { rank, ..loaded });
        }
        Ok(())
    }

    /// The plugin that comes before this one: of the same content, or of the same name and from an earlier place. What
    /// could not be loaded comes before nothing.
    fn before(&self, plugin: &PluginInfo, rank: usize) -> Option<Arc<PluginInfo>> {
        let comes_before = |loaded: &&Loaded| {
            let other = &loaded.info;
            other.fingerprint == plugin.fingerprint || (other.name == plugin.name && loaded.rank < rank)
        };
        self.plugins.iter().find(comes_before).map(|loaded| loaded.info.clone())
    }
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
    fingerprint: String,
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
        Self { fingerprint: info.fingerprint.clone(), plugin, content: libraries.chain(tools).collect() }
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
        let error = LoadError::new(file, kind).with_fingerprint(&self.fingerprint);
        Box::new(error.with_evidence(self.plugin.iter().cloned().chain(more)))
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
        self.loading.given.quarantine.check(&self.info)?;
        let given = &self.loading.given;
        let config = given.config(&self.info.name);
        let key = definitions_key(&config, &given.limits);
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
            let (cache, watch) = (loading.cache.clone(), loading.given.watch);
            let late = Late { bundle: bundle.without_bytes(), cache, fits, watch };
            return Ok(Loaded { definitions: Some(definitions), late: Some(late), ..Loaded::new(info, guard, config) });
        }
        let entry = entry(&mut bundle, &info, &loading.cache, fits, loading.given.watch)?;
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
            limits: &self.loading.given.limits,
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
