use std::sync::Arc;

use toolhost_abi::Bytes;
use toolhost_abi::abi_stable::std_types::RVec;
use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi::change::Change;
use toolhost_protocol::Failure;

use super::depth;
use super::guard::{GuardedFuture, NeedsRuntime, drop_guarded};
use super::host::HostLink;
use super::to_bytes;
use crate::ToolError;
use crate::pending::StagedChange;

pub(super) struct ChangeAdapter<C> {
    /// Empty only while it is dropped.
    change: Option<Arc<C>>,
    label: String,
    host: HostLink,
}

impl<C: StagedChange> ChangeAdapter<C> {
    pub(super) fn new(host: HostLink, label: String, change: C) -> Self {
        Self { change: Some(Arc::new(change)), label, host }
    }

    fn run<T, F, Fut>(&self, reason: RVec<u8>, callback: F) -> FfiFuture<Bytes>
    where
        T: serde::Serialize + Send + 'static,
        F: FnOnce(Arc<C>, String) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let change = self.change.clone();
        let work = async move {
            let change = change.ok_or_else(|| Failure::new("the pending action is gone"))?;
            let reason = String::from_utf8_lossy(&reason).into_owned();
            callback(change, reason).await.map_err(|error| depth::failure_without_too_deep(error.into_failure()))
        };
        let guarded = GuardedFuture::new(self.host.plugin(), 0, NeedsRuntime::Yes, work);
        async move { to_bytes(guarded.await) }.into_ffi()
    }
}

impl<C: StagedChange> Change for ChangeAdapter<C> {
    fn apply(&self, reason: RVec<u8>) -> FfiFuture<Bytes> {
        self.run(reason, |change, reason| async move { change.apply(&reason).await.map(depth::without_too_deep) })
    }

    fn reject(&self, reason: RVec<u8>) -> FfiFuture<Bytes> {
        self.run(reason, |change, reason| async move {
            change.reject(&reason).await.map(|result| result.map(depth::without_too_deep))
        })
    }
}

impl<C> Drop for ChangeAdapter<C> {
    fn drop(&mut self) {
        if let Err(failure) = drop_guarded(self.change.take()) {
            self.host.report(&format!("the pending action {:?} was dropped and", self.label), &failure);
        }
    }
}
