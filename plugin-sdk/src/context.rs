//! Which tool call the current thread is polling.

use std::cell::Cell;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

thread_local! {
    static CALL: Cell<u64> = const { Cell::new(0) };
}

/// The id of the call whose future this thread polls, 0 outside of any.
pub(crate) fn current_call() -> u64 {
    // A destructor of another local may ask as its thread ends.
    CALL.try_with(Cell::get).unwrap_or(0)
}

/// Runs `work` as part of the call with this id.
pub(crate) fn within<R>(call: u64, work: impl FnOnce() -> R) -> R {
    struct Restore(u64);
    impl Drop for Restore {
        fn drop(&mut self) {
            CALL.set(self.0);
        }
    }
    let _restore = Restore(CALL.replace(call));
    work()
}

pin_project! {
    /// A future that is part of a call, whatever task polls it; made by
    /// [`ToolCall::scope`](crate::ToolCall::scope).
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is polled"]
    pub struct Scoped<F> {
        #[pin]
        future: F,
        call: u64,
    }
}

impl<F> Scoped<F> {
    pub(crate) fn new(call: u64, future: F) -> Self {
        Self { future, call }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        within(*this.call, || this.future.poll(cx))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_current_only_within_its_scope() {
        within(7, || {
            assert_eq!(current_call(), 7);
            within(8, || assert_eq!(current_call(), 8));
            assert_eq!(current_call(), 7);
        });
        assert_eq!(current_call(), 0);
    }

    #[tokio::test]
    async fn a_scoped_future_is_part_of_its_call_in_any_task() {
        let task = tokio::spawn(Scoped::new(7, async {
            tokio::task::yield_now().await;
            current_call()
        }));
        assert_eq!(task.await.unwrap(), 7);
    }
}
