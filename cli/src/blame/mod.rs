//! Whose code it was that ended a run of this program, so that the next run can say so.
//!
//! Each run has a file that stays when it crashes. In memory that it shares with it, each thread notes whose code it
//! enters, and a signal handler what ended the run. What ended without a signal of that kind, such as by SIGKILL, for
//! lack of memory or of power, is nobody's fault.

mod crash;
mod run;
mod shared;
mod store;

use std::path::PathBuf;

use etcetera::BaseStrategy;
use toolhost_core::service::NoticeLevel;
use toolhost_loader::{CodeWatch, Ending, LoadError, LoadErrorKind, Quarantined};
use tracing::debug;

use crate::output::notice;
use crate::plain::plain_line;
use store::Store;

pub(crate) use store::Held;

/// Where all of it is kept; `None` where this user has no such directory.
pub(crate) fn directory() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("toolhost"))
}

/// What a run that loads plugins starts with.
#[derive(Default)]
pub(crate) struct Start {
    pub(crate) quarantined: Vec<Quarantined>,
    /// `None` where nothing can be kept for the next run.
    pub(crate) watch: Option<&'static dyn CodeWatch>,
}

/// Says which plugins ended earlier runs, and begins to watch this one.
pub(crate) fn start() -> Start {
    let Some(directory) = directory() else { return Start::default() };
    let store = settle(&directory);
    let held = store.held().unwrap_or_else(|error| {
        warn(&format!("what is in quarantine is not known: {error}"));
        Vec::new()
    });
    let watch = run::begin(&runs(&directory)).inspect_err(|error| debug!("this run is not watched: {error}"));
    Start {
        quarantined: held.iter().map(Held::as_quarantined).collect(),
        watch: watch.ok().map(|run| run as &'static dyn CodeWatch),
    }
}

/// Says which plugins ended earlier runs, and puts those on record.
pub(crate) fn settle(directory: &std::path::Path) -> Store {
    let store = Store::new(directory.join("blame.json"));
    for crash in crash::take(&runs(directory)) {
        warn(&crash.to_string());
        if let Err(error) = store.blame(&crash) {
            warn(&format!("it is not put on record: {error}"));
        }
    }
    store
}

fn runs(directory: &std::path::Path) -> PathBuf {
    directory.join("blame")
}

/// Puts plugins into quarantine that ended the process that looked at them.
pub(crate) fn note_refused(errors: &[LoadError]) {
    let ended = errors.iter().filter_map(|error| match &error.kind {
        LoadErrorKind::EndsProcess { plugin, ending, .. } if counts(ending) => Some((error, plugin)),
        _ => None,
    });
    for (error, plugin) in ended {
        let (Some(directory), Some(hash)) = (directory(), &error.fingerprint) else { continue };
        let held = Held::new(hash, plugin, &error.path, error.kind.to_string());
        if let Err(error) = Store::new(directory.join("blame.json")).hold(held) {
            warn(&format!("`{}` is not put into quarantine: {error}", plain_line(plugin)));
        }
    }
}

/// What SIGKILL ends may have lacked memory.
fn counts(ending: &Ending) -> bool {
    !matches!(ending, Ending::Signal { number: libc::SIGKILL, .. })
}

/// This run ends as it should: there is nothing to blame anybody for.
pub(crate) fn end() {
    run::end();
}

fn warn(text: &str) {
    notice(NoticeLevel::Warning, &plain_line(text));
}
