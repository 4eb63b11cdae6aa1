//! A directory of installed plugins: what was put there, by whom it is taken away again.

mod error;
mod place;
#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhost_core::journal::Timestamp;
use toolhost_protocol::JsonPath;

use crate::UnopenedPlugin;
use crate::bundle::sha256;
use crate::discover::{EXTENSION, is_plugin_file};
use crate::state::{State, StateError, StateFile};
use crate::trust::place as safety;
pub use error::InstallError;
use place::Placed;

/// A plugin that was installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InstalledPlugin {
    /// The plugin's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its hash.
    pub hash: String,
    /// Its files, the plugin's own first.
    pub files: Vec<InstalledFile>,
    /// When it was installed.
    pub installed_at: Timestamp,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// One file of a plugin that was installed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstalledFile {
    /// Where it is, seen from the directory of plugins.
    pub path: JsonPath,
    /// SHA-256 of its content in hexadecimal.
    pub hash: String,
}

impl InstalledFile {
    /// The path, where it leads to somewhere below the directory.
    fn below(&self, directory: &Path) -> Option<PathBuf> {
        let path = &self.path.0;
        let is_plain = path.components().all(|component| matches!(component, Component::Normal(_)));
        (is_plain && path.file_name().is_some()).then(|| directory.join(path))
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Installed {
    installed: Vec<InstalledPlugin>,
}

impl State for Installed {
    const WHAT: &'static str = "the record of installed plugins";
    const FORMAT: u64 = 1;
}

/// What is in the place of a plugin that is to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Occupant {
    /// Nothing.
    Nobody,
    /// A plugin of the same name: its version and hash.
    Same {
        /// The version that is there.
        version: String,
        /// The hash that is there.
        hash: String,
    },
    /// Something else, in a few words.
    Other(String),
}

/// A directory of plugins, and the record of what was installed into it.
#[derive(Debug, Clone)]
pub struct PluginDirectory {
    directory: PathBuf,
    record: StateFile<Installed>,
}

/// What an installation did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Installation {
    /// What is installed now.
    pub plugin: InstalledPlugin,
    /// The plugin's file.
    pub path: PathBuf,
}

/// What a removal did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Removal {
    /// What was installed.
    pub plugin: InstalledPlugin,
    /// The plugin's own file, whether it was there or not.
    pub path: PathBuf,
    /// The files that are gone.
    pub removed: Vec<PathBuf>,
    /// The files that stay, since they are not what was installed, or another plugin has them, too.
    pub left: Vec<PathBuf>,
}

