//! Every object and every future of a plugin is one of these: there is no other way to its code.

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

use toolhost_abi::async_ffi::FfiFuture;

use crate::watch::Mark;

/// Something of a plugin, whose code is called, polled and dropped with its mark on the thread.
pub(super) struct Foreign<T> {
    inner: ManuallyDrop<T>,
    mark: Mark,
}

impl<T> Foreign<T> {
    pub(super) fn new(mark: Mark, inner: T) -> Self {
        Self { inner: ManuallyDrop::new(inner), mark }
    }

    /// Calls a function of it.
    pub(super) fn call<R>(&self, work: impl FnOnce(&T) -> R) -> R {
        self.mark.within(|| work(&self.inner))
    }

    /// Calls a function of it that makes a future.
    pub(super) fn start<R>(&self, work: impl FnOnce(&T) -> FfiFuture<R>) -> Foreign<FfiFuture<R>> {
        Foreign::new(self.mark, self.call(work))
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        self.mark.within(|| {
            // SAFETY: `ManuallyDrop::drop` asks that the value is not used again. `Drop` runs once, and last.
            unsafe { ManuallyDrop::drop(&mut self.inner) }
        });
    }
}

impl<R> Future for Foreign<FfiFuture<R>> {
    type Output = R;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = self.get_mut();
        this.mark.within(|| Pin::new(&mut *this.inner).poll(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PluginInfo;
    use crate::watch::CodeWatch;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::PathBuf;
    use std::sync::Mutex;
    use toolhost_abi::async_ffi::FutureExt;

    /// Keeps a list of what it is told, and which number stands for the thread's code.
    #[derive(Default)]
    struct Told(Mutex<(Vec<String>, u32)>);

    impl CodeWatch for Told {
        fn opening(&self, plugin: &PluginInfo) -> u32 {
            self.0.lock().unwrap().0.push(format!("opening {}", plugin.name));
            plugin.name.len().try_into().unwrap()
        }

        fn opened(&self, number: u32, _plugin: &PluginInfo, address: usize) {
            self.0.lock().unwrap().0.push(format!("opened {number} at {address}"));
        }

        fn enter(&self, number: u32) -> u32 {
            let mut told = self.0.lock().unwrap();
            told.0.push(format!("in {number}"));
            std::mem::replace(&mut told.1, number)
        }

        fn leave(&self, before: u32) {
            let mut told = self.0.lock().unwrap();
            told.0.push(format!("back in {before}"));
            told.1 = before;
        }
    }

    impl Told {
        fn take(&self) -> Vec<String> {
            std::mem::take(&mut self.0.lock().unwrap().0)
        }
    }

    fn info(name: &str) -> PluginInfo {
        let text = String::new;
        PluginInfo {
            name: name.to_owned(),
            version: text(),
            description: text(),
            path: PathBuf::new(),
            linked: false,
            fingerprint: text(),
            abi_version: text(),
            sdk_version: text(),
            rustc: text(),
            dynamic: false,
        }
    }

    fn mark(told: &'static Told, name: &str) -> Mark {
        let info = info(name);
        let mark = Mark::opening(Some(told), &info);
        mark.opened(&info, 7);
        mark
    }

    #[test]
    fn calls_nest_and_a_panic_leaves_like_a_return() {
        let told: &'static Told = Box::leak(Box::default());
        let (outer, inner) = (Foreign::new(mark(told, "a"), 1), Foreign::new(mark(told, "bb"), 2));
        assert_eq!(told.take(), ["opening a", "opened 1 at 7", "opening bb", "opened 2 at 7"]);
        assert_eq!(outer.call(|one| inner.call(|two| one + two)), 3);
        assert_eq!(told.take(), ["in 1", "in 2", "back in 1", "back in 0"]);
        assert!(catch_unwind(AssertUnwindSafe(|| outer.call(|_| panic!("so what")))).is_err());
        assert_eq!(told.take(), ["in 1", "back in 0"]);
    }

    #[tokio::test]
    async fn polls_and_drops_are_told_of() {
        let told: &'static Told = Box::leak(Box::default());
        let object = Foreign::new(mark(told, "ccc"), ());
        told.take();
        let running = object.start(|()| tokio::task::yield_now().into_ffi());
        assert_eq!(told.take(), ["in 3", "back in 0"]);
        running.await;
        // Two polls, and the drop.
        assert_eq!(told.take(), ["in 3", "back in 0"].repeat(3));
        drop(object);
        assert_eq!(told.take(), ["in 3", "back in 0"]);
    }
}
