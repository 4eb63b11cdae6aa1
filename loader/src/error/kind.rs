use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toolhost_core::RegisterError;
use toolhost_core::journal::Timestamp;

use crate::{Block, LibcFlavour, PlaceProblem, PluginInfo, StateError};

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
    /// Inspect: a library that it needs is not on this system.
    #[error("{} needs {library}, which cannot be found", needed_by.as_deref().unwrap_or(Path::new("it")).display())]
    MissingLibrary {
        /// The library that is missing.
        library: String,
        /// The library that needs it; none where the plugin itself does.
        needed_by: Option<PathBuf>,
    },
    /// Inspect: linked with a newer C library than this system's.
    #[error("it needs glibc {needed}, and this system has {found}")]
    NewerLibc {
        /// The version that it needs.
        needed: String,
        /// The system's version.
        found: String,
    },
    /// Inspect: linked with another C library than this process.
    #[error("it was built for {found}, and this host runs on {wanted}")]
    OtherLibc {
        /// The plugin's.
        found: LibcFlavour,
        /// The host's.
        wanted: LibcFlavour,
    },
    /// Trust: nobody has looked at it and said that it may be loaded.
    #[error("`{}` {} is not trusted", plugin.name, plugin.version)]
    NotTrusted {
        /// The plugin.
        plugin: Box<UntrustedPlugin>,
    },
    /// Trust: it is another one than that which was trusted at its path.
    #[error("`{}` {} has changed since it was trusted, when its hash was {trusted}", plugin.name, plugin.version)]
    ChangedSinceTrusted {
        /// The plugin as it is now.
        plugin: Box<UntrustedPlugin>,
        /// The hash that was trusted.
        trusted: String,
    },
    /// Trust: others than this user and root could put something else in its place.
    #[error("its place is not safe: {} {problem}", place.display())]
    UnsafePlace {
        /// The file, the link or the directory that is not safe.
        place: PathBuf,
        /// Whose it is, or who may write it.
        problem: PlaceProblem,
    },
    /// Trust: it is blocked, whoever trusts it.
    #[error("`{plugin}` {version} is blocked by {}: {}", list_name(list.as_ref()), block.reason)]
    Blocked {
        /// The plugin's name.
        plugin: String,
        /// The plugin's version.
        version: String,
        /// The entry that names it.
        block: Box<Block>,
        /// The list that it stands on; none where it is the program's own.
        list: Option<PathBuf>,
    },
    /// Trust: what is trusted or blocked cannot be read.
    #[error("whether it may be loaded cannot be decided: {error}")]
    Undecided {
        /// What is wrong.
        #[source]
        error: StateError,
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
    /// Create: more tools than one plugin may have; the first ones are there.
    #[error("`{plugin}` has {found} tools, and only the first {limit} are there")]
    TooManyTools {
        /// The plugin's name.
        plugin: String,
        /// How many its factory made.
        found: usize,
        /// How many one plugin may have.
        limit: usize,
    },
    /// Create: a tool's definition is too large; the plugin's other tools are there.
    #[error("tool number {} of `{plugin}` has a definition of {bytes} bytes, of which {limit} are the most", index + 1)]
    DefinitionTooLarge {
        /// The plugin's name.
        plugin: String,
        /// The tool's place among those of its factory, from 0.
        index: usize,
        /// How large it is, as JSON.
        bytes: usize,
        /// How large it may be.
        limit: usize,
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

/// A plugin that could be loaded if it were trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UntrustedPlugin {
    /// The plugin's name.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// Its hash.
    pub fingerprint: String,
    /// The plugin's file.
    pub path: PathBuf,
    /// The tools that it declares; empty where it declares none.
    pub tools: Vec<String>,
}

impl UntrustedPlugin {
    pub(crate) fn new(info: &PluginInfo, tools: &[String]) -> Self {
        Self {
            name: info.name.clone(),
            version: info.version.clone(),
            fingerprint: info.fingerprint.clone(),
            path: info.path.clone(),
            tools: tools.to_vec(),
        }
    }
}

fn list_name(list: Option<&PathBuf>) -> String {
    list.map_or_else(|| "this program".to_owned(), |list| list.display().to_string())
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
