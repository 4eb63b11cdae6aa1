//! The loader's side of the boundary: the only place where plugin code is called, and where it calls back.

mod call;
mod change;
mod create;
mod foreign;
mod host;
mod late;
mod layout;
mod log;
mod open;
mod tool;

pub(crate) use create::{Entry, Failed, Made, create};
pub(crate) use late::LatePlugin;
pub(crate) use log::PluginLog;
pub(crate) use open::open;

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde::de::DeserializeOwned;
use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_core::Failure;

/// Runs the host's own code for a plugin: no panic of ours crosses into it either. `None` where there was one.
fn guarded<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What a plugin answered, as the type that it should have.
fn decode<T: DeserializeOwned>(plugin: &str, bytes: Bytes) -> Result<T, Failure> {
    match bytes {
        RResult::ROk(json) => serde_json::from_slice(&json).map_err(|error| {
            Failure::new(format!("plugin `{plugin}` answered with JSON that cannot be read: {error}"))
                .with_code("protocol")
        }),
        RResult::RErr(json) => Err(failure(plugin, &json)),
    }
}

fn failure(plugin: &str, json: &[u8]) -> Failure {
    serde_json::from_slice(json).unwrap_or_else(|_| {
        Failure::new(format!("plugin `{plugin}` failed with: {}", String::from_utf8_lossy(json))).with_code("protocol")
    })
}

fn encode(value: &impl Serialize) -> RVec<u8> {
    // Values that the host makes can always be written.
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn answer<T: Serialize>(outcome: Result<T, Failure>) -> Bytes {
    match outcome {
        Ok(value) => RResult::ROk(encode(&value)),
        Err(failure) => RResult::RErr(encode(&failure)),
    }
}
