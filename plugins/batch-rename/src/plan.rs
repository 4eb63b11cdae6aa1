//! From files and rules to a plan that can be applied, or to all the reasons why not.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::lstat;
use rustix::io::Errno;

use crate::dirs::{DirError, Directory, Dirs, Key, Place, ignores_case};
use crate::fingerprint::Fingerprint;
use crate::order::{Step, order};
use crate::problem::{Flaw, Problem, Refusal};
use crate::rules::{OldName, Rules};
use crate::text::relative;

/// What will be renamed, checked against the file system as it was at the preview. It stays valid however often it is
/// applied, as long as the files are as they were.
#[derive(Debug)]
pub(crate) struct Plan {
    root: PathBuf,
    entries: Vec<Entry>,
    unchanged: usize,
    steps: Vec<Step>,
    spellings: Vec<(PathBuf, Arc<Directory>)>,
}

/// One rename.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Where the file is.
    pub(crate) from: Place,
    /// Where it goes.
    pub(crate) to: Place,
    /// What it looked like.
    pub(crate) fingerprint: Fingerprint,
    /// Whether another entry of the plan, or this one under another spelling, is at `to` and moves away.
    pub(crate) target_moves_away: bool,
}

impl Plan {
    /// Checks the renaming of `files`, relative to `root` or absolute, by `rules`. Only looks; changes nothing.
    ///
    /// # Errors
    ///
    /// All problems at once.
    pub(crate) fn new(root: &Path, files: &[String], rules: &Rules) -> Result<Self, Refusal> {
        Self::with_case_probe(root, files, rules, ignores_case)
    }

    /// [`Plan::new`], with another way to tell whether a directory takes names without regard to case.
    pub(crate) fn with_case_probe(
        root: &Path,
        files: &[String],
        rules: &Rules,
        ignores_case: fn(&Path) -> bool,
    ) -> Result<Self, Refusal> {
        if files.is_empty() {
            return Err(Problem::NoFiles.into());
        }
        let dirs = Dirs::new(root, ignores_case)
            .map_err(|cause| Refusal::from(Problem::NoRoot { root: root.to_owned(), cause }))?;
        let mut checker = Checker { dirs, problems: Vec::new() };
        let sources = checker.sources(files);
        let moves = checker.moves(&sources, rules);
        checker.shared(&sources, &moves);
        checker.occupied(&sources, &moves);
        checker.nested(&sources, &moves);
        if checker.problems.is_empty() {
            Ok(checker.plan(&sources, moves))
        } else {
            Err(Refusal { problems: checker.problems })
        }
    }

    /// The session's directory, without symlinks.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// How many files would be renamed.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing would change; such a plan is not worth staging.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many of the files keep their name.
    pub(crate) fn unchanged(&self) -> usize {
        self.unchanged
    }

    /// Each rename's old and new path, absolute, in the order in which the files were given.
    pub(crate) fn renames(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        self.entries.iter().map(|entry| (entry.from.path(), entry.to.path()))
    }

    /// The renames, in the order in which the files were given.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The steps that lead to the new names.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Each directory that was named on the way, with what the name led to.
    pub(crate) fn spellings(&self) -> &[(PathBuf, Arc<Directory>)] {
        &self.spellings
    }
}

struct Source {
    place: Place,
    key: Key,
    fingerprint: Fingerprint,
}

/// A source, by its index, that gets a new name.
struct Move {
    source: usize,
    to: Place,
}

/// What the rules make of the sources.
struct Moves {
    list: Vec<Move>,
    /// The sources that keep their name.
    staying: HashSet<usize>,
}

struct Checker {
    dirs: Dirs,
    problems: Vec<Problem>,
}

impl Checker {
    fn shown(&self, place: &Place) -> PathBuf {
        relative(self.dirs.root(), &place.path()).to_owned()
    }

    fn sources(&mut self, files: &[String]) -> Vec<Source> {
        let mut sources: Vec<Source> = Vec::with_capacity(files.len());
        let mut first_given: HashMap<Key, &String> = HashMap::with_capacity(files.len());
        for given in files {
            match self.source(given) {
                Err(problem) => self.problems.push(problem),
                Ok(source) => match first_given.get(&source.key) {
                    Some(before) => {
                        self.problems.push(Problem::Twice { source: given.into(), before: before.into() });
                    }
                    None => {
                        first_given.insert(source.key.clone(), given);
                        sources.push(source);
                    }
                },
            }
        }
        sources
    }

    fn source(&mut self, given: &str) -> Result<Source, Problem> {
        let shown = PathBuf::from(given);
        let path = self.dirs.root().join(given);
        let (false, Some(parent), Some(name)) =
            (given.is_empty(), path.parent(), path.file_name().and_then(|name| name.to_str()))
        else {
            return Err(Problem::NoName { given: shown });
        };
        let directory = match self.dirs.find(parent) {
            Ok(directory) => directory,
            Err(DirError::Missing) => return Err(Problem::Missing { source: shown }),
            Err(DirError::Outside) => return Err(Problem::SourceOutside { source: shown }),
            Err(DirError::Unreadable(cause)) => return Err(Problem::Unreadable { path: shown, cause }),
        };
        let name = directory.spelling(name).to_owned();
        let place = Place { directory, name };
        match lstat(place.path()) {
            Ok(stat) => Ok(Source { key: place.key(), place, fingerprint: Fingerprint::of(&stat) }),
            Err(Errno::NOENT) => Err(Problem::Missing { source: shown }),
            Err(cause) => Err(Problem::Unreadable { path: shown, cause: cause.into() }),
        }
    }

