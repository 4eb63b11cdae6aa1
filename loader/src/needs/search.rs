//! Where the system's loader looks for a library that is named without a path.
//!
//! What it finds, this finds too, from a little more places: a plugin must not be refused for a library that is there.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::{Library, RTLD_LAZY};

use super::Place;
use super::cache::Cache;
use crate::inspect;

/// The directories that are built into the loaders of the common systems.
const DEFAULTS: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];
const CACHE: &str = "/etc/ld.so.cache";

/// A search, which reads the system's own list at most once.
pub(super) struct Search {
    loaded_first: bool,
    cache: OnceLock<Option<Cache>>,
}

impl Search {
    /// Asks the process first, which is quick; what it has already has no path then.
    pub(super) fn loaded_first() -> Self {
        Self { loaded_first: true, cache: OnceLock::new() }
    }

    /// Asks the process last.
    pub(super) fn files_first() -> Self {
        Self { loaded_first: false, cache: OnceLock::new() }
    }

    /// Where a library comes from, with the search path of whoever needs it.
    pub(super) fn place(&self, name: &str, directories: &[(PathBuf, String)]) -> Place {
        if !cfg!(target_os = "linux") {
            return Place::Unknown;
        }
        if self.loaded_first && is_loaded(name) {
            return Place::Loaded;
        }
        if let Some(path) = self.file(name, directories) {
            return Place::Found(path);
        }
        if !self.loaded_first && is_loaded(name) {
            return Place::Loaded;
        }
        // A list that cannot be read may have it.
        if cfg!(target_env = "gnu") && self.cache().is_none() && Path::new(CACHE).exists() {
            return Place::Unknown;
        }
        Place::Missing
    }

    fn file(&self, name: &str, directories: &[(PathBuf, String)]) -> Option<PathBuf> {
        if name.contains('/') {
            let path = PathBuf::from(name);
            return is_library(&path).then_some(path);
        }
        let own = directories.iter().flat_map(|(origin, entry)| expand(origin, entry));
        let asked = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let asked: Vec<PathBuf> = std::env::split_paths(&asked).collect();
        in_any(name, own.chain(asked))
            .or_else(|| self.cache()?.paths(name).find(|path| is_library(path)))
            .or_else(|| in_any(name, default_directories()))
            .or_else(|| in_any(name, of_program().iter().cloned()))
    }

    fn cache(&self) -> Option<&Cache> {
        self.cache.get_or_init(|| Cache::parse(std::fs::read(CACHE).ok()?)).as_ref()
    }
}

fn in_any(name: &str, directories: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    directories.filter(|directory| directory.is_absolute()).map(|path| path.join(name)).find(|path| is_library(path))
}

/// The system's loader passes over files for other machines.
fn is_library(path: &Path) -> bool {
    path.is_file() && inspect::linkage_of_file(path).is_some()
}

fn default_directories() -> impl Iterator<Item = PathBuf> {
    let several = ["/lib", "/usr/lib"].map(|parent| format!("{parent}/{}", several_machines()));
    let musl = std::fs::read_to_string(format!("/etc/ld-musl-{}.path", std::env::consts::ARCH)).unwrap_or_default();
    let musl: Vec<_> = musl.split([':', '\n']).filter(|_| cfg!(target_env = "musl")).map(PathBuf::from).collect();
    musl.into_iter().chain(several.map(PathBuf::from)).chain(DEFAULTS.map(PathBuf::from))
}

/// What Debian calls the directory of a machine's libraries.
fn several_machines() -> String {
    format!("{}-linux-{}", std::env::consts::ARCH, if cfg!(target_env = "musl") { "musl" } else { "gnu" })
}

/// The directories that an entry of a search path names. An empty origin is that of a plugin's private copy, beside
/// which lies only what it brings along.
fn expand(origin: &Path, entry: &str) -> Vec<PathBuf> {
    let mut entries = vec![entry.to_owned()];
    let platform = std::env::consts::ARCH;
    let libraries = ["lib64".to_owned(), "lib".to_owned(), format!("lib/{}", several_machines())];
    for mark in ["$LIB", "${LIB}"] {
        if entry.contains(mark) {
            entries = libraries.iter().map(|library| entry.replace(mark, library)).collect();
        }
    }
    let expanded =
        entries.into_iter().map(|entry| entry.replace("$PLATFORM", platform).replace("${PLATFORM}", platform));
    let origin = origin.to_string_lossy();
    expanded
        .filter(|entry| !origin.is_empty() || !entry.contains("ORIGIN"))
        .map(|entry| entry.replace("$ORIGIN", &origin).replace("${ORIGIN}", &origin))
        .map(PathBuf::from)
        .collect()
}

/// Where the program itself looks for libraries: the older kind of such a path holds for what it opens, too.
fn of_program() -> &'static [PathBuf] {
    static DIRECTORIES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    DIRECTORIES.get_or_init(|| {
        let Ok(program) = std::env::current_exe() else { return Vec::new() };
        let Some(linkage) = inspect::linkage_of_file(&program) else { return Vec::new() };
        let origin = program.parent().unwrap_or(Path::new("/"));
        linkage.search.iter().flat_map(|entry| expand(origin, entry)).collect()
    })
}

/// Whether the process has a library under this name.
fn is_loaded(name: &str) -> bool {
    // SAFETY: with `RTLD_NOLOAD` nothing is loaded, so that no code of a library runs. A library that is there already
    // is only counted once more; it is never closed, as none is.
    let library = unsafe { Library::open(Some(name), RTLD_LAZY | libc::RTLD_NOLOAD) };
    library.map(std::mem::forget).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_a_search_path_are_filled_in() {
        let expanded = |origin: &str, entry: &str| expand(Path::new(origin), entry);
        assert_eq!(expanded("/o", "$ORIGIN/../x"), [Path::new("/o/../x")]);
        assert_eq!(expanded("/o", "${ORIGIN}"), [Path::new("/o")]);
        assert_eq!(expanded("", "$ORIGIN/lib"), Vec::<PathBuf>::new());
        assert_eq!(expanded("", "/opt/lib"), [Path::new("/opt/lib")]);
        assert!(expanded("", "/opt/$LIB/x").contains(&PathBuf::from("/opt/lib64/x")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_is_no_library_of_this_machine_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let search = [(PathBuf::new(), directory.path().to_str().unwrap().to_owned())];
        let place = || Search::files_first().place("libtoolhost-nowhere.so", &search);
        assert_eq!(place(), Place::Missing);
        let path = directory.path().join("libtoolhost-nowhere.so");
        std::fs::write(&path, "INPUT(libc.so.6)").unwrap();
        assert_eq!(place(), Place::Missing);
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        assert_eq!(place(), Place::Found(path));
    }
}