impl PluginDirectory {
    /// This directory, with the record in this file.
    pub fn new(directory: impl Into<PathBuf>, record: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), record: StateFile::new(record) }
    }

    /// What is installed, in the order in which it was.
    ///
    /// # Errors
    ///
    /// The record is there and cannot be used.
    pub fn installed(&self) -> Result<Vec<InstalledPlugin>, StateError> {
        Ok(self.record.read()?.installed)
    }

    /// Where a plugin would be installed.
    ///
    /// # Errors
    ///
    /// [`InstallError::Name`] where a file of its name would not be found there.
    pub fn path_of(&self, plugin: &UnopenedPlugin) -> Result<PathBuf, InstallError> {
        let path = self.directory.join(&plugin.bundle.parts[0].relative);
        if is_plugin_file(&path) {
            return Ok(path);
        }
        Err(InstallError::Name { path, extension: EXTENSION })
    }

    /// What is at this path now, for a plugin that would be installed there.
    #[must_use]
    pub fn occupant(&self, path: &Path, plugin: &UnopenedPlugin) -> Occupant {
        if fs::symlink_metadata(path).is_err() {
            return Occupant::Nobody;
        }
        match UnopenedPlugin::read(path) {
            Ok(there) if there.plugin().name == plugin.plugin().name => {
                let there = there.plugin();
                Occupant::Same { version: there.version.clone(), hash: there.fingerprint.clone() }
            }
            Ok(there) => Occupant::Other(format!("the plugin {} {}", there.plugin().name, there.plugin().version)),
            Err(_) => Occupant::Other("a file that is no plugin".to_owned()),
        }
    }

    /// Copies what was looked at into the directory, all of it or nothing, and puts it on record. Runs nothing of it.
    /// Another version of the plugin is replaced; what is something else only where `replace` says so.
    ///
    /// # Errors
    ///
    /// The directory is not safe, the place is taken, the record cannot be used, or the files cannot be written.
    pub fn install(&self, plugin: &UnopenedPlugin, replace: bool) -> Result<Installation, InstallError> {
        let path = self.path_of(plugin)?;
        self.prepare()?;
        let mut placed = Placed::default();
        let (installed, gone) = self.record.update(|record| {
            if !replace {
                self.refuse_taken(&path, plugin, record)?;
            }
            placed.put(&self.directory, &plugin.bundle)?;
            let installed = entry(plugin);
            let main = &installed.files[0].path;
            let is_old = |old: &mut InstalledPlugin| {
                old.name == installed.name || old.files.first().is_some_and(|file| file.path == *main)
            };
            let gone: Vec<_> = record.installed.extract_if(.., is_old).collect();
            record.installed.push(installed.clone());
            Ok::<_, InstallError>((installed, gone))
        })?;
        placed.keep();
        // What the versions before had and this one has not; whatever cannot be removed is only in the way of nobody.
        let kept = self.installed().unwrap_or_default();
        for old in gone {
            let _ = self.take_away(&old, &kept);
        }
        Ok(Installation { plugin: installed, path })
    }

    /// Takes away what was installed under this name, and nothing else.
    ///
    /// # Errors
    ///
    /// Nothing of that name was installed, the record cannot be used, or a file cannot be removed; the record is as it
    /// was then, and removing can be tried again.
    pub fn remove(&self, name: &str) -> Result<Removal, InstallError> {
        self.record.update(|record| {
            let Some(at) = record.installed.iter().position(|plugin| plugin.name == name) else {
                let installed = record.installed.iter().map(|plugin| plugin.name.clone()).collect();
                return Err(InstallError::NotInstalled { name: name.to_owned(), installed });
            };
            let plugin = record.installed.remove(at);
            let (removed, left) = self.take_away(&plugin, &record.installed)?;
            let own = plugin.files.first().map(|file| self.directory.join(&file.path.0));
            Ok(Removal { path: own.unwrap_or_else(|| self.directory.clone()), plugin, removed, left })
        })
    }

    /// Removes the files of a plugin that are as they were installed and that none of the others has. Returns those, and
    /// those that are there still.
    fn take_away(
        &self,
        plugin: &InstalledPlugin,
        others: &[InstalledPlugin],
    ) -> Result<(Vec<PathBuf>, Vec<PathBuf>), InstallError> {
        let (mut removed, mut left) = (Vec::new(), Vec::new());
        let shared =
            |file: &InstalledFile| others.iter().flat_map(|other| &other.files).any(|other| other.path == file.path);
        for file in &plugin.files {
            let Some(path) = file.below(&self.directory) else {
                continue;
            };
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(found) if found.is_file() && !shared(file) && holds(&path, &file.hash) => {
                    fs::remove_file(&path).map_err(|error| InstallError::not_removed(&path, &error))?;
                    self.remove_empty_above(&path);
                    removed.push(path);
                }
                _ => left.push(path),
            }
        }
        Ok((removed, left))
    }

    fn remove_empty_above(&self, path: &Path) {
        let above = path.ancestors().skip(1).take_while(|above| *above != self.directory);
        for directory in above {
            if fs::remove_dir(directory).is_err() {
                return;
            }
        }
    }

    /// Makes the directory, for this user alone, and checks that nobody else can write it.
    fn prepare(&self) -> Result<(), InstallError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)
            .map_err(|error| InstallError::not_written(&self.directory, &error))?;
        let path = std::path::absolute(&self.directory);
        let path = path.map_err(|error| InstallError::not_written(&self.directory, &error))?;
        safety::check_directory_way(&path).map_err(|kind| InstallError::Place { kind: Box::new(kind) })
    }

    fn refuse_taken(&self, path: &Path, plugin: &UnopenedPlugin, record: &Installed) -> Result<(), InstallError> {
        if let Occupant::Other(by) = self.occupant(path, plugin) {
            return Err(InstallError::Taken { path: path.to_owned(), by });
        }
        // A library's place may have another one of another plugin, or one that nobody installed.
        let own: Vec<_> = record.installed.iter().filter(|other| other.name == plugin.plugin().name).collect();
        for part in &plugin.bundle.parts[1..] {
            let path = self.directory.join(&part.relative);
            let is_own = own.iter().flat_map(|own| &own.files).any(|file| file.path.0 == part.relative);
            if fs::symlink_metadata(&path).is_ok() && !is_own && !holds(&path, &part.hash) {
                return Err(InstallError::Taken { path, by: "another library".to_owned() });
            }
        }
        Ok(())
    }
}

fn entry(plugin: &UnopenedPlugin) -> InstalledPlugin {
    let file =
        |part: &crate::bundle::Part| InstalledFile { path: JsonPath(part.relative.clone()), hash: part.hash.clone() };
    let info = plugin.plugin();
    InstalledPlugin {
        name: info.name.clone(),
        version: info.version.clone(),
        hash: info.fingerprint.clone(),
        files: plugin.bundle.parts.iter().map(file).collect(),
        installed_at: Timestamp::now(),
        rest: Map::new(),
    }
}

fn holds(path: &Path, hash: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| sha256(&bytes) == hash)
}
