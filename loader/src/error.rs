use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::SerializeStruct;
use toolhost_core::RegisterError;

use crate::LibcFlavour;

/// Why a plugin, or one tool of it, is not there. The others are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadError {
    /// The plugin's file, as it was found.
    pub path: PathBuf,
    /// What went wrong.
    pub kind: LoadErrorKind,
}

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
        /// The factory's own message.
        reason: String,
    },
    /// Create: the factory did not end in time.
    #[error("the factory of `{plugin}` did not end within {} s", limit.as_secs_f64())]
    FactoryTimedOut {
        /// The plugin's name.
        plugin: String,
        /// How long it was waited for.
        limit: std::time::Duration,
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

impl LoadErrorKind {
    /// A stable code, `TH` and four digits, of which the first two say the stage.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound => "TH0101",
            Self::Unreadable { .. } => "TH0102",
            Self::EmptyDirectory { .. } => "TH0103",
            Self::NotALibrary { .. } => "TH0201",
            Self::OtherPlatform { .. } => "TH0202",
            Self::Damaged { .. } => "TH0203",
            Self::NotAPlugin { .. } => "TH0204",
            Self::BadNote { .. } => "TH0205",
            Self::NewerNote { .. } => "TH0206",
            Self::OtherFamily { .. } => "TH0207",
            Self::PanicAborts { .. } => "TH0208",
            Self::NoEntry { .. } => "TH0209",
            Self::MissingLibrary { .. } => "TH0210",
            Self::NewerLibc { .. } => "TH0211",
            Self::OtherLibc { .. } => "TH0212",
            Self::NotStaged { .. } => "TH0401",
            Self::SiblingClash { .. } => "TH0402",
            Self::OpenedInPlace { .. } => "TH0403",
            Self::NameTaken { .. } => "TH0404",
            Self::NotOpened { .. } => "TH0501",
            Self::OtherVersion { .. } => "TH0601",
            Self::OtherLayout { .. } => "TH0602",
            Self::FactoryFailed { .. } => "TH0701",
            Self::FactoryTimedOut { .. } => "TH0702",
            Self::BadDefinition { .. } => "TH0703",
            Self::ToolRefused { .. } => "TH0801",
        }
    }

    /// What to do about it, in one sentence without a full stop.
    #[must_use]
    pub fn fix(&self) -> &'static str {
        match self {
            Self::NotFound => "check the path; a plugin's package needs `crate-type = [\"cdylib\"]` to make its file",
            Self::Unreadable { .. } => "give this user the right to read it",
            Self::EmptyDirectory { .. } => {
                "name the plugin's file, or its directory; its package needs `crate-type = [\"cdylib\"]` to make one"
            }
            Self::NotALibrary { .. } => "name the shared library that building the plugin makes",
            Self::OtherPlatform { .. } => "build the plugin for this platform",
            Self::Damaged { .. } => "copy or build the file again",
            Self::NotAPlugin { .. } => "export the plugin with `export_plugin!` of toolhost-plugin-sdk",
            Self::BadNote { .. } | Self::NoEntry { .. } => {
                "build the plugin with an unmodified toolhost-plugin-sdk, and keep its exported symbol when stripping"
            }
            Self::NewerNote { .. } | Self::OtherFamily { .. } => {
                "update this host, or build the plugin with an older toolhost-plugin-sdk"
            }
            Self::PanicAborts { .. } => "build it with `panic = \"unwind\"`, the default, in its profile",
            Self::MissingLibrary { .. } => {
                "install that library, or put it beside the plugin and link with `-rpath,$ORIGIN`"
            }
            Self::NewerLibc { .. } => "build the plugin on a system no newer than this one",
            Self::OtherLibc { .. } => "build the plugin for this host's C library",
            Self::NotStaged { .. } => {
                "make it a directory of this user alone, or choose another with --cache-dir (`HostBuilder::cache_dir`)"
            }
            Self::OpenedInPlace { .. } => "put the library beside the plugin and link with `-rpath,$ORIGIN`",
            Self::NameTaken { .. } => "load the plugins in separate hosts, or link the library statically into both",
            Self::SiblingClash { .. } => "link the library into the plugin statically, or give it a name of its own",
            Self::NotOpened { .. } => "install the library that is missing, or build the plugin on this system",
            Self::OtherVersion { .. } => "build the plugin with the toolhost-plugin-sdk of this host's version",
            Self::OtherLayout { .. } => "build the plugin again with a released toolhost-plugin-sdk",
            Self::FactoryFailed { .. } | Self::FactoryTimedOut { .. } => {
                "mend what the message names, or ask the plugin's author"
            }
            Self::BadDefinition { .. } | Self::ToolRefused { .. } => "change the tool, or ask the plugin's author to",
        }
    }
}

impl LoadError {
    pub(crate) fn new(path: &Path, kind: LoadErrorKind) -> Self {
        Self { path: path.to_owned(), kind }
    }

    /// The stable code of the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What to do about it.
    #[must_use]
    pub fn fix(&self) -> &'static str {
        self.kind.fix()
    }
}

/// One line: path, cause, fix and code.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {} ({})", self.path.display(), self.kind, self.fix(), self.code())
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.kind)
    }
}

/// An object with `code`, `path`, `cause` and `fix`.
impl Serialize for LoadError {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("LoadError", 4)?;
        object.serialize_field("code", self.code())?;
        object.serialize_field("path", &self.path.to_string_lossy())?;
        object.serialize_field("cause", &self.kind.to_string())?;
        object.serialize_field("fix", self.fix())?;
        object.end()
    }
}
