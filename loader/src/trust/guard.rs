//! Whether a plugin is blocked: asked when it is loaded, and whenever its code would run.

use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{Block, BlockList};
use crate::state::StateError;

/// What a block may name of a plugin.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    pub(super) name: String,
    pub(super) version: String,
    /// The plugin's own, and those of its files.
    pub(super) hashes: Vec<String>,
}

impl Subject {
    pub(crate) fn new(name: &str, version: &str, hashes: Vec<String>) -> Self {
        Self { name: name.to_owned(), version: version.to_owned(), hashes }
    }
}

/// A block that names a plugin, and the list that it stands on; none for the program's own.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) block: Block,
    pub(crate) list: Option<PathBuf>,
}

/// Everything that says what is blocked.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    given: Vec<Block>,
    lists: Vec<Watched>,
}

impl Blocks {
    pub(crate) fn new(given: Vec<Block>, lists: Vec<PathBuf>) -> Self {
        Self { given, lists: lists.into_iter().map(Watched::new).collect() }
    }

    /// The block that names a plugin which is to be loaded. A list that cannot be read may name it, so that nothing is
    /// loaded then.
    pub(super) fn find_strictly(&self, subject: &Subject) -> Result<Option<Hit>, StateError> {
        if let Some(hit) = self.find(subject) {
            return Ok(Some(hit));
        }
        self.lists.iter().find_map(|watched| watched.look().error).map_or(Ok(None), Err)
    }

    /// The block that names this plugin now. A list that cannot be read any more counts as it was when it could: a file
    /// that is being written is no reason to stop what runs.
    fn find(&self, subject: &Subject) -> Option<Hit> {
        let hit = |blocks: &[Block]| blocks.iter().find(|block| block.hits(subject)).cloned();
        if let Some(block) = hit(&self.given) {
            return Some(Hit { block, list: None });
        }
        self.lists.iter().find_map(|watched| {
            let block = hit(&watched.look().blocks)?;
            Some(Hit { block, list: Some(watched.list.path().to_owned()) })
        })
    }
}

/// A list that is read again when its file has changed.
#[derive(Debug)]
struct Watched {
    list: BlockList,
    last: Mutex<Option<(Stamp, Look)>>,
}

/// What was seen in a list.
#[derive(Debug, Clone, Default)]
struct Look {
    blocks: Arc<[Block]>,
    error: Option<StateError>,
}

/// What changes with a file's content.
#[derive(Debug, PartialEq, Eq)]
enum Stamp {
    File([i64; 4], [u64; 3]),
    None(io::ErrorKind),
}

impl Watched {
    fn new(path: PathBuf) -> Self {
        Self { list: BlockList::new(path), last: Mutex::default() }
    }

    fn look(&self) -> Look {
        // Taken before the file is read: what changes meanwhile is seen the next time.
        let stamp = match fs::metadata(self.list.path()) {
            Ok(file) => Stamp::File(
                [file.mtime(), file.mtime_nsec(), file.ctime(), file.ctime_nsec()],
                [file.dev(), file.ino(), file.size()],
            ),
            Err(error) => Stamp::None(error.kind()),
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, look)) = &*last
            && *known == stamp
        {
            return look.clone();
        }
        let look = match self.list.blocks() {
            Ok(blocks) => Look { blocks: blocks.into(), error: None },
            Err(error) => {
                tracing::warn!(%error, "what was blocked before still is");
                let blocks = last.take().map(|(_, look)| look.blocks).unwrap_or_default();
                Look { blocks, error: Some(error) }
            }
        };
        *last = Some((stamp, look.clone()));
        look
    }
}

/// Answers for one plugin whether it is blocked; by default it is not.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    subject: Subject,
    blocks: Arc<Blocks>,
}

impl Guard {
    pub(crate) fn new(subject: Subject, blocks: Arc<Blocks>) -> Self {
        Self { subject, blocks }
    }

    /// The block that names the plugin now.
    pub(crate) fn hit(&self) -> Option<Hit> {
        self.blocks.find(&self.subject)
    }

    /// The same as the end of a sentence.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.hit().map(|hit| format!("plugin {} is blocked: {}", self.subject.name, hit.block.reason))
    }
}

/// An object of a plugin, whose destructor is the plugin's code: it does not run where the plugin is blocked, and what
/// the object holds is never freed then.
pub(crate) struct Guarded<T> {
    object: ManuallyDrop<T>,
    guard: Arc<Guard>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(object: T, guard: Arc<Guard>) -> Self {
        Self { object: ManuallyDrop::new(object), guard }
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }
}

impl<T> Deref for Guarded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        if self.guard.hit().is_none() {
            // SAFETY: the object was not dropped before, since only this does, and this runs once; nobody sees it
            // afterwards.
            unsafe { ManuallyDrop::drop(&mut self.object) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(blocks: &Arc<Blocks>) -> Option<String> {
        Guard::new(Subject::new("p", "1.0.0", Vec::new()), blocks.clone()).refusal()
    }

    #[test]
    fn a_list_is_heeded_as_it_changes_and_kept_where_it_cannot_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blocked.json");
        let blocks = Arc::new(Blocks::new(Vec::new(), vec![path.clone()]));
        let list = BlockList::new(&path);
        let target = "p@1.0.0".parse().unwrap();
        assert_eq!(reason(&blocks), None);
        list.block(Block::new("p@2.0.0".parse().unwrap(), "too new")).unwrap();
        assert_eq!(reason(&blocks), None);
        list.block(Block::new(target, "leaks")).unwrap();
        let blocked = Some("plugin p is blocked: leaks".to_owned());
        assert_eq!(reason(&blocks), blocked);
        fs::write(&path, "{").unwrap();
        assert_eq!(reason(&blocks), blocked);
        let other = Subject::new("other", "1.0.0", Vec::new());
        assert!(matches!(blocks.find_strictly(&other), Err(StateError::Damaged { .. })));
        fs::remove_file(&path).unwrap();
        assert_eq!(reason(&blocks), None);
        assert!(blocks.find_strictly(&other).unwrap().is_none());
    }

    #[test]
    fn what_a_blocked_plugin_made_is_never_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blocked.json");
        let blocks = Arc::new(Blocks::new(Vec::new(), vec![path.clone()]));
        let guard = Arc::new(Guard::new(Subject::new("p", "1.0.0", Vec::new()), blocks));
        let alive = Arc::new(());
        let [first, second] = [(); 2].map(|()| Guarded::new(alive.clone(), guard.clone()));
        assert_eq!(Arc::strong_count(&first), 3);
        drop(first);
        assert_eq!(Arc::strong_count(&alive), 2);
        BlockList::new(&path).block(Block::new("p".parse().unwrap(), "r")).unwrap();
        drop(second);
        assert_eq!(Arc::strong_count(&alive), 2);
    }
}
