//! Tools and callbacks are other people's code: whatever they do, a panic of theirs ends as a failure.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use futures_util::FutureExt;
use toolhost_protocol::Failure;

/// Runs `work` to its end; a panic while it is made or polled is a failure with the code `panic`. What it returned
/// stands, whatever its leftovers do as they go.
pub(crate) async fn caught<T, F: Future<Output = Result<T, Failure>>>(work: impl FnOnce() -> F) -> Result<T, Failure> {
    let future = catch_unwind(AssertUnwindSafe(work)).map_err(panicked)?;
    let mut future = pin!(Some(future));
    let outcome = match future.as_mut().as_pin_mut() {
        Some(running) => AssertUnwindSafe(running).catch_unwind().await,
        None => return Err(Failure::new("there is nothing to run")),
    };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| future.set(None))) {
        let failure = panicked(payload);
        tracing::error!("what was left of a callback was dropped and {failure}");
    }
    outcome.unwrap_or_else(|payload| Err(panicked(payload)))
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

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;

    use super::*;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("as it goes");
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_whenever_it_comes() {
        let made = caught::<(), std::future::Ready<_>>(|| panic!("as it is made")).await.unwrap_err();
        assert_eq!((made.message.as_str(), made.code.as_deref()), ("panicked: as it is made", Some("panic")));
        let polled = caught::<(), _>(|| async { panic!("as it is polled") }).await.unwrap_err();
        assert_eq!(polled.message, "panicked: as it is polled");
    }

    #[tokio::test]
    async fn leftovers_that_panic_do_not_change_the_result() {
        let leftover = PanicsOnDrop;
        let work = poll_fn(move |_cx| {
            let _kept = &leftover;
            Poll::Ready(Ok(5))
        });
        assert_eq!(caught(|| work).await, Ok(5));
    }
}
