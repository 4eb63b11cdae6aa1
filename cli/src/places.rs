//! Where decisions about plugins are kept, and where plugins are installed.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use toolhost_loader::{BlockList, PluginDirectory, TrustStore};

use crate::error::CliError;

/// A path in this user's data directory, if there is one.
fn data(name: &str) -> Option<PathBuf> {
    etcetera::choose_base_strategy().ok().map(|strategy| strategy.data_dir().join("toolhost").join(name))
}

fn required(name: &str) -> Result<PathBuf, CliError> {
    data(name).ok_or_else(|| {
        CliError::usage("no-data-directory", "this user has no data directory", "set HOME or XDG_DATA_HOME")
    })
}

/// The record of trust, for reading.
pub(crate) fn trust_file() -> Option<PathBuf> {
    data("trust.json")
}

/// The lists of what is blocked, the user's first.
pub(crate) fn block_files() -> impl Iterator<Item = PathBuf> {
    data("blocked.json").into_iter().chain([BlockList::SYSTEM.into()])
}

pub(crate) fn trust() -> Result<TrustStore, CliError> {
    required("trust.json").map(TrustStore::new)
}

/// The user's list, or the one for all users.
pub(crate) fn blocks(system: bool) -> Result<BlockList, CliError> {
    Ok(BlockList::new(if system { BlockList::SYSTEM.into() } else { required("blocked.json")? }))
}

/// Every list, the user's first.
pub(crate) fn all_blocks() -> Vec<BlockList> {
    block_files().map(BlockList::new).collect()
}

pub(crate) fn plugins() -> Result<PluginDirectory, CliError> {
    Ok(PluginDirectory::new(required("plugins")?, required("installed.json")?))
}
