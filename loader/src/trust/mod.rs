//! Whether a plugin may be loaded: how it is trusted, and what is blocked whoever trusts it.

mod block;
mod decide;
mod guard;
pub(crate) mod place;
mod record;

pub use block::{Block, BlockList, BlockTarget, NoTarget};
pub(crate) use decide::{Policy, blocked, depends_on_trust};
pub(crate) use guard::{Blocks, Guard, Guarded};
pub use place::PlaceProblem;
pub use record::{TrustStore, TrustTarget, TrustedPlugin};

/// How a plugin's file comes to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Trust {
    /// By the act of naming it.
    Given,
    /// By who owns it and who may write it, all the way up.
    Owned,
    /// By its content hash, in the record of trust.
    Recorded,
}
