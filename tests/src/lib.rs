//! Builds the plugins that the integration tests and benches run, by a cargo of their own.
//!
//! Every artifact is built at most once in a process; what is fresh is not built again by the next one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use xtask::build::{Build, Profile};

/// The manifest of the workspace of fixtures.
pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/Cargo.toml");

macro_rules! fixtures {
    ($($(#[$doc:meta])* $fixture:ident = $name:literal,)+) => {
        /// A plugin of the fixtures' workspace. Each has tests; one test compares the list with the directories.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Fixture {
            $($(#[$doc])* $fixture,)+
        }

        impl Fixture {
            /// All of them, by name.
            pub const ALL: &[Self] = &[$(Self::$fixture),+];

            /// The name of its package and its directory.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$fixture => $name,)+
                }
            }
        }
    };
}

fixtures! {
    /// Has an allocator of its own, and notices what is freed by another.
    Allocator = "allocator",
    /// Asks its host for whatever its parameters say, and renders likewise.
    Asks = "asks",
    /// Uses everything of tokio that wants a runtime, wherever its code runs.
    Asyncs = "asyncs",
    /// Leaves a file beside itself as soon as it is opened.
    Constructor = "constructor",
    /// Tools that are made from the plugin's settings.
    Dynamic = "dynamic",
    /// A tool that does nothing.
    Empty = "empty",
    /// Fails with errors of every kind.
    Errors = "errors",
    /// A factory that awaits, and ends as the session's id says.
    Factory = "factory",
    /// A factory that returns every form that a factory may return.
    Forms = "forms",
    /// Ends its process as its settings or parameters say.
    Hostile = "hostile",
    /// What every release carries for the hosts of later ones.
    Lasting = "lasting",
    /// Built for an imagined next version of the interface.
    Later = "later",
    /// Keeps a log of its session, waits at gates, and depends on files.
    Life = "life",
    /// Leaves values in threads, and writes down when they are dropped.
    Locals = "locals",
    /// Logs in every way that a plugin can.
    Logs = "logs",
    /// Does small pieces of work, to measure what a plugin adds to them.
    Measure = "measure",
    /// Tools that a session refuses, and one that it takes.
    Names = "names",
    /// A shared library that is no plugin.
    NoPlugin = "no-plugin",
    /// A note that says "plugin", and nothing else of one.
    NoteOnly = "note-only",
    /// A later version of the interface, laid out in another way.
    OtherVersion = "other-version",
    /// Panics wherever a plugin can.
    Panics = "panics",
    /// Prints wherever it can.
    Rude = "rude",
    /// A second plugin with a staging tool of its own, and a hidden tool.
    Second = "second",
    /// Asks its host for everything that a plugin may ask for.
    Services = "services",
    /// Needs a library beside it.
    Sibling = "sibling",
    /// Stages what its parameters say, which end as their parameters say.
    Stage = "stage",
    /// Ends its process as soon as it is opened.
    Stillborn = "stillborn",
    /// Everything that a tool can say of itself.
    Surface = "surface",
}

/// Versions of serde_json and tokio, other than the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Versions {
    /// The oldest that the SDK takes.
    Oldest,
    /// Neither the oldest nor ours.
    Between,
}

impl Versions {
    /// The directory with their `Cargo.toml` and `Cargo.lock`.
    #[must_use]
    pub fn directory(self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("versions").join(match self {
            Self::Oldest => "oldest",
            Self::Between => "between",
        })
    }
}

/// Something to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Artifact {
    /// A fixture, as an author builds it while working on it.
    Plugin(Fixture),
    /// A fixture whose panics end the process.
    Aborting(Fixture),
    /// A fixture, as an author ships it.
    Released(Fixture),
    /// The fixture `stage` with other versions of its dependencies.
    Versions(Versions),
    /// The workspace's plugin `batch-rename`.
    BatchRename,
    /// The workspace's plugin `sql-query`.
    SqlQuery,
    /// The workspace's plugin `http-fetch`.
    HttpFetch,
    /// The workspace's plugin `repo-stats`.
    RepoStats,
    /// The workspace's plugin `word-count`.
    WordCount,
    /// The binary `toolhost`.
    Toolhost,
    /// The same, as it is installed.
    ReleasedToolhost,
}

