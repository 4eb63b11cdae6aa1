//! Whether the libraries that a plugin needs, and those that they need, are on this system: the system's loader names
//! one that is missing, but not always who needs it.

mod cache;
mod search;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::search::Search;
use crate::LoadErrorKind;
use crate::bundle::Part;
use crate::inspect::{self, Linkage};

/// Where a library would come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The plugin brings it along.
    Brought(PathBuf),
    /// A file of the system.
    Found(PathBuf),
    /// The process has it already, from wherever.
    Loaded,
    /// The system's loader would not find it.
    Missing,
    /// This cannot be told here.
    Unknown,
}

/// A library that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) name: String,
    /// Who needs it, the first one first.
    pub(crate) needed_by: Vec<PathBuf>,
    pub(crate) place: Place,
}

/// Refuses a plugin of which something is missing.
pub(crate) fn check(parts: &[Part]) -> Result<(), LoadErrorKind> {
    // What the process has already is there, and so is everything that it needs: nothing has to be read for it.
    none_is_missing(parts, &walk(parts, &Search::loaded_first()))
}

/// Refuses a plugin where one of these is missing.
pub(crate) fn none_is_missing(parts: &[Part], needs: &[Need]) -> Result<(), LoadErrorKind> {
    let Some(missing) = needs.iter().find(|need| need.place == Place::Missing) else { return Ok(()) };
    let plugin = parts.first().map(|part| &part.source);
    let by_itself = missing.needed_by.iter().any(|path| Some(path) == plugin);
    let needed_by = missing.needed_by.first().filter(|_| !by_itself).cloned();
    Err(LoadErrorKind::MissingLibrary { library: missing.name.clone(), needed_by })
}

/// Everything that a plugin with these parts needs, with the files where they are.
pub(crate) fn all(parts: &[Part]) -> Vec<Need> {
    walk(parts, &Search::files_first())
}

/// A library whose needs are not looked at yet.
struct Waiting {
    path: PathBuf,
    linkage: Linkage,
    /// Where those look who led to this one; the older of the two kinds of search path is handed on.
    search: Vec<(PathBuf, String)>,
    /// A part of the plugin: where it looks beside itself, only what it brings along will be.
    brought: bool,
}

fn walk(parts: &[Part], search: &Search) -> Vec<Need> {
    let mut needs: Vec<Need> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let brought = |part: &Part| Waiting {
        path: part.source.clone(),
        linkage: part.linkage.clone(),
        search: parts.first().map(|plugin| own_search(&plugin.linkage, None)).unwrap_or_default(),
        brought: true,
    };
    let mut waiting: Vec<Waiting> = parts.iter().rev().map(brought).collect();
    while let Some(library) = waiting.pop() {
        let origin = if library.brought { None } else { library.path.parent() };
        let mut directories = own_search(&library.linkage, origin);
        directories.extend(library.search);
        for name in library.linkage.needed {
            if let Some(at) = known.get(&name) {
                let needed_by = &mut needs[*at].needed_by;
                if !needed_by.contains(&library.path) {
                    needed_by.push(library.path.clone());
                }
                continue;
            }
            let place = place(parts, search, &name, &directories);
            if let Place::Found(path) = &place
                && let Some(linkage) = inspect::linkage_of_file(path)
            {
                waiting.push(Waiting { path: path.clone(), linkage, search: directories.clone(), brought: false });
            }
            known.insert(name.clone(), needs.len());
            needs.push(Need { name, needed_by: vec![library.path.clone()], place });
        }
    }
    needs
}

/// A library's own search path, each entry with what it calls its origin.
fn own_search(linkage: &Linkage, origin: Option<&Path>) -> Vec<(PathBuf, String)> {
    let origin = origin.map(Path::to_owned).unwrap_or_default();
    linkage.search.iter().map(|entry| (origin.clone(), entry.clone())).collect()
}

fn place(parts: &[Part], search: &Search, name: &str, directories: &[(PathBuf, String)]) -> Place {
    let file_name = name.rsplit('/').next().unwrap_or(name);
    let is_part =
        |part: &&Part| part.library_name() == name || part.relative.file_name().is_some_and(|own| own == file_name);
    match parts.iter().skip(1).find(is_part) {
        Some(part) => Place::Brought(part.source.clone()),
        None => search.place(name, directories),
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    fn part(source: &str, needed: &[&str], search: &[&str]) -> Part {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        Part {
            relative: Path::new(source).file_name().unwrap_or_default().into(),
            source: source.into(),
            bytes: None,
            key: None,
            copy: None,
            hash: String::new(),
            linkage: Linkage { soname: None, needed: owned(needed), search: owned(search) },
        }
    }

    #[test]
    fn what_is_missing_is_named_with_who_needs_it() {
        let parts = [
            part("/p/plugin.so", &["libdep.so", "libc.so.6"], &["$ORIGIN"]),
            part("/p/libdep.so", &["libc.so.6", "libnowhere.so.7"], &[]),
        ];
        let error = check(&parts).unwrap_err();
        assert_eq!(error.to_string(), "/p/libdep.so needs libnowhere.so.7, which cannot be found");
        assert_eq!(error.code(), "TH0210");
        let parts =
            [part("/p/plugin.so", &["libdep.so", "libc.so.6", "libnowhere.so.7"], &["$ORIGIN"]), parts[1].clone()];
        assert_eq!(check(&parts).unwrap_err().to_string(), "it needs libnowhere.so.7, which cannot be found");
        let needs = all(&parts);
        let place = |name: &str| &needs.iter().find(|need| need.name == name).unwrap().place;
        assert_eq!(place("libdep.so"), &Place::Brought("/p/libdep.so".into()));
        assert_eq!(place("libnowhere.so.7"), &Place::Missing);
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn what_the_process_has_is_there_and_has_a_file() {
        let parts = [part("/p/plugin.so", &["libc.so.6"], &[])];
        assert!(check(&parts).is_ok());
        let libc = &all(&parts)[0];
        assert_eq!(libc.needed_by, [Path::new("/p/plugin.so")]);
        let Place::Found(path) = &libc.place else { panic!("{libc:?}") };
        assert!(path.ends_with("libc.so.6"), "{path:?}");
    }
}
