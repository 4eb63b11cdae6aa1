/// Makes a library a plugin: exports its factory and describes it to hosts.
///
/// Once per package, which needs `crate-type = ["cdylib"]` in its `[lib]`. The argument is a factory: a function or a
/// closure from [`CustomToolApi`](crate::CustomToolApi) to a tool, several, or a future or `Result` of those; see
/// [`CustomToolFactory`](crate::CustomToolFactory). The crate's front page shows a whole plugin.
#[macro_export]
macro_rules! export_plugin {
    ($factory:expr $(,)?) => {
        #[doc(hidden)]
        #[allow(non_upper_case_globals)]
        const a_package_exports_one_plugin: () = {
            use $crate::__private as private;

            static PLUGIN: private::Plugin = private::Plugin::new(::core::env!("CARGO_PKG_NAME"));

            struct Entry;

            impl private::Entry for Entry {
                extern "C" fn create(host: private::HostObject, request: private::Request) -> private::Creating {
                    private::Factory::new(|| $factory).create(&PLUGIN, host, request)
                }
            }

            #[unsafe(export_name = "toolhost_plugin_abi_stable")]
            static HEADER: private::LibHeader = private::header::<Entry>();

            const FIELDS: private::Fields<'static> = private::fields(
                ::core::env!("CARGO_PKG_NAME"),
                ::core::env!("CARGO_PKG_VERSION"),
                ::core::env!("CARGO_PKG_DESCRIPTION"),
                ::core::cfg!(panic = "unwind"),
                private::Factory::new(|| $factory).is_dynamic(),
                private::Factory::new(|| $factory).tools(),
            );

            #[used]
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".note.toolhost"))]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__toolhost"))]
            static NOTE: private::Note<{ FIELDS.size() }> = FIELDS.note();
        };
    };
}

/// What [`export_plugin!`] expands to; no author names it.
#[doc(hidden)]
pub mod __private {
    pub use toolhost_abi::abi_stable::library::LibHeader;
    pub use toolhost_abi::host::HostObject;
    pub use toolhost_abi::note::{Fields, Note, ToolNames};
    pub use toolhost_abi::root::{Entry, header};

    use crate::CustomToolFactory;
    use crate::adapter::create;
    pub use crate::plugin::Plugin;

    pub type Request = toolhost_abi::abi_stable::std_types::RVec<u8>;
    pub type Creating = toolhost_abi::async_ffi::FfiFuture<toolhost_abi::root::Created>;

    pub const fn fields(
        name: &'static str,
        version: &'static str,
        description: &'static str,
        unwind: bool,
        dynamic: bool,
        tools: ToolNames<'static>,
    ) -> Fields<'static> {
        Fields {
            name,
            version,
            description,
            sdk_version: env!("CARGO_PKG_VERSION"),
            target: env!("TOOLHOST_TARGET"),
            rustc: env!("TOOLHOST_RUSTC"),
            unwind,
            dynamic,
            tools,
        }
    }

    type Create<F> = fn(&'static Plugin, HostObject, Request, fn() -> F) -> Creating;

    /// What the macro knows of a factory. Nothing else asks whether it is one: the compiler would say twice that it is
    /// not.
    pub struct Factory<F> {
        make: fn() -> F,
        create: Create<F>,
        dynamic: bool,
        tools: ToolNames<'static>,
    }

    impl<F> Factory<F> {
        pub const fn new<M>(make: fn() -> F) -> Self
        where
            F: CustomToolFactory<M>,
        {
            Self { make, create: create::<M, F>, dynamic: F::DYNAMIC, tools: F::TOOLS }
        }

        /// Whether its tools may say different things of themselves from one session to the next.
        pub const fn is_dynamic(&self) -> bool {
            self.dynamic
        }

        /// The names of its tools, as far as their types say.
        pub const fn tools(&self) -> ToolNames<'static> {
            self.tools
        }

        /// Makes the factory, and runs it for one session.
        pub fn create(self, plugin: &'static Plugin, host: HostObject, request: Request) -> Creating {
            (self.create)(plugin, host, request, self.make)
        }
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_macro_exports_the_symbol_that_hosts_look_for() {
            // Attributes take literals only, so the macro repeats what the ABI defines.
            let source = include_str!("export.rs");
            assert!(source.contains(&format!("export_name = \"{}\"", toolhost_abi::note::SYMBOL)));
            assert!(source.contains(&format!("link_section = \"{}\"", toolhost_abi::note::SECTION)));
            let (segment, section) = toolhost_abi::note::MACH_SECTION;
            assert!(source.contains(&format!("link_section = \"{segment},{section}\"")));
        }
    }
}
