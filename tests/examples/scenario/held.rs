//! What this process holds: memory, whoever has allocated it (host, plugins and C share one `malloc`), descriptors and
//! mappings.

use std::hint::black_box;
use std::{fmt, fs, thread};

/// How much of each is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    /// The bytes of all blocks that were allocated and not freed.
    heap: usize,
    descriptors: usize,
    mappings: usize,
    threads: usize,
}

/// The least that the allocator gives, in bytes.
const BLOCK: usize = 32;

/// More than the runtimes of host and plugin hold for a thread, in bytes and in mappings.
const THREAD: (usize, usize) = (8192, 8);

impl Held {
    pub(crate) fn now() -> Self {
        let entries = |directory| fs::read_dir(directory).unwrap().count();
        Self {
            heap: live(),
            descriptors: entries("/proc/self/fd"),
            mappings: fs::read_to_string("/proc/self/maps").unwrap().lines().count(),
            threads: entries("/proc/self/task"),
        }
    }

    /// The least of each.
    pub(crate) fn least(self, other: Self) -> Self {
        Self {
            heap: self.heap.min(other.heap),
            descriptors: self.descriptors.min(other.descriptors),
            mappings: self.mappings.min(other.mappings),
            threads: self.threads.min(other.threads),
        }
    }

    /// What has grown by something that was forgotten in every fourth round, or oftener. How many threads wait for
    /// blocking work is for the runtimes to say, so that what those hold is no growth; that they are ever more is.
    pub(crate) fn grown(self, after: Self, rounds: usize) -> Vec<String> {
        let often = rounds.div_ceil(4);
        let threads = after.threads.saturating_sub(self.threads);
        let counts = [
            ("bytes on the heap", self.heap, after.heap, often * BLOCK + threads * THREAD.0),
            ("open descriptors", self.descriptors, after.descriptors, often),
            ("mappings", self.mappings, after.mappings, often + threads * THREAD.1),
            ("threads", self.threads, after.threads, often),
        ];
        let grown = counts.into_iter().filter(|&(_, before, after, more)| after >= before + more);
        grown.map(|(what, before, after, _)| format!("{before} {what} before, {after} after {rounds} rounds")).collect()
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { heap, descriptors, mappings, threads } = self;
        write!(f, "{heap} bytes on the heap, {descriptors} open descriptors, {mappings} mappings, {threads} threads")
    }
}

/// The bytes of all blocks that were allocated and not freed, in all arenas and in mappings of their own.
#[cfg(target_env = "gnu")]
fn live() -> usize {
    // SAFETY: the C library fills in and returns a structure of numbers, under the locks of its arenas.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

#[cfg(not(target_env = "gnu"))]
fn live() -> usize {
    panic!("only the GNU C library says what is live on its heap")
}

/// Shows that one forgotten block is seen to the byte, in another thread's arena too, and one that was freed is not.
///
/// Nothing else may run meanwhile.
pub(crate) fn check() {
    const SIZE: usize = 40;
    let counted = thread::spawn(|| {
        let before = live();
        drop(black_box(Box::new([0_u8; SIZE])));
        let freed = live().abs_diff(before);
        black_box(Box::leak(Box::new([0_u8; SIZE])));
        (freed, live().abs_diff(before))
    });
    // Eight bytes of every block are the allocator's own.
    assert_eq!(
        counted.join().unwrap(),
        (0, SIZE + 8),
        "the heap is not counted exactly; run with GLIBC_TUNABLES=glibc.malloc.tcache_count=0, without which blocks \
         that were freed count as live while a thread keeps them for itself"
    );
}
