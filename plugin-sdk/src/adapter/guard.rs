//! Nothing that an author wrote runs outside of [`guarded`] or [`GuardedFuture`]: no panic leaves the plugin.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::panicking;

use pin_project_lite::pin_project;
use toolhost_protocol::Failure;

use crate::bridge::{keep_place_of_panic, place_of_panic};
use crate::context;
use crate::plugin::Plugin;

pub(crate) use crate::plugin::NeedsRuntime;

/// Runs author's code and turns a panic into a failure.
pub(crate) fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, Failure> {
    // Of a panic that was caught before, or of one that unwinds through here and has yet to say where it was.
    let earlier = place_of_panic().filter(|_| panicking());
    let outcome = catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message(payload.as_ref());
        let text = match place_of_panic() {
            Some(place) => format!("panicked at {place}: {message}"),
            None => format!("panicked: {message}"),
        };
        discard(payload);
        Failure::new(text).with_code("panic")
    });
    keep_place_of_panic(earlier);
    outcome
}

/// Runs author's code within the plugin: its runtime is current, and so is the call.
///
/// Leaving is guarded, too: tokio panics there where the code has left a guard of its own behind. What came of the code
/// stands nevertheless.
pub(crate) fn guarded_within<R>(
    plugin: &Plugin,
    needed: NeedsRuntime,
    call: u64,
    work: impl FnOnce() -> R,
) -> Result<R, Failure> {
    let mut done = None;
    let left = guarded(|| {
        let _entered = plugin.enter(needed)?;
        done = Some(context::within(call, || guarded(work)));
        Ok(())
    });
    match (done, left) {
        (Some(outcome), _) => outcome,
        (None, Ok(Err(failure)) | Err(failure)) => Err(failure),
        (None, Ok(Ok(()))) => Err(Failure::new("the plugin's code was not run")),
    }
}

/// Drops something of the author's.
pub(crate) fn drop_guarded<T>(value: T) -> Result<(), Failure> {
    guarded(|| drop(value))
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(the panic has no message)")
}

/// A payload is a value like any other: dropping it may panic, with a payload that does so again.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

pin_project! {
    /// An author's future, polled and dropped inside the plugin's runtime, its call and a guard.
    pub(crate) struct GuardedFuture<F> {
        #[pin]
        inner: Option<F>,
        plugin: &'static Plugin,
        call: u64,
        runtime: NeedsRuntime,
    }

    impl<F> PinnedDrop for GuardedFuture<F> {
        fn drop(this: Pin<&mut Self>) {
            let _ = this.finish();
        }
    }
}

impl<F> GuardedFuture<F> {
    pub(crate) fn new(plugin: &'static Plugin, call: u64, runtime: NeedsRuntime, inner: F) -> Self {
        Self { inner: Some(inner), plugin, call, runtime }
    }

    /// Drops the author's future where it is; what it captured may panic as it goes.
    fn finish(self: Pin<&mut Self>) -> Result<(), Failure> {
        let mut this = self.project();
        guarded_within(this.plugin, NeedsRuntime::OnlyIfStarted, *this.call, || this.inner.set(None))
    }
}

impl<T, F: Future<Output = Result<T, Failure>>> Future for GuardedFuture<F> {
    type Output = Result<T, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.as_mut().project();
        let Some(inner) = this.inner.as_pin_mut() else {
            return Poll::Ready(Err(Failure::new("the call has already ended")));
        };
        let outcome = match guarded_within(this.plugin, *this.runtime, *this.call, || inner.poll(cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panicked) => Err(panicked),
        };
        // What the author returned stands, whatever its leftovers do as they go.
        let _ = self.finish();
        Poll::Ready(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::panic_any;
    use std::task::Waker;

    static PLUGIN: Plugin = Plugin::new("guard-test");

    struct PanicsOnDrop(&'static str);

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic_any(PanicsOnDrop(self.0));
        }
    }

    fn poll_once<T, F: Future<Output = Result<T, Failure>>>(future: F) -> Poll<Result<T, Failure>> {
        let guarded = GuardedFuture::new(&PLUGIN, 3, NeedsRuntime::OnlyIfStarted, future);
        let mut pinned = std::pin::pin!(guarded);
        pinned.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_panic_becomes_a_failure_with_its_message() {
        let Poll::Ready(Err(failure)) = poll_once::<(), _>(async { panic!("at {}", 5) }) else { panic!("not ready") };
        assert_eq!((failure.message.as_str(), failure.code.as_deref()), ("panicked: at 5", Some("panic")));
    }

    #[test]
    fn a_payload_that_panics_as_it_is_dropped_stays_inside() {
        let failure = guarded(|| panic_any(PanicsOnDrop("again"))).unwrap_err();
        assert_eq!(failure.message, "panicked: (the panic has no message)");
    }

    #[test]
    fn leftovers_that_panic_do_not_change_the_result() {
        let leftover = PanicsOnDrop("leftover");
        let poll = poll_once(std::future::poll_fn(move |_| {
            let _keep = &leftover;
            Poll::Ready(Ok(5))
        }));
        assert_eq!(poll, Poll::Ready(Ok(5)));
    }

    #[test]
    fn a_future_that_is_dropped_half_way_panics_inside_only() {
        let leftover = PanicsOnDrop("half way");
        let poll = poll_once::<(), _>(async move {
            let _keep = leftover;
            std::future::pending().await
        });
        assert!(poll.is_pending());
    }

    #[test]
    fn a_guard_of_tokio_that_is_left_behind_costs_nothing() {
        let leave_behind = || std::mem::forget(tokio::runtime::Handle::current().enter());
        // On a thread of its own, as it stays unbalanced.
        let thread = std::thread::spawn(move || {
            let within = |work: &dyn Fn()| guarded_within(&PLUGIN, NeedsRuntime::Yes, 0, work);
            assert_eq!(within(&leave_behind), Ok(()));
            assert_eq!(within(&|| {}), Ok(()));
            let failure = within(&|| panic!("and a panic")).unwrap_err();
            assert_eq!(failure.message, "panicked: and a panic");
            struct LeavesBehind;
            impl Drop for LeavesBehind {
                fn drop(&mut self) {
                    std::mem::forget(tokio::runtime::Handle::current().enter());
                }
            }
            let leftover = LeavesBehind;
            let poll = poll_once::<(), _>(async move {
                let _keep = leftover;
                std::future::pending().await
            });
            assert!(poll.is_pending());
        });
        thread.join().unwrap();
    }

    #[test]
    fn the_call_is_current_during_a_poll() {
        let Poll::Ready(seen) = poll_once(async { Ok(context::current_call()) }) else { panic!("not ready") };
        assert_eq!(seen, Ok(3));
    }
}