    fn moves(&mut self, sources: &[Source], rules: &Rules) -> Moves {
        let old: Vec<_> = sources
            .iter()
            .map(|source| OldName { name: &source.place.name, is_directory: source.fingerprint.is_directory() })
            .collect();
        let mut moves = Moves { list: Vec::with_capacity(sources.len()), staying: HashSet::new() };
        for (source, new) in rules.new_names(&old).into_iter().enumerate() {
            let from = &sources[source].place;
            match self.target(from, &new) {
                Ok(to) if to.name == from.name && Arc::ptr_eq(&to.directory, &from.directory) => {
                    moves.staying.insert(source);
                }
                Ok(to) => moves.list.push(Move { source, to }),
                Err(problem) => self.problems.push(problem),
            }
        }
        moves
    }

    /// Where `new`, which may hold `/`, puts the file at `from`.
    fn target(&mut self, from: &Place, new: &str) -> Result<Place, Problem> {
        let source = self.shown(from);
        let name = new.rsplit('/').next().unwrap_or_default();
        if let Some(flaw) = Flaw::of(name) {
            return Err(Problem::BadName { source, new: new.to_owned(), flaw });
        }
        let directory = match &new[..new.len() - name.len()] {
            "" => Arc::clone(&from.directory),
            directory => {
                let spelled = from.directory.path().join(directory);
                let target = relative(self.dirs.root(), &spelled.join(name)).to_owned();
                self.dirs.find(&spelled).map_err(|error| match error {
                    DirError::Missing => Problem::NoDirectory { source: source.clone(), target },
                    DirError::Outside => Problem::TargetOutside { source: source.clone(), target },
                    DirError::Unreadable(cause) => Problem::Unreadable { path: target, cause },
                })?
            }
        };
        let to = Place { directory, name: name.to_owned() };
        if to.directory.identity().same_device(from.directory.identity()) {
            Ok(to)
        } else {
            Err(Problem::OtherFileSystem { source, target: self.shown(&to) })
        }
    }

    /// Several files for one name.
    fn shared(&mut self, sources: &[Source], moves: &Moves) {
        let mut by_target: HashMap<Key, Vec<&Move>> = HashMap::with_capacity(moves.list.len());
        for mv in &moves.list {
            by_target.entry(mv.to.key()).or_default().push(mv);
        }
        for first in &moves.list {
            let sharing = &by_target[&first.to.key()];
            if sharing.len() > 1 && sharing[0].source == first.source {
                let sources = sharing.iter().map(|mv| self.shown(&sources[mv.source].place)).collect();
                self.problems.push(Problem::Shared { target: self.shown(&first.to), sources });
            }
        }
    }

    /// Names that are taken by something that does not move away.
    fn occupied(&mut self, sources: &[Source], moves: &Moves) {
        let by_key: HashMap<&Key, usize> = sources.iter().enumerate().map(|(i, source)| (&source.key, i)).collect();
        for mv in &moves.list {
            let taken = match by_key.get(&mv.to.key()) {
                Some(occupant) => Ok(moves.staying.contains(occupant)),
                None => exists(&mv.to.path()),
            };
            let target = self.shown(&mv.to);
            match taken {
                Ok(false) => {}
                Ok(true) => {
                    let source = self.shown(&sources[mv.source].place);
                    self.problems.push(Problem::Occupied { source, target });
                }
                Err(cause) => self.problems.push(Problem::Unreadable { path: target, cause }),
            }
        }
    }

    /// Renames inside a directory that is itself renamed: their paths would change under way.
    fn nested(&mut self, sources: &[Source], moves: &Moves) {
        let moving: HashSet<PathBuf> = moves
            .list
            .iter()
            .map(|mv| &sources[mv.source])
            .filter(|source| source.fingerprint.is_directory())
            .map(|source| source.place.path())
            .collect();
        if moving.is_empty() {
            return;
        }
        for mv in &moves.list {
            let from = &sources[mv.source].place;
            let around = [from, &mv.to]
                .into_iter()
                .find_map(|place| place.directory.path().ancestors().find(|&path| moving.contains(path)));
            if let Some(directory) = around {
                let directory = relative(self.dirs.root(), directory).to_owned();
                self.problems.push(Problem::InsideMoving { source: self.shown(from), directory });
            }
        }
    }

    fn plan(self, sources: &[Source], moves: Moves) -> Plan {
        let by_key: HashMap<&Key, usize> =
            moves.list.iter().enumerate().map(|(i, mv)| (&sources[mv.source].key, i)).collect();
        let blockers: Vec<_> = moves.list.iter().map(|mv| by_key.get(&mv.to.key()).copied()).collect();
        let entry = |(Move { source, to }, blocker): (Move, &Option<usize>)| {
            let Source { place, fingerprint, .. } = &sources[source];
            Entry { from: place.clone(), to, fingerprint: *fingerprint, target_moves_away: blocker.is_some() }
        };
        Plan {
            root: self.dirs.root().to_owned(),
            entries: moves.list.into_iter().zip(&blockers).map(entry).collect(),
            unchanged: moves.staying.len(),
            steps: order(&blockers),
            spellings: self.dirs.into_spellings(),
        }
    }
}

/// Whether anything has this path, a dangling symlink included.
pub(crate) fn exists(path: &Path) -> io::Result<bool> {
    match lstat(path) {
        Ok(_) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
        Err(cause) => Err(cause.into()),
    }
}

#[cfg(test)]
mod tests;
