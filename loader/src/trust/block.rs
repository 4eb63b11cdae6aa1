//! What must not be loaded or called, whoever trusts it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolhost_core::journal::Timestamp;

use super::guard::Subject;
use super::record::is_hash;
use crate::inspect::is_name;
use crate::state::{State, StateError, StateFile};

/// What is blocked. As text, a hash, a name, or a name and a version with `@` between them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockTarget {
    /// A plugin by its hash, or by that of any file of it: SHA-256 in hexadecimal.
    Hash(String),
    /// A plugin by its name, in every version.
    Name(String),
    /// One version of a plugin.
    Version {
        /// The plugin's name.
        name: String,
        /// Exactly this version.
        version: String,
    },
}

impl BlockTarget {
    fn hits(&self, subject: &Subject) -> bool {
        match self {
            Self::Hash(hash) => subject.hashes.contains(hash),
            Self::Name(name) => *name == subject.name,
            Self::Version { name, version } => *name == subject.name && *version == subject.version,
        }
    }
}

impl fmt::Display for BlockTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(hash) => f.write_str(hash),
            Self::Name(name) => f.write_str(name),
            Self::Version { name, version } => write!(f, "{name}@{version}"),
        }
    }
}

impl FromStr for BlockTarget {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        if is_hash(text) {
            return Ok(Self::Hash(text.to_ascii_lowercase()));
        }
        match text.split_once('@') {
            None if is_name(text) => Ok(Self::Name(text.to_owned())),
            Some((name, version)) if is_name(name) && is_name(version) => {
                Ok(Self::Version { name: name.to_owned(), version: version.to_owned() })
            }
            _ => Err(NoTarget),
        }
    }
}

/// Why a text names nothing that can be blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither a hash of 64 hexadecimal digits, nor a plugin's name, nor NAME@VERSION")]
#[non_exhaustive]
pub struct NoTarget;

/// One entry of a list of what is blocked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Entry", into = "Entry")]
#[non_exhaustive]
pub struct Block {
    /// What is blocked.
    pub target: BlockTarget,
    /// Why, for whoever wants to use it.
    pub reason: String,
    /// Since when.
    pub since: Option<Timestamp>,
    rest: Map<String, Value>,
}

impl Block {
    /// Blocks this from now on, for this reason.
    pub fn new(target: BlockTarget, reason: impl Into<String>) -> Self {
        Self { target, reason: reason.into(), since: Some(Timestamp::now()), rest: Map::new() }
    }

    pub(super) fn hits(&self, subject: &Subject) -> bool {
        self.target.hits(subject)
    }
}

/// An entry as it stands in the file.
#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl TryFrom<Entry> for Block {
    type Error = &'static str;

    fn try_from(entry: Entry) -> Result<Self, &'static str> {
        let Entry { hash, name, version, reason, since, rest } = entry;
        let target = match (hash, name, version) {
            (Some(hash), None, None) if is_hash(&hash) => BlockTarget::Hash(hash.to_ascii_lowercase()),
            (None, Some(name), None) => BlockTarget::Name(name),
            (None, Some(name), Some(version)) => BlockTarget::Version { name, version },
            _ => {
                return Err(
                    "an entry has neither a hash of 64 hexadecimal digits, nor a name, nor a name and a version",
                );
            }
        };
        Ok(Self { target, reason, since, rest })
    }
}

