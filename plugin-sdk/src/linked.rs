use std::sync::Arc;

pub use toolhost_abi::linked::LinkedPlugin;

use crate::CustomToolFactory;
use crate::adapter::{Kept, create_linked};
use crate::plugin::Plugin;

/// A plugin that is linked into its host's program instead of being a file: what
/// [`linked_plugin!`](crate::linked_plugin) makes of a factory, for a name and a version of its own.
///
/// It shares the host's async runtime, log and panic hook. Make it once: the name stays in memory for good.
///
/// ```
/// # use toolhost_plugin_sdk::prelude::*;
/// # struct Hello;
/// # impl CustomTool for Hello {
/// #     const NAME: &'static str = "hello";
/// #     const LABEL: &'static str = "Hello";
/// #     const DESCRIPTION: &'static str = "Says hello";
/// #     type Params = NoParams;
/// #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("hello".into()) }
/// # }
/// let plugin = toolhost_plugin_sdk::link("greetings", "1.0.0", |_pi: CustomToolApi| Hello);
/// assert_eq!(plugin.name(), "greetings");
/// ```
pub fn link<M: 'static, F: CustomToolFactory<M>>(name: &str, version: &str, factory: F) -> LinkedPlugin {
    let kept: &'static str = Box::leak(name.into());
    let plugin: &'static Plugin = Box::leak(Box::new(Plugin::linked(kept)));
    let factory = Arc::new(Kept::new(factory));
    LinkedPlugin::from_create(name, version, move |host, request| create_linked(plugin, host, request, &factory))
}

/// Makes a plugin that is linked into its host's program: `linked_plugin!(factory)`, in the crate whose name and version
/// the plugin has.
///
/// The factory is what [`export_plugin!`](crate::export_plugin) takes. A plugin that is both a file and linked is two
/// packages: the library with `pub fn factory` and this macro, and beside it one of type `cdylib` that says
/// `export_plugin!(library::factory);`.
///
/// ```
/// use toolhost_plugin_sdk::prelude::*;
/// # struct Hello;
/// # impl CustomTool for Hello {
/// #     const NAME: &'static str = "hello";
/// #     const LABEL: &'static str = "Hello";
/// #     const DESCRIPTION: &'static str = "Says hello";
/// #     type Params = NoParams;
/// #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("hello".into()) }
/// # }
///
/// pub fn factory(_pi: CustomToolApi) -> impl CustomTool {
///     Hello
/// }
///
/// /// For programs that link this plugin: `Host::builder().linked(hello::plugin())`.
/// pub fn plugin() -> LinkedPlugin {
///     linked_plugin!(factory)
/// }
/// # assert_eq!(plugin().version(), env!("CARGO_PKG_VERSION"));
/// ```
#[macro_export]
macro_rules! linked_plugin {
    ($factory:expr $(,)?) => {
        $crate::link(::core::env!("CARGO_PKG_NAME"), ::core::env!("CARGO_PKG_VERSION"), $factory)
    };
}
