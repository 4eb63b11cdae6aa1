//! A plugin that is part of the host's own program, and still reached as one from a file.
//!
//! Nothing here crosses from one library into another: the compiler lays it out for both sides at once, so that it is
//! no part of the frozen text. It keeps what any crate keeps within a major version.

use std::fmt;
use std::sync::Arc;

use crate::host::HostObject;
use crate::root::Created;
use abi_stable::std_types::RVec;
use async_ffi::FfiFuture;

type Create = Arc<dyn Fn(HostObject, RVec<u8>) -> FfiFuture<Created> + Send + Sync>;

/// A plugin that was linked into the program that hosts it, where a program cannot open libraries or wants no file.
///
/// It goes through the same adapters on both sides as a plugin from a file. It shares the host's async runtime, log and
/// panic hook, since it shares the code of all three.
#[derive(Clone)]
pub struct LinkedPlugin {
    name: String,
    version: String,
    create: Create,
}

impl LinkedPlugin {
    /// What an SDK makes of a factory; authors use the SDK's macro.
    #[doc(hidden)]
    pub fn from_create(
        name: &str,
        version: &str,
        create: impl Fn(HostObject, RVec<u8>) -> FfiFuture<Created> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.to_owned(), version: version.to_owned(), create: Arc::new(create) }
    }

    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The plugin's version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Makes one session's tools; for hosts.
    #[doc(hidden)]
    #[must_use]
    pub fn create(&self, host: HostObject, request: RVec<u8>) -> FfiFuture<Created> {
        (self.create)(host, request)
    }
}

impl fmt::Debug for LinkedPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinkedPlugin").field("name", &self.name).field("version", &self.version).finish_non_exhaustive()
    }
}
