//! Opens toolhost plugins and wires their tools to sessions.
//!
//! A [`Host`] loads plugins once; each [`Session`] gets tools of its own from them. A file is inspected before anything
//! of it runs, and what is opened is a private copy of the bytes that were inspected. A plugin that cannot be loaded
//! is an entry in a list, with a code, the cause and what to do; it never stops the others.
//!
//! Loading a plugin runs its code with the rights of this process. Nothing here is a sandbox.
//!
//! ```no_run
//! use toolhost_loader::{Host, ResolveRequest, SessionOptions};
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let host = Host::builder().plugin("plugins").build().await?;
//! for error in host.load_errors() {
//!     eprintln!("{error}");
//! }
//! let opened = host.session(SessionOptions::new("demo").cwd("photos")).await;
//! let session = opened.session;
//! let preview = session.call("batch_rename_preview", json!({"files": ["a.JPG"], "find": "a", "replace": "b"})).await?;
//! println!("{}", preview.to_text());
//! let applied = session.resolve(ResolveRequest::apply("looks right")).await;
//! println!("{}", applied.result.to_text());
//! # Ok(()) }
//! ```

/// Everything about sessions: calls, turns, pending actions, steering, events, the journal.
pub use toolhost_core as core;

mod adapter;
mod bundle;
mod cache;
mod discover;
mod error;
mod first_sight;
mod host;
mod inspect;
mod inspection;
mod install;
mod load;
mod names;
mod needs;
mod quarantine;
mod siblings;
pub mod state;
mod trust;
mod unopened;
mod watch;

pub use error::{Ending, LoadError, LoadErrorKind, Report, Stage, UntrustedPlugin};
pub use first_sight::{FirstSight, answer_first_sight};
pub use host::{BuildError, Host, HostBuilder, LoadLimits, OpenedSession, PluginInfo, Shadowed};
pub use inspect::LibcFlavour;
pub use inspection::{HostFacts, Inspection, LibraryStatus, NeededLibrary, inspect};
pub use install::{InstallError, Installation, InstalledFile, InstalledPlugin, Occupant, PluginDirectory, Removal};
pub use quarantine::Quarantined;
pub use state::StateError;
/// What a plugin's file says of itself.
pub use toolhost_abi::note::Metadata as PluginMetadata;
pub use toolhost_core::{
    AgentToolResult, CallError, EndReason, PendingActionStore, ResolveAction, ResolveRequest, Session, SessionOptions,
    ToolDefinition,
};
pub use trust::{Block, BlockList, BlockTarget, NoTarget, PlaceProblem, Trust, TrustStore, TrustTarget, TrustedPlugin};
pub use unopened::UnopenedPlugin;
pub use watch::CodeWatch;
