//! The directory of private copies, and what is remembered beside them.

mod clean;
mod copies;
mod index;
mod key;

pub(crate) use clean::clean;
pub(crate) use copies::{Cache, Staged};
pub(crate) use index::{Definitions, Index};
pub(crate) use key::StatKey;
