use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi::abi_stable::std_types::RVec;
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::call::{Call, CallObject};
use toolhost_core::CallContext;

use super::guarded;

/// A call as a plugin sees it.
#[derive(Clone)]
struct CallAdapter(CallContext);

pub(super) fn object(call: CallContext) -> CallObject {
    CallObject::from_value(CallAdapter(call), TD_Opaque)
}

impl Call for CallAdapter {
    fn id(&self) -> u64 {
        self.0.id()
    }

    fn update(&self, json: RVec<u8>) -> bool {
        let update = || serde_json::from_slice(&json).is_ok_and(|partial| self.0.update(partial));
        guarded(update).unwrap_or(false)
    }

    fn is_cancelled(&self) -> bool {
        self.0.cancellation().is_cancelled()
    }

    fn cancelled(&self) -> FfiFuture<()> {
        self.0.cancellation().cancelled().into_ffi()
    }
}
