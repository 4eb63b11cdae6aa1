use std::path::{Path, PathBuf};

use toolhost_abi::ABI_VERSION;
use toolhost_abi::linked::LinkedPlugin;
use toolhost_abi::note::Metadata;

/// A plugin that is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginInfo {
    /// The package's name.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// The package's description; may be empty.
    pub description: String,
    /// The file that it was loaded from, absolute; of a linked one the program's own.
    pub path: PathBuf,
    /// Whether it is linked into the program.
    pub linked: bool,
    /// SHA-256 of the file in hexadecimal; where it brings libraries along, of all of them together. Of a linked one its
    /// name and version.
    pub fingerprint: String,
    /// The version of the plugin interface that it was built for.
    pub abi_version: String,
    /// The version of the SDK that it was built with.
    pub sdk_version: String,
    /// The compiler that it was built with, as `rustc --version` prints it; empty where that is not known.
    pub rustc: String,
    /// Whether it decides at run time what tools it has; of a linked one not known, and true.
    pub dynamic: bool,
}

impl PluginInfo {
    pub(crate) fn new(path: &Path, fingerprint: String, metadata: Metadata) -> Self {
        Self {
            name: metadata.name,
            version: metadata.version,
            description: metadata.description,
            path: path.to_owned(),
            linked: false,
            fingerprint,
            abi_version: metadata.abi_version,
            sdk_version: metadata.sdk_version,
            rustc: metadata.rustc,
            dynamic: metadata.dynamic,
        }
    }

    pub(crate) fn linked(plugin: &LinkedPlugin) -> Self {
        Self {
            name: plugin.name().to_owned(),
            version: plugin.version().to_owned(),
            description: String::new(),
            path: std::env::current_exe().unwrap_or_default(),
            linked: true,
            fingerprint: format!("linked {} {}", plugin.name(), plugin.version()),
            abi_version: ABI_VERSION.to_owned(),
            sdk_version: String::new(),
            rustc: String::new(),
            dynamic: true,
        }
    }

    /// What it is, in one line.
    pub(crate) fn evidence(&self) -> String {
        let Self { name, version, abi_version, sdk_version, rustc, .. } = self;
        if self.linked {
            return format!("the plugin {name} {version}, linked into this program");
        }
        format!("the plugin {name} {version}, built with SDK {sdk_version} (interface {abi_version}) and {rustc}")
    }
}
