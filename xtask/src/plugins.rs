//! `cargo xtask plugins`: builds plugins of the workspace, each by itself, into one directory.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, Package};
use serde_json::json;
use tempfile::NamedTempFile;

use crate::build::{Build, Profile, metadata};

/// A built plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// The name of its package.
    pub name: String,
    /// Its file in the directory of all plugins.
    pub path: PathBuf,
}

/// Plugins of a workspace, built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugins {
    /// The directory that holds their files and nothing else; what `toolhost --plugin` takes.
    pub directory: PathBuf,
    /// The plugins, by name.
    pub plugins: Vec<Plugin>,
}

/// Builds the plugins of the workspace with this manifest that are named, or all of them where none is, and puts the
/// files into `plugins/` in the target directory.
///
/// Each is built by its own `cargo build -p`: built together, one plugin's features would change another's bytes. A file
/// that is there already is replaced whole, since a host may have it open; where all are built, one that no plugin makes
/// any longer is removed.
///
/// # Errors
///
/// When there is no plugin, or none of a given name, one cannot be built, or its file cannot be put into the directory.
pub fn build(manifest_path: &Path, target_dir: &Path, names: &[&str]) -> Result<Plugins> {
    let metadata = metadata(manifest_path)?;
    let mut packages = packages(&metadata);
    if packages.is_empty() {
        bail!("no member of the workspace under {}/plugins is a cdylib", metadata.workspace_root);
    }
    if let Some(unknown) = names.iter().find(|name| !packages.iter().any(|package| package.name == **name)) {
        let known: Vec<_> = packages.iter().map(|package| package.name.as_str()).collect();
        bail!("there is no plugin `{unknown}`; name one of: {}", known.join(", "));
    }
    packages.retain(|package| names.is_empty() || names.contains(&package.name.as_str()));
    let directory = target_dir.join("plugins");
    fs::create_dir_all(&directory).with_context(|| format!("could not create {}", directory.display()))?;

    let mut plugins = Vec::with_capacity(packages.len());
    for package in packages {
        let name = package.name.to_string();
        let build = Build::new(manifest_path).package(&name).target_dir(target_dir).profile(Profile::Release).locked();
        let built = build.cdylib()?;
        plugins.push(Plugin { name, path: publish(&built, &directory)? });
    }
    if names.is_empty() {
        remove_others(&directory, &plugins)?;
    }
    Ok(Plugins { directory, plugins })
}

/// Builds the named plugins of this workspace, or all, and prints where the files are, for people or as JSON.
///
/// # Errors
///
/// As [`build`], and when `out` cannot be written to.
pub fn run(out: &mut dyn Write, names: &[&str], as_json: bool) -> Result<()> {
    let manifest_path = crate::workspace_manifest();
    let target_dir = metadata(&manifest_path)?.target_directory;
    let Plugins { directory, plugins } = build(&manifest_path, target_dir.as_std_path(), names)?;
    if as_json {
        let list: Vec<_> =
            plugins.iter().map(|p| json!({"name": p.name, "path": p.path.display().to_string()})).collect();
        let object = json!({"directory": directory.display().to_string(), "plugins": list});
        writeln!(out, "{object:#}")?;
        return Ok(());
    }
    let width = plugins.iter().map(|plugin| plugin.name.len()).max().unwrap_or(0);
    for plugin in &plugins {
        writeln!(out, "{:width$}  {}", plugin.name, plugin.path.display())?;
    }
    writeln!(out, "\nAll of them: --plugin {}", directory.display())?;
    Ok(())
}

/// The workspace's plugins by name: its members under `plugins/` whose library is a `cdylib`.
fn packages(metadata: &Metadata) -> Vec<&Package> {
    let home = metadata.workspace_root.join("plugins");
    let mut packages = metadata.workspace_packages();
    packages.retain(|package| {
        package.manifest_path.starts_with(&home) && package.targets.iter().any(|target| target.is_cdylib())
    });
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    packages
}

/// Copies a built file into the directory. The old file, if any, stays whole for those who have it open.
fn publish(built: &Path, directory: &Path) -> Result<PathBuf> {
    let name = built.file_name().with_context(|| format!("{} has no file name", built.display()))?;
    let target = directory.join(name);
    let copied = NamedTempFile::new_in(directory).and_then(|copy| {
        fs::copy(built, copy.path())?;
        copy.persist(&target)?;
        Ok(())
    });
    copied.with_context(|| format!("could not copy {} to {}", built.display(), target.display()))?;
    Ok(target)
}

/// Removes the shared libraries that are no plugin's. Anything else may be another run's unfinished copy.
fn remove_others(directory: &Path, plugins: &[Plugin]) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("could not list {}", directory.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("could not list {}", directory.display()))?.path();
        let is_library = path.extension().is_some_and(|extension| extension == std::env::consts::DLL_EXTENSION);
        if is_library && !plugins.iter().any(|plugin| plugin.path == path) {
            fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
        }
    }
    Ok(())
}