/// Builds artifacts under one directory.
#[derive(Debug, Clone, Copy)]
pub struct Artifacts {
    directory: &'static str,
}

type Slot = Arc<OnceLock<Result<PathBuf, String>>>;

static BUILT: LazyLock<Mutex<HashMap<Artifact, Slot>>> = LazyLock::new(Mutex::default);

impl Artifacts {
    /// Artifacts under this directory: what cargo calls `CARGO_TARGET_TMPDIR`, known only to a test or a bench.
    #[must_use]
    pub const fn new(directory: &'static str) -> Self {
        Self { directory }
    }

    /// The directory that artifacts are built under.
    #[must_use]
    pub fn directory(&self) -> &Path {
        Path::new(self.directory)
    }

    /// Builds an artifact, or finds it built. Returns its path.
    ///
    /// # Panics
    ///
    /// Where it cannot be built, with cargo's output on stderr.
    #[must_use]
    pub fn path(&self, artifact: Artifact) -> PathBuf {
        let slot = BUILT.lock().unwrap_or_else(PoisonError::into_inner).entry(artifact).or_default().clone();
        match slot.get_or_init(|| self.build(artifact)) {
            Ok(path) => path.clone(),
            Err(error) => panic!("{artifact:?}: {error}"),
        }
    }

    fn build(&self, artifact: Artifact) -> Result<PathBuf, String> {
        let fixture = |fixture: Fixture, target: &str| self.below(FIXTURES, target).package(fixture.name());
        let ours = |package: &str| self.below(xtask::workspace_manifest(), "workspace").package(package);
        let built = match artifact {
            Artifact::Plugin(plugin) => fixture(plugin, "fixtures").cdylib(),
            Artifact::Aborting(plugin) => {
                fixture(plugin, "fixtures-abort").config(r#"profile.dev.panic="abort""#).cdylib()
            }
            Artifact::Released(plugin) => fixture(plugin, "fixtures").profile(Profile::Release).cdylib(),
            Artifact::Versions(versions) => self.below(versions.directory().join("Cargo.toml"), "versions").cdylib(),
            Artifact::BatchRename => ours("batch-rename").cdylib(),
            Artifact::SqlQuery => ours("sql-query").cdylib(),
            Artifact::HttpFetch => ours("http-fetch").cdylib(),
            Artifact::RepoStats => ours("repo-stats").cdylib(),
            Artifact::WordCount => ours("word-count").cdylib(),
            Artifact::Toolhost => ours("toolhost").bin("toolhost"),
            Artifact::ReleasedToolhost => ours("toolhost").profile(Profile::Release).bin("toolhost"),
        };
        built.map_err(|error| format!("{error:#}"))
    }

    /// A build in the workspace with this manifest, into a directory of its own.
    fn below(&self, manifest: impl Into<PathBuf>, target: &str) -> Build {
        Build::new(manifest).target_dir(self.directory().join(target)).locked()
    }
}

/// Writes as many plugins into a directory, each a library of its own with a tool of its own, named `e0000` and so on.
/// `original` is the fixture `empty`.
///
/// # Panics
///
/// Where there are more than 10,000, or a file cannot be read or written.
pub fn write_many(original: &Path, directory: &Path, count: usize) {
    assert!(count <= 10_000, "the names have four digits");
    let mut bytes = std::fs::read(original).expect("the fixture can be read");
    // Plugin and tool have the same name.
    let name = b"empty";
    let places: Vec<usize> = (0..=bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name)).collect();
    for number in 0..count {
        for &at in &places {
            bytes[at..at + name.len()].copy_from_slice(format!("e{number:04}").as_bytes());
        }
        std::fs::write(directory.join(format!("plugin-{number:04}.so")), &bytes).expect("there is room for a copy");
    }
}

/// The code blocks of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
