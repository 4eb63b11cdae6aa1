use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use toolhost_core::RegisterError;
use toolhost_core::journal::Timestamp;

/// What went wrong with a plugin, by the stage of its load.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// Discover: nothing is there.
    #[error("there is no such file or directory")]
    NotFound,
    /// Discover: it cannot be read.
    #[error("it cannot be read: {reason}")]
    Unreadable {
        /// The system's reason.
        reason: String,
    },
    /// Discover: a directory without plugins.
    #[error("the directory holds no `{extension}` file")]
    EmptyDirectory {
        /// The extension of plugins here, with its dot.
        extension: &'static str,
    },
    /// Inspect: not a shared library at all.
    #[error("it is {what}, not a shared library")]
    NotALibrary {
        /// What it is, with its article.
        what: String,
    },
    /// Inspect: a shared library of another platform.
    #[error("it was built for {found}, and this host runs on {wanted}")]
    OtherPlatform {
        /// What it was built for.
        found: String,
        /// What this host can load.
        wanted: String,
    },
    /// Inspect: parts of it lie beyond its end, or contradict each other.
    #[error("it is damaged: {what}")]
    Damaged {
        /// Which part.
        what: String,
    },
    /// Inspect: a sound shared library without our note.
    #[error("it is a shared library, but no toolhost plugin: it has no `{section}` note")]
    NotAPlugin {
        /// The note's section.
        section: &'static str,
    },
    /// Inspect: a note that cannot be read.
    #[error("its `{section}` note cannot be read: {reason}")]
    BadNote {
        /// The note's section.
        section: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Inspect: a note of a newer format.
    #[error("its note has format {found}, and this host reads formats up to {known}")]
    NewerNote {
        /// The plugin's.
        found: u32,
        /// The newest that this host reads.
        known: u32,
    },
    /// Inspect: an interface of another family.
    #[error("its interface is of the family `{found}`, and this host knows `{known}`")]
    OtherFamily {
        /// The plugin's.
        found: String,
        /// The host's.
        known: &'static str,
    },
    /// Inspect: built so that a panic ends the process.
    #[error("`{plugin}` was built with `panic = \"{strategy}\"`, so that its first panic would end the host")]
    PanicAborts {
        /// The plugin's name.
        plugin: String,
        /// The strategy.
        strategy: String,
    },
    /// Inspect: the note is there, the entry is not.
    #[error("it does not export `{symbol}`")]
    NoEntry {
        /// The symbol.
        symbol: &'static str,
    },
    /// Trust: it ended a process before.
    #[error("`{plugin}` is in quarantine{}: {reason}", since.map_or_else(String::new, |since| format!(" since {since}")))]
    Quarantined {
        /// The plugin's name.
        plugin: String,
        /// The hash of its content.
        hash: String,
        /// What it did.
        reason: String,
        /// Since when it is in quarantine.
        since: Option<Timestamp>,
    },
    /// Stage: no private copy could be made.
    #[error("no verified copy of it could be made in {}: {reason}", directory.display())]
    NotStaged {
        /// The cache's directory.
        directory: PathBuf,
        /// The system's reason, or what is wrong with the directory.
        reason: String,
    },
    /// Stage: a library that it brings along is loaded already, from another file.
    #[error("it brings {}, but a library named `{soname}` with other content is loaded from {}", ours.display(), loaded.display())]
    SiblingClash {
        /// The name that the system's loader goes by.
        soname: String,
        /// The file beside the plugin.
        ours: PathBuf,
        /// The file that is loaded.
        loaded: PathBuf,
    },
    /// Stage: a library would be opened where it lies, unverified, instead of from the private copy.
    #[error("it looks for {library} in `{search}`, from where that would be opened unverified")]
    OpenedInPlace {
        /// The library that it needs.
        library: String,
        /// The entry of its search path.
        search: String,
    },
    /// Stage: a library that it needs from the system has the name of one that another plugin brought along.
    #[error("it needs {library}, and gets {} instead, which another plugin brought along", loaded.display())]
    NameTaken {
        /// The library that it needs.
        library: String,
        /// The file that is loaded under that name.
        loaded: PathBuf,
    },
    /// Stage: it was not opened at the start, and is no longer what it was then.
    #[error("it has changed since this host looked at it, and the copy of what it was is gone")]
    ChangedMeanwhile,
    /// Open: no process could be started to look at it.
    #[error("no process could be started to look at it: {reason}")]
    NotLookedAt {
        /// The reason.
        reason: String,
    },
    /// Open: it ended the process that looked at it.
    #[error("`{plugin}` was opened in a process of its own, and {ending}{}", said.as_ref().map_or_else(String::new, |said| format!("; it said last: {said}")))]
    EndsProcess {
        /// The plugin's name.
        plugin: String,
        /// How the process ended.
        ending: Ending,
        /// The last line of what it wrote on standard error.
        said: Option<String>,
    },
    /// Open: the system's loader refused it.
    #[error("the system cannot open it: {reason}")]
    NotOpened {
        /// The system's reason.
        reason: String,
    },
    /// Check: another interface version.
    #[error("`{plugin}` was built for plugin interface {found}, and this host has {host}")]
    OtherVersion {
        /// The plugin's name.
        plugin: String,
        /// The plugin's version of the interface.
        found: String,
        /// The host's version of the interface.
        host: &'static str,
    },
    /// Check: the same interface version, laid out in another way.
    #[error("`{plugin}` (plugin interface {found}) does not fit this host (plugin interface {host}): {difference}")]
    OtherLayout {
        /// The plugin's name.
        plugin: String,
        /// The plugin's version of the interface.
        found: String,
        /// The host's version of the interface.
        host: &'static str,
        /// The first difference, in one line.
        difference: String,
    },
    /// Create: the factory failed.
    #[error("the factory of `{plugin}` failed: {reason}")]
    FactoryFailed {
        /// The plugin's name.
        plugin: String,
        /// The code that the factory gave to its failure, such as `config`.
        code: Option<String>,
        /// The factory's own message.
        reason: String,
    },
    /// Create: the factory did not end in time.
    #[error("the factory of `{plugin}` did not end within {} s", limit.as_secs_f64())]
    FactoryTimedOut {
        /// The plugin's name.
        plugin: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// Create: a tool's definition cannot be read.
    #[error("tool number {} of `{plugin}` has a definition that cannot be read: {reason}", index + 1)]
    BadDefinition {
        /// The plugin's name.
        plugin: String,
        /// The tool's place among those of its factory, from 0.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Register: a tool was refused; the plugin's other tools are there.
    #[error("tool number {} of `{plugin}` was left out: {reason}", index + 1)]
    ToolRefused {
        /// The plugin's name.
        plugin: String,
        /// The tool's place among those of its factory, from 0.
        index: usize,
        /// Why.
        #[source]
        reason: RegisterError,
    },
}

/// How a plugin ended a process that was there for it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// By a signal: it crashed, or killed its process.
    Signal {
        /// The signal.
        number: i32,
        /// The signal's name, such as `SIGSEGV`.
        name: Option<&'static str>,
    },
    /// By ending it on purpose.
    Exit {
        /// The process's exit code.
        code: i32,
    },
    /// Not at all.
    Hang {
        /// How long it was waited for.
        limit: Duration,
    },
}

/// The end of a sentence that names the process, such as `that crashed (SIGSEGV)`.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal { name: Some(name), .. } => write!(f, "that crashed ({name})"),
            Self::Signal { number, name: None } => write!(f, "that was ended by signal {number}"),
            Self::Exit { code } => write!(f, "it ended that with exit code {code}"),
            Self::Hang { limit } => write!(f, "that did not come to an end within {} s", limit.as_secs_f64()),
        }
    }
}
