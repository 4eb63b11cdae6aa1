use std::path::Path;

use crate::bundle::Bundle;
use crate::trust::{Block, BlockList, Blocks, Policy, Trust};
use crate::{LoadError, PluginInfo, load};

/// A plugin's file that was read and looked at, with whatever libraries it brings. Nothing of it has run.
///
/// It keeps the bytes that it tells of: what is installed from it is what was looked at, whatever happens to the file.
#[derive(Debug)]
pub struct UnopenedPlugin {
    pub(crate) bundle: Bundle,
    info: PluginInfo,
}

impl UnopenedPlugin {
    /// Reads and inspects this file.
    ///
    /// # Errors
    ///
    /// It is no plugin that this host could open.
    pub fn read(file: impl AsRef<Path>) -> Result<Self, Box<LoadError>> {
        let file = file.as_ref();
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let (bundle, info) = load::inspect(&file, Trust::Given)?;
        Ok(Self { bundle, info })
    }

    #[cfg(test)]
    pub(crate) fn new(bundle: Bundle, info: PluginInfo) -> Self {
        Self { bundle, info }
    }

    /// What the plugin says of itself, and the hash of all of it.
    #[must_use]
    pub fn plugin(&self) -> &PluginInfo {
        &self.info
    }

    /// The bytes of all of its files.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bundle.parts.iter().filter_map(|part| part.bytes.as_ref()).map(Vec::len).sum()
    }

    /// The libraries that it brings, seen from its directory.
    pub fn libraries(&self) -> impl Iterator<Item = &Path> {
        self.bundle.parts[1..].iter().map(|part| part.relative.as_path())
    }

    /// The tools that it declares; none where its file declares none.
    #[must_use]
    pub fn tools(&self) -> &[String] {
        &self.bundle.metadata.tools
    }

    /// Checks that none of these lists blocks it.
    ///
    /// # Errors
    ///
    /// One does, or cannot be used.
    pub fn check_blocks(&self, lists: &[BlockList]) -> Result<(), Box<LoadError>> {
        let paths = lists.iter().map(|list| list.path().to_owned()).collect();
        let policy = Policy::new(Vec::new(), Blocks::new(Vec::<Block>::new(), paths));
        let admitted = policy.admit(&self.bundle, &self.info, Trust::Given);
        let evidence = load::Evidence::new(&self.bundle, &self.info);
        admitted.map(drop).map_err(|kind| evidence.error(&self.info.path, kind))
    }
}
