//! What has to build plugins before it runs something.
//!
//! [`build`] runs a cargo of its own and returns the artifact's path; the integration tests build their fixtures with
//! it. [`plugins`], [`demo`], [`mod@bench`], [`model_check`], [`abi`], [`released`], [`matrix`], [`memcheck`] and
//! [`malloc_check`] are the subcommands of `cargo xtask`.

pub mod abi;
pub mod bench;
pub mod build;
pub mod demo;
pub mod malloc_check;
pub mod matrix;
pub mod memcheck;
pub mod model_check;
pub mod plugins;
pub mod released;
mod scenario;
mod shell;

use std::path::{Path, PathBuf};

/// The manifest of the workspace that this package is a member of.
pub fn workspace_manifest() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("Cargo.toml")
}
