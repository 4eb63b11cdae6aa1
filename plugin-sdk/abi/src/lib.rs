//! The binary interface between a host and a plugin.
//!
//! Everything that carries meaning crosses as UTF-8 JSON in bytes; this crate holds only what carries those bytes:
//! [`Host`](host::Host), [`Call`](call::Call), [`Tool`](tool::Tool) and [`Change`](change::Change), the
//! [root](root::PluginRoot) that a plugin exports, and the [note] that describes a plugin without running it.
//!
//! # Rules for both sides
//!
//! - Each side frees what it made, through the object's own vtable, on any thread.
//! - No panic crosses, in either direction: whoever implements one of these traits catches, around every method,
//!   every poll of a future that it returns, and every drop.
//! - A function marked `[any-thread]` may be called from any thread, and again while a call of it runs.
//! - No object of one plugin is ever passed to another; the layout check in both directions is sound because of it.
//! - A future is dropped only by the task that polls it, never during a poll.
//!
//! # How it may grow
//!
//! Traits and the root are prefix types: a new method or field goes to the end, with a default for the side that does
//! not have it, and `last_prefix_field` never moves. Nothing is removed, reordered or retyped within 1.x, and each
//! version follows on the one before. The crate has no cargo feature, since a feature would change layouts under equal
//! sources. `docs/abi.md` in the repository has the reasons, and the steps of a change; `frozen/` has the text of every
//! version, which `cargo xtask abi-check` compares with this crate's.

// The interface macros of abi_stable generate names and impls of these kinds, and undocumented items.
#[allow(non_local_definitions, non_camel_case_types, missing_docs, unreachable_pub, clippy::all)]
mod objects;

#[cfg(test)]
mod layout_tests;

pub mod linked;
pub mod note;

pub use objects::{Bytes, call, change, host, root, tool};

pub use abi_stable;
pub use async_ffi;

/// The version of this interface: that of this crate, and not of the SDK or of a host.
///
/// It moves whenever the text of the module that defines the objects does, comments and formatting apart:
///
/// - the minor version for whatever grows: a method at the end of a trait, with a default body, or a field at the end
///   of the root;
/// - the patch version for a change of the text that leaves every layout and every meaning as it was, and for a change
///   elsewhere in this crate that is to be published;
/// - the major version never. abi_stable refuses every type of another one, and with it every plugin there is.
///
/// What crosses as JSON moves it not at all. A host takes plugins of every 1.x, older and newer. `cargo xtask abi-check`
/// fails where the text is not what was frozen of this version.
pub const ABI_VERSION: &str = env!("CARGO_PKG_VERSION");
