//! The binary `toolhost`, as a person and a program run it.
//!
//! Every case has a home of its own, says all of what it expects, and waits for what it needs, never for a time.

mod blame;
mod config_files;
mod decisions;
mod discovery;
mod docs;
mod inspect;
mod install;
mod journal;
mod lists;
mod output;
mod params;
mod plugins;
mod questions;
mod rendered;
mod services;
mod settings;
mod signals;
mod statuses;
mod support;
mod terminal;
mod trust;
mod usage;
