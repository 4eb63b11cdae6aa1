//! The system's loader keeps one library per name in a process and takes it for every other of that name, silently.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::LoadErrorKind;
use crate::bundle::{Bundle, Part, sha256};

struct Loaded {
    hash: String,
    source: PathBuf,
}

/// What this process has loaded beside plugins, by the name that other libraries ask for.
static LOADED: LazyLock<Mutex<HashMap<String, Loaded>>> = LazyLock::new(Mutex::default);

/// Names that were taken for siblings about to be loaded; given back on drop, unless they are kept.
#[derive(Debug)]
#[must_use = "the names are given back on drop"]
pub(crate) struct Claim(Vec<String>);

impl Claim {
    /// The siblings are loaded, for good.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.0 {
            loaded.remove(name);
        }
    }
}

/// Refuses siblings whose name is taken by other bytes, and what needs a library of the system whose name a sibling has
/// taken; takes the names of the rest.
pub(crate) fn claim_names(bundle: &Bundle) -> Result<Claim, LoadErrorKind> {
    let siblings = &bundle.parts[1..];
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    let brought: Vec<_> = siblings.iter().map(Part::library_name).collect();
    let from_system = bundle.needed().filter(|name| !brought.contains(name));
    if let Some((library, other)) = from_system.filter_map(|name| Some((name, loaded.get(name)?))).next() {
        return Err(LoadErrorKind::NameTaken { library: library.clone(), loaded: other.source.clone() });
    }
    for sibling in siblings {
        let soname = sibling.library_name();
        let taken = match loaded.get(&soname) {
            Some(other) => (other.hash != sibling.hash).then(|| other.source.clone()),
            None => mapped(&soname).into_iter().find(|path| differs(path, sibling)),
        };
        if let Some(other) = taken {
            return Err(LoadErrorKind::SiblingClash { soname, ours: sibling.source.clone(), loaded: other });
        }
    }
    let mut claim = Claim(Vec::new());
    for sibling in siblings {
        if let Entry::Vacant(free) = loaded.entry(sibling.library_name()) {
            claim.0.push(free.key().clone());
            free.insert(Loaded { hash: sibling.hash.clone(), source: sibling.source.clone() });
        }
    }
    Ok(claim)
}

fn differs(path: &Path, sibling: &Part) -> bool {
    std::fs::read(path).map_or(true, |bytes| sha256(&bytes) != sibling.hash)
}

/// Files of this name that the process has mapped by other means.
fn mapped(soname: &str) -> Vec<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths: Vec<PathBuf> = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])))
        .filter(|path| path.file_name().is_some_and(|name| name == soname))
        .collect();
    paths.dedup();
    paths
}
