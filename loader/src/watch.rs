//! Whose code a thread runs, for whoever wants to know.

use std::fmt;

use crate::PluginInfo;

/// Is told whose code the threads of this process run, such as to say after a crash whose it was.
///
/// The host calls it around each piece of a plugin's code: the opening of its library, each poll of its futures, each
/// call of a function, each drop. Threads that a plugin starts are its own, and nothing is told of them. An
/// implementation must not panic, and should be quick: each call of a tool enters and leaves a few times.
pub trait CodeWatch: Send + Sync {
    /// A plugin is about to be opened. Returns the number that stands for it from now on; 0 stands for no plugin.
    fn opening(&self, plugin: &PluginInfo) -> u32;

    /// It is open: this is an address in its library. Not told of a linked plugin.
    fn opened(&self, number: u32, plugin: &PluginInfo, address: usize);

    /// This thread enters the code of this plugin. Returns the number of the plugin that it comes from.
    fn enter(&self, number: u32) -> u32;

    /// This thread is back in the code of the plugin that it came from.
    fn leave(&self, before: u32);
}

/// A plugin, as whoever watches knows it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mark(Option<(&'static dyn CodeWatch, u32)>);

impl Mark {
    /// Says that this plugin is about to be opened.
    pub(crate) fn opening(watch: Option<&'static dyn CodeWatch>, plugin: &PluginInfo) -> Self {
        Self(watch.map(|watch| (watch, watch.opening(plugin))))
    }

    /// Says where the plugin is.
    pub(crate) fn opened(self, plugin: &PluginInfo, address: usize) {
        if let Some((watch, number)) = self.0 {
            watch.opened(number, plugin, address);
        }
    }

    /// Runs code of the plugin.
    pub(crate) fn within<R>(self, work: impl FnOnce() -> R) -> R {
        let _inside = self.0.map(|(watch, number)| Inside { watch, before: watch.enter(number) });
        work()
    }
}

/// Leaves the plugin's code, however that is left.
struct Inside {
    watch: &'static dyn CodeWatch,
    before: u32,
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.watch.leave(self.before);
    }
}

impl fmt::Debug for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Mark").field(&self.0.map(|(_, number)| number)).finish()
    }
}
