//! An imagined minor version of the plugin interface, for the tests alone; `../build.rs` says what it changes.
#![allow(non_local_definitions, non_camel_case_types, missing_docs, unreachable_pub, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/interface.rs"));

pub use objects::{Bytes, call, change, host, root, tool};

pub use abi_stable;
pub use async_ffi;
