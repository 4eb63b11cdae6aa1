//! Tools and callbacks are other people's code: whatever they do, a panic of theirs ends as a failure.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use toolhost_protocol::Failure;

/// Runs `work` to its end; a panic while it is made or polled is a failure with the code `panic`.
pub(crate) async fn caught<T, F: Future<Output = Result<T, Failure>>>(work: impl FnOnce() -> F) -> Result<T, Failure> {
    let future = catch_unwind(AssertUnwindSafe(work)).map_err(panicked)?;
    AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|payload| Err(panicked(payload)))
}

pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Failure {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(the panic has no message)");
    let failure = Failure::new(format!("panicked: {message}")).with_code("panic");
    // Dropping a payload may panic in turn.
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
    failure
}
