//! Imagined versions of the plugin interface that break its rules, for the tests alone; `../build.rs` says how.
#![allow(non_local_definitions, non_camel_case_types, missing_docs, unreachable_pub, unused_imports, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/interface.rs"));
