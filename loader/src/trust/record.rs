//! Which plugins were looked at and found worth of trust.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhost_core::journal::Timestamp;
use toolhost_protocol::JsonPath;

use crate::PluginInfo;
use crate::state::{State, StateError, StateFile};

/// A plugin that is trusted by the hash of its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TrustedPlugin {
    /// SHA-256 of the plugin in hexadecimal; where it brings libraries along, of all of them together.
    pub hash: String,
    /// The plugin's name, when it was trusted.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where it was, without links.
    pub path: JsonPath,
    /// When it was trusted.
    pub trusted_at: Timestamp,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl TrustedPlugin {
    fn new(plugin: &PluginInfo) -> Self {
        Self {
            hash: plugin.fingerprint.clone(),
            name: plugin.name.clone(),
            version: plugin.version.clone(),
            path: real(&plugin.path).into(),
            trusted_at: Timestamp::now(),
            rest: Map::new(),
        }
    }
}

/// What to take out of the record of trust.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustTarget {
    /// Whatever has this hash.
    Hash(String),
    /// Whatever had this name when it was trusted.
    Name(String),
    /// Whatever was at this path when it was trusted.
    Path(PathBuf),
}

impl TrustTarget {
    fn is(&self, trusted: &TrustedPlugin) -> bool {
        match self {
            Self::Hash(hash) => trusted.hash.eq_ignore_ascii_case(hash),
            Self::Name(name) => trusted.name == *name,
            Self::Path(path) => trusted.path.0 == real(path),
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Record {
    trusted: Vec<TrustedPlugin>,
}

impl State for Record {
    const WHAT: &'static str = "the record of trust";
    const FORMAT: u64 = 1;
}

/// The record of trust: a file with the hashes of the plugins that somebody has looked at and trusts. That there is
/// none yet is an empty record.
#[derive(Debug, Clone)]
pub struct TrustStore {
    file: StateFile<Record>,
}

impl TrustStore {
    /// The record in this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { file: StateFile::new(path) }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What is trusted, in the order in which it was.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be used; then nothing is trusted.
    pub fn trusted(&self) -> Result<Vec<TrustedPlugin>, StateError> {
        Ok(self.file.read()?.trusted)
    }

    /// Trusts this content, wherever it is. What was trusted at its path before, and was something else, is no more.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or not be written.
    pub fn trust(&self, plugin: &PluginInfo) -> Result<TrustedPlugin, StateError> {
        self.file.update(|record| {
            let trusted = TrustedPlugin::new(plugin);
            record.trusted.retain(|known| known.path != trusted.path);
            record.trusted.push(trusted.clone());
            Ok(trusted)
        })
    }

    /// Takes all that is one of these out of the record, and returns it.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or not be written.
    pub fn untrust(&self, targets: &[TrustTarget]) -> Result<Vec<TrustedPlugin>, StateError> {
        self.file.update(|record| {
            let is_meant = |known: &mut TrustedPlugin| targets.iter().any(|target| target.is(known));
            Ok(record.trusted.extract_if(.., is_meant).collect())
        })
    }
}

/// What the record says of a plugin.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Trusted,
    /// Something else was trusted at its path, and this is its hash.
    Changed(String),
    Unknown,
}

/// What these records say of the content with this hash at this path.
pub(super) fn standing(trusted: &[TrustedPlugin], hash: &str, path: &Path) -> Standing {
    if trusted.iter().any(|known| known.hash.eq_ignore_ascii_case(hash)) {
        return Standing::Trusted;
    }
    let path = real(path);
    let other = trusted.iter().rev().find(|known| known.path.0 == path);
    other.map_or(Standing::Unknown, |other| Standing::Changed(other.hash.clone()))
}

/// The path without links; of a file that is gone, that of its place.
fn real(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.canonicalize().unwrap_or_else(|_| match (path.parent().map(Path::canonicalize), path.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => path,
    })
}

/// Whether a text has the form of a plugin's hash.
pub(crate) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(path: &Path, hash: &str) -> PluginInfo {
        PluginInfo {
            name: "p".to_owned(),
            version: "1.0.0".to_owned(),
            description: String::new(),
            path: path.to_owned(),
            linked: false,
            fingerprint: hash.to_owned(),
            abi_version: String::new(),
            sdk_version: String::new(),
            rustc: String::new(),
            dynamic: false,
        }
    }

    #[test]
    fn content_is_trusted_wherever_it_is_and_what_was_there_before_no_more() {
        let directory = tempfile::tempdir().unwrap();
        let store = TrustStore::new(directory.path().join("trust.json"));
        let [here, there] = ["a.so", "b.so"].map(|name| directory.path().join(name));
        let standing = |hash: &str, path: &Path| standing(&store.trusted().unwrap(), hash, path);
        assert_eq!(standing("1", &here), Standing::Unknown);
        store.trust(&plugin(&here, "1")).unwrap();
        assert_eq!((standing("1", &here), standing("1", &there)), (Standing::Trusted, Standing::Trusted));
        assert_eq!((standing("2", &here), standing("2", &there)), (Standing::Changed("1".into()), Standing::Unknown));
        store.trust(&plugin(&here, "2")).unwrap();
        assert_eq!((standing("1", &here), standing("2", &here)), (Standing::Changed("2".into()), Standing::Trusted));
    }

    #[test]
    fn what_is_taken_out_is_what_was_named() {
        let directory = tempfile::tempdir().unwrap();
        let store = TrustStore::new(directory.path().join("trust.json"));
        let paths: Vec<_> = (1..=4).map(|n| directory.path().join(n.to_string())).collect();
        let mut target = Vec::new();
        for (path, hash) in paths.iter().zip(["1", "2", "2", "4"]) {
            store.trust(&plugin(path, hash)).unwrap();
        }
        let hashes = |gone: Vec<TrustedPlugin>| gone.into_iter().map(|gone| gone.hash).collect::<Vec<_>>();
        target.push(TrustTarget::Path(paths[0].clone()));
        assert_eq!(hashes(store.untrust(&target).unwrap()), ["1"]);
        target.push(TrustTarget::Hash("2".to_owned()));
        assert_eq!(hashes(store.untrust(&target).unwrap()), ["2", "2"]);
        assert_eq!(hashes(store.untrust(&target).unwrap()), [""; 0]);
        assert_eq!(hashes(store.untrust(&[TrustTarget::Name("p".to_owned())]).unwrap()), ["4"]);
    }
}
