//! Applies a plan: all of it, or nothing.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;

use crate::dirs::Place;
use crate::order::Leg;
use crate::plan::Plan;
use crate::rename::{AtomicRename, Moved, RenameError, noreplace, rename};
use crate::text::{count, relative, show};
use crate::verify::{Difference, differences};

/// Renames all files of `plan`. Blocks on the file system.
///
/// It first compares the files with the preview, then never overwrites anything. When a rename fails, those before it
/// are undone. The plan can be applied again after an error.
///
/// # Errors
///
/// [`ApplyError::Stale`] if anything changed since the preview; then nothing was done. [`ApplyError::Failed`] if a
/// rename failed; it says whether everything is back.
pub(crate) fn apply(plan: &Plan) -> Result<(), ApplyError> {
    apply_by(noreplace, plan, |_, _| ())
}

/// [`apply`] by `atomic`, calling `before` before each rename with how many are done.
fn apply_by(atomic: AtomicRename, plan: &Plan, mut before: impl FnMut(usize, &Hop)) -> Result<(), ApplyError> {
    let differences = differences(plan);
    if !differences.is_empty() {
        return Err(ApplyError::Stale(differences));
    }
    let hops = hops(plan);
    let mut moved: Vec<Moved> = plan
        .entries()
        .iter()
        .map(|entry| Moved { identity: entry.fingerprint.identity, is_directory: entry.fingerprint.is_directory() })
        .collect();
    for (done, hop) in hops.iter().enumerate() {
        before(done, hop);
        match rename(&hop.from, &hop.to, moved[hop.entry], atomic) {
            Ok(identity) => moved[hop.entry].identity = identity,
            Err(cause) => {
                let undo = Undo { plan, atomic, moved: &moved, stranded: BTreeMap::new() };
                return Err(ApplyError::Failed(undo.after(&hops[..done], hop, cause)));
            }
        }
    }
    Ok(())
}

/// A step with the names it leads from and to.
struct Hop {
    entry: usize,
    from: Place,
    to: Place,
}

fn hops(plan: &Plan) -> Vec<Hop> {
    let mut aside = None;
    let mut hops = Vec::with_capacity(plan.steps().len());
    for step in plan.steps() {
        let entry = &plan.entries()[step.entry];
        let (from, to) = match step.leg {
            Leg::Whole => (entry.from.clone(), entry.to.clone()),
            Leg::Aside => {
                let place = Place { directory: entry.from.directory.clone(), name: temporary_name() };
                (entry.from.clone(), aside.insert(place).clone())
            }
            // Its Aside came before, and no other cycle in between.
            Leg::Home => (aside.take().unwrap_or_else(|| entry.from.clone()), entry.to.clone()),
        };
        hops.push(Hop { entry: step.entry, from, to });
    }
    hops
}

/// Hidden, recognisable by whoever finds one after a crash, and impossible to foresee: the standard library keys its
/// hashers with random bits of the system.
fn temporary_name() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!(".toolhost-rename-{:016x}{:016x}", random(), random())
}

struct Undo<'p> {
    plan: &'p Plan,
    atomic: AtomicRename,
    moved: &'p [Moved],
    /// By entry.
    stranded: BTreeMap<usize, Stranded>,
}

impl Undo<'_> {
    /// Undoes `done`, last first, after `failed` failed for `cause`.
    fn after(mut self, done: &[Hop], failed: &Hop, cause: RenameError) -> Failure {
        if matches!(cause, RenameError::TwoNames) {
            self.strand(failed, RenameError::TwoNames);
        }
        for hop in done.iter().rev() {
            if self.stranded.contains_key(&hop.entry) {
                continue;
            }
            if let Err(cause) = rename(&hop.to, &hop.from, self.moved[hop.entry], self.atomic) {
                self.strand(hop, cause);
            }
        }
        Failure {
            from: self.shown(&failed.from),
            to: self.shown(&failed.to),
            cause,
            undone: done.len(),
            stranded: self.stranded.into_values().collect(),
        }
    }

    fn strand(&mut self, hop: &Hop, cause: RenameError) {
        let old = self.shown(&self.plan.entries()[hop.entry].from);
        self.stranded.insert(hop.entry, Stranded { old, now: self.shown(&hop.to), cause });
    }

    fn shown(&self, place: &Place) -> PathBuf {
        relative(self.plan.root(), &place.path()).to_owned()
    }
}

/// Why a plan was not applied. Paths are relative to the session's directory.
#[derive(Debug)]
pub(crate) enum ApplyError {
    /// The files differ from the preview; nothing was done.
    Stale(Vec<Difference>),
    /// A rename failed.
    Failed(Failure),
}

/// A rename that failed, and what became of those before it.
#[derive(Debug)]
pub(crate) struct Failure {
    from: PathBuf,
    to: PathBuf,
    cause: RenameError,
    undone: usize,
    stranded: Vec<Stranded>,
}

/// A file that could not be put back.
#[derive(Debug)]
pub(crate) struct Stranded {
    /// The path it had before.
    pub(crate) old: PathBuf,
    /// The path that it was given last.
    pub(crate) now: PathBuf,
    /// Why it could not be put back.
    pub(crate) cause: RenameError,
}

impl fmt::Display for Stranded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, now) = (show(&self.old), show(&self.now));
        match self.cause {
            RenameError::NotThere => write!(f, "{old} was renamed to {now}, and since then removed or replaced there"),
            RenameError::Taken => write!(f, "{old} is now {now}: its old name is taken"),
            _ => write!(f, "{old} is now {now}: {}", self.cause),
        }
    }
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale(differences) => {
                write!(
                    f,
                    "the files changed since the preview, so nothing was renamed; discard it and preview again:"
                )?;
                differences.iter().try_for_each(|difference| write!(f, "\n- {difference}"))
            }
            Self::Failed(failure) => failure.fmt(f),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}: {}; ", show(&self.from), show(&self.to), self.cause)?;
        if self.stranded.is_empty() {
            return match self.undone {
                0 => write!(f, "nothing was renamed; remove the cause and apply again"),
                n => write!(
                    f,
                    "{} before it {} undone, so every file has its old name; remove the cause and apply again",
                    count(n, "rename"),
                    if n == 1 { "was" } else { "were" }
                ),
            };
        }
        write!(f, "{} could not be put back, rename by hand what you need:", count(self.stranded.len(), "file"))?;
        self.stranded.iter().try_for_each(|stranded| write!(f, "\n- {stranded}"))
    }
}

impl std::error::Error for ApplyError {}

#[cfg(test)]
mod tests;
