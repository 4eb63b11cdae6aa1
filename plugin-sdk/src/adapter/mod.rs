//! The SDK's side of the boundary: the only place that names the ABI's types.

mod change;
mod create;
mod depth;
mod guard;
mod host;
mod tool;

pub(crate) use create::{Kept, create, create_linked};
pub(crate) use host::{CallLink, HostLink};
pub(crate) use tool::{Concrete, Dynamic, ErasedTool};

use serde::Serialize;
use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::std_types::{RResult, RVec};
use toolhost_protocol::Failure;

/// An outcome as JSON. What cannot be written as JSON is a failure itself.
fn to_bytes<T: Serialize>(outcome: Result<T, Failure>) -> Bytes {
    match outcome.and_then(|value| encode(&value)) {
        Ok(json) => RResult::ROk(json.into()),
        Err(failure) => RResult::RErr(failure_bytes(&failure)),
    }
}

fn failure_bytes(failure: &Failure) -> RVec<u8> {
    encode(failure).unwrap_or_default().into()
}

fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::new(format!("the result cannot be written as JSON: {error}")))
}

/// What the other side answered.
fn from_bytes(bytes: Bytes) -> Result<RVec<u8>, Failure> {
    match bytes {
        RResult::ROk(json) => Ok(json),
        RResult::RErr(json) => Err(serde_json::from_slice(&json)
            .unwrap_or_else(|_| Failure::new(format!("the host refused: {}", String::from_utf8_lossy(&json))))),
    }
}
