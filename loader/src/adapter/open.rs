//! Opening a verified copy, and reading the root that it exports. From here on its code runs.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use toolhost_abi::ABI_VERSION;
use toolhost_abi::abi_stable::library::{AbiHeaderRef, LibHeader, LibraryError};
use toolhost_abi::note::{Metadata, SYMBOL};
use toolhost_abi::root::PluginRootRef;

use crate::LoadErrorKind;
use crate::cache::Staged;

use super::layout;

/// Maps the copy into the process, for good.
pub(crate) fn open(staged: &Staged) -> Result<OpenLibrary, LoadErrorKind> {
    // SAFETY: opening runs the library's constructors, which is what loading a plugin asks for; nothing here bounds
    // what they do. That the file is whole, and stays so while it is mapped, rests on the inspection of the very bytes
    // of this private copy.
    let library = unsafe { Library::open(Some(staged.path()), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| LoadErrorKind::NotOpened { reason: chain(&error) })?;
    // Never closed: thread-local destructors and references into the library outlive every object of it.
    Ok(OpenLibrary { library: ManuallyDrop::new(library) })
}

/// A library that stays in the process.
pub(crate) struct OpenLibrary {
    library: ManuallyDrop<Library>,
}

impl OpenLibrary {
    /// Checks the interface's version and layout, and returns the plugin's root. `fits` is for bytes whose layout this
    /// very build of the program has checked before.
    pub(crate) fn root(&self, metadata: &Metadata, fits: bool) -> Result<PluginRootRef, LoadErrorKind> {
        let header = self.header(metadata)?;
        if !fits {
            layout::check(header, metadata)?;
        }
        // SAFETY: the layout was checked in both directions: right above, or at an earlier start, of the same bytes by
        // the same build of this program, as the index in this user's private directory says.
        let root = unsafe { header.init_root_module_with_unchecked_layout::<PluginRootRef>() };
        root.map_err(|error| refused(metadata, &error))
    }

    fn header(&self, metadata: &Metadata) -> Result<&'static LibHeader, LoadErrorKind> {
        // SAFETY: the inspection found an object of at least a `LibHeader`'s size under this name, in a file whose
        // note claims our family; the SDK's macro makes that object. `AbiHeaderRef` reads only its mark and version
        // until `upgrade` has checked them. The library is never closed, so that the reference stays valid.
        let header = unsafe { self.library.get::<AbiHeaderRef>(SYMBOL.as_bytes()) };
        let header = *header.map_err(|error| LoadErrorKind::NotOpened { reason: chain(&error) })?;
        catch_unwind(AssertUnwindSafe(|| header.upgrade()))
            .map_err(|_| other_version(metadata, &metadata.abi_version))?
            .map_err(|error| refused(metadata, &error))
    }
}

fn refused(metadata: &Metadata, error: &LibraryError) -> LoadErrorKind {
    match error {
        LibraryError::IncompatibleVersionNumber { actual_version, .. } => {
            other_version(metadata, &actual_version.to_string())
        }
        LibraryError::InvalidAbiHeader(_) | LibraryError::ParseVersionError(_) => {
            other_version(metadata, &metadata.abi_version)
        }
        other => layout::differs(metadata, &layout::first_line(&other.to_string())),
    }
}

fn other_version(metadata: &Metadata, found: &str) -> LoadErrorKind {
    LoadErrorKind::OtherVersion { plugin: metadata.name.clone(), found: found.to_owned(), host: ABI_VERSION }
}

/// The system's reason stands in the source of libloading's error.
fn chain(error: &dyn Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
