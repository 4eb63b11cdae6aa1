//! Whole plugins in whole hosts: every case runs through real libraries, built by a cargo of their own.

// A case fails where something cannot be had; its helpers do too.
#![allow(clippy::unwrap_used)]

mod allocator;
mod asyncs;
mod cache;
mod calls;
mod cli;
mod compatibility;
mod copies;
mod discovery;
mod dynamic;
mod ends;
mod errors;
mod factories;
mod files;
mod first_sight;
mod fixtures;
mod flight;
mod hostile;
mod http_fetch;
mod in_process;
mod interface;
mod journal;
mod late;
mod life;
mod linked;
mod locals;
mod logging;
mod mistakes;
mod names;
mod panics;
mod released;
mod rename;
mod repo_stats;
mod resolve;
mod services;
mod sessions;
mod siblings;
mod sql_query;
mod steering;
mod support;
mod surface;
mod tokio_inside;
mod tool_call;
mod trust;
mod turns;
mod versions;
mod word_count;
