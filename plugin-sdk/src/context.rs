//! Which tool call the current thread is polling.

use std::cell::Cell;

thread_local! {
    static CALL: Cell<u64> = const { Cell::new(0) };
}

/// The id of the call whose future this thread polls, 0 outside of any.
pub(crate) fn current_call() -> u64 {
    CALL.get()
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
}
