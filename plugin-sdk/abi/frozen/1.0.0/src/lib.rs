//! The plugin interface as it was in version 1.0.0: a copy of its module, for the tests alone.

#[allow(non_local_definitions, non_camel_case_types, missing_docs, unreachable_pub, clippy::all)]
#[rustfmt::skip]
mod objects;

pub use objects::{Bytes, call, change, host, root, tool};
