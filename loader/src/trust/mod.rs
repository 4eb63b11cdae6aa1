//! How a plugin's file comes to be trusted.

/// How a plugin's file comes to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// By the act of naming it.
    Given,
    /// By who owns it and who may write it, all the way up.
    Owned,
    /// By its content hash, in the record of trust.
    Recorded,
}
