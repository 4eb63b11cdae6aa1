//! `cargo xtask model-check`: explores how threads may interleave in the store of pending actions.

use std::env;

use anyhow::{Context, Result, bail};

use crate::build::{cargo, metadata};
use crate::shell::command_line;

/// Builds the core for the model checker, in a target directory of its own, and runs what it checks.
///
/// # Errors
///
/// When it cannot be built, or a schedule is found that breaks what must hold; the output shows it.
pub fn run() -> Result<()> {
    let manifest_path = crate::workspace_manifest();
    let target_dir = metadata(&manifest_path)?.target_directory.join("model-check");
    // What a person set stays; only this is added.
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    let mut command = cargo();
    command.env("RUSTFLAGS", format!("{flags} --cfg shuttle").trim_start());
    command.args(["test", "--locked", "--package", "toolhost-core", "--lib", "interleavings", "--manifest-path"]);
    command.arg(&manifest_path).arg("--target-dir").arg(target_dir);
    let line = command_line(&command);
    let status = command.status().with_context(|| format!("could not run cargo\ncommand: {line}"))?;
    if !status.success() {
        bail!("the model check failed ({status}); the output above says why\ncommand: {line}");
    }
    Ok(())
}
