//! The objects that cross. Nothing outside of this module decides on a layout.

pub mod call;
pub mod change;
pub mod host;
pub mod root;
pub mod tool;

use abi_stable::std_types::{RResult, RVec};

/// JSON as UTF-8, or a structured error as JSON.
pub type Bytes = RResult<RVec<u8>, RVec<u8>>;
