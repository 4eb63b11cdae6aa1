use std::path::PathBuf;

use crate::PluginInfo;

/// A plugin that was found and left alone, since another one comes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shadowed {
    /// Its file.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The file of the plugin that comes before it; of a linked one the program's own.
    pub by: PathBuf,
    /// The version of that one.
    pub by_version: String,
    /// Whether that one has the very same content.
    pub is_copy: bool,
}

impl Shadowed {
    pub(crate) fn new(plugin: PluginInfo, by: &PluginInfo) -> Self {
        let is_copy = plugin.fingerprint == by.fingerprint;
        let (by, by_version) = (by.path.clone(), by.version.clone());
        Self { path: plugin.path, name: plugin.name, version: plugin.version, by, by_version, is_copy }
    }
}
