//! What a plugin's library exports.

use abi_stable::library::{CheckTypeLayout, LibHeader, RootModule, RootModuleResult};
use abi_stable::package_version_strings;
use abi_stable::prefix_type::{PrefixRefTrait, PrefixTypeTrait};
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::{RResult, RVec};
use abi_stable::{StableAbi, declare_root_module_statics};
use async_ffi::FfiFuture;

use super::host::HostObject;
use super::tool::ToolObject;

/// A session's tools, or a `Failure`.
pub type Created = RResult<RVec<ToolObject>, RVec<u8>>;

/// The root of a plugin.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = PluginRootRef)))]
#[sabi(missing_field(option))]
pub struct PluginRoot {
    /// Makes one session's tools. The bytes are a `CreateRequest`.
    ///
    /// `[any-thread]` Once per session; sessions may overlap.
    #[sabi(last_prefix_field)]
    pub create: extern "C" fn(HostObject, RVec<u8>) -> FfiFuture<Created>,
}

impl RootModule for PluginRootRef {
    declare_root_module_statics! {PluginRootRef}
    const BASE_NAME: &'static str = "toolhost_plugin";
    const NAME: &'static str = "toolhost_plugin";
    const VERSION_STRINGS: VersionStrings = package_version_strings!();
}

/// A plugin's entry, as the exporting macro defines it.
pub trait Entry {
    /// Makes one session's tools; see [`PluginRoot::create`].
    extern "C" fn create(host: HostObject, request: RVec<u8>) -> FfiFuture<Created>;
}

/// The header that a plugin exports under [`SYMBOL`](crate::note::SYMBOL).
#[must_use]
pub const fn header<E: Entry>() -> LibHeader {
    // SAFETY: `construct` returns a `PrefixRef` that came from a `PluginRootRef`, the type named here.
    unsafe { LibHeader::from_constructor::<PluginRootRef>(construct::<E>, CheckTypeLayout::Yes) }
}

// Neither step can panic: one allocation that is leaked, and a cast.
extern "C" fn construct<E: Entry>() -> RootModuleResult {
    let root = PluginRoot { create: E::create }.leak_into_prefix();
    // SAFETY: a `PrefixRef` may be cast to the erased prefix; the reader casts it back after its layout check.
    RResult::ROk(unsafe { root.to_prefix_ref().cast() })
}