impl From<Block> for Entry {
    fn from(block: Block) -> Self {
        let Block { target, reason, since, rest } = block;
        let (hash, name, version) = match target {
            BlockTarget::Hash(hash) => (Some(hash), None, None),
            BlockTarget::Name(name) => (None, Some(name), None),
            BlockTarget::Version { name, version } => (None, Some(name), Some(version)),
        };
        Self { hash, name, version, reason, since, rest }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Blocked {
    blocked: Vec<Block>,
}

impl State for Blocked {
    const WHAT: &'static str = "the block list";
    const FORMAT: u64 = 1;
}

/// A file that says what is blocked. That there is none yet is an empty list.
#[derive(Debug, Clone)]
pub struct BlockList {
    file: StateFile<Blocked>,
}

impl BlockList {
    /// Where a list stands that holds for all users of a system; a host heeds it where it is told to.
    pub const SYSTEM: &str = "/etc/toolhost/blocked.json";

    /// The list in this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { file: StateFile::new(path) }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// What is blocked, in the order in which it was.
    ///
    /// # Errors
    ///
    /// The file is there and cannot be used.
    pub fn blocks(&self) -> Result<Vec<Block>, StateError> {
        Ok(self.file.read()?.blocked)
    }

    /// Puts a block on the list, or in the place of the one of the same target, which is returned then.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or not be written.
    pub fn block(&self, block: Block) -> Result<Option<Block>, StateError> {
        self.file.update(|state| match state.blocked.iter_mut().find(|known| known.target == block.target) {
            Some(known) => Ok(Some(std::mem::replace(known, block))),
            None => {
                state.blocked.push(block);
                Ok(None)
            }
        })
    }

    /// Takes the block of exactly this target off the list, and returns it.
    ///
    /// # Errors
    ///
    /// The file cannot be used, or not be written.
    pub fn unblock(&self, target: &BlockTarget) -> Result<Option<Block>, StateError> {
        self.file.update(|state| {
            let at = state.blocked.iter().position(|known| known.target == *target);
            Ok(at.map(|at| state.blocked.remove(at)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_target_is_a_hash_a_name_or_a_version() {
        let target = |text: &str| text.parse::<BlockTarget>();
        assert_eq!(target(&HASH.to_uppercase()), Ok(BlockTarget::Hash(HASH.to_owned())));
        assert_eq!(target("web-tools"), Ok(BlockTarget::Name("web-tools".to_owned())));
        let version = BlockTarget::Version { name: "web-tools".to_owned(), version: "1.2.0-rc.1+b".to_owned() };
        assert_eq!(target("web-tools@1.2.0-rc.1+b"), Ok(version));
        for text in ["", "@1", "a@", "a@1@2", "a b", "lib/a.so", "\u{1b}[2J"] {
            assert_eq!(target(text), Err(NoTarget), "{text:?}");
        }
        for text in [HASH, "web-tools", "web-tools@1.2.0"] {
            assert_eq!(target(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_target_hits_what_it_names_alone() {
        let subject = Subject::new("web-tools", "1.2.0", vec!["f".to_owned(), HASH.to_owned()]);
        let hits = |text: &str| text.parse::<BlockTarget>().unwrap().hits(&subject);
        assert!([HASH, "web-tools", "web-tools@1.2.0"].into_iter().all(hits));
        assert!(
            !["web", "web-tools@1.2", "web-tools@1.2.0+b", "other@1.2.0", &HASH.replace('0', "1")]
                .into_iter()
                .any(hits)
        );
    }

    #[test]
    fn a_list_keeps_what_it_does_not_know_and_one_block_per_target() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("d/blocked.json");
        let list = BlockList::new(&path);
        assert_eq!(list.blocks(), Ok(Vec::new()));
        let block = |text: &str, reason: &str| Block::new(text.parse().unwrap(), reason);
        assert_eq!(list.block(block("a", "old")), Ok(None));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("\"old\"", "\"old\", \"by\": \"ada\"").replace('{', "{\"more\": 1,"))
            .unwrap();
        list.block(block("b@1", "worse")).unwrap();
        let known = list.blocks().unwrap();
        assert_eq!(known.iter().map(|block| block.target.to_string()).collect::<Vec<_>>(), ["a", "b@1"]);
        let json: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!((&json["more"], &json["format"]), (&1.into(), &1.into()));
        assert_eq!((&json["blocked"][0]["by"], &json["blocked"][0]["more"]), (&"ada".into(), &1.into()));
        assert_eq!(list.block(block("a", "new")).unwrap().unwrap().reason, "old");
        assert_eq!(list.unblock(&BlockTarget::Name("a".to_owned())).unwrap().unwrap().reason, "new");
        assert_eq!(list.unblock(&BlockTarget::Name("b".to_owned())), Ok(None));
    }

    #[test]
    fn an_entry_that_names_nothing_spoils_the_list() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blocked.json");
        for entry in [r#"{"reason": "r"}"#, r#"{"hash": "12", "reason": "r"}"#, r#"{"version": "1", "reason": "r"}"#] {
            std::fs::write(&path, format!(r#"{{"format": 1, "blocked": [{entry}]}}"#)).unwrap();
            let error = BlockList::new(&path).blocks().unwrap_err();
            assert!(matches!(error, StateError::Damaged { .. }), "{error}");
        }
    }
}
