//! The C library: which one a file was linked with, and which one this process has.

use std::fmt;
use std::sync::LazyLock;

use serde::{Serialize, Serializer};

use crate::LoadErrorKind;

/// A C library of Linux. Two of them in one process do not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum LibcFlavour {
    /// The GNU C library, glibc.
    Gnu,
    /// musl.
    Musl,
}

impl LibcFlavour {
    /// The one of this process, where it is known.
    pub(crate) const HOST: Option<Self> = if cfg!(target_env = "gnu") {
        Some(Self::Gnu)
    } else if cfg!(target_env = "musl") {
        Some(Self::Musl)
    } else {
        None
    };

    /// By a target triple.
    pub(super) fn of_target(target: &str) -> Option<Self> {
        let environment = target.rsplit('-').next()?;
        [("gnu", Self::Gnu), ("musl", Self::Musl)]
            .into_iter()
            .find_map(|(name, flavour)| environment.starts_with(name).then_some(flavour))
    }
}

impl fmt::Display for LibcFlavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gnu => "glibc",
            Self::Musl => "musl",
        })
    }
}

/// A version of glibc, such as 2.34.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion([u32; 3]);

impl GlibcVersion {
    /// By the name of a version of symbols. `None` where it is that of another library, or of no release.
    pub(super) fn of_symbols(name: &[u8]) -> Option<Self> {
        let name = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?;
        // Marks of what the system's loader has to know, since these releases.
        match name {
            "ABI_DT_RELR" => Some(Self([2, 36, 0])),
            _ => Self::parse(name),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = [0; 3];
        let mut count = 0;
        for part in text.split('.') {
            *parts.get_mut(count)? = part.parse().ok()?;
            count += 1;
        }
        (count >= 2).then_some(Self(parts))
    }

    /// The one of this process.
    pub(crate) fn of_host() -> Option<Self> {
        static VERSION: LazyLock<Option<GlibcVersion>> = LazyLock::new(host_version);
        *VERSION
    }
}

impl fmt::Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [major, minor, 0] => write!(f, "{major}.{minor}"),
            [major, minor, patch] => write!(f, "{major}.{minor}.{patch}"),
        }
    }
}

impl Serialize for GlibcVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(target_env = "gnu")]
fn host_version() -> Option<GlibcVersion> {
    // SAFETY: glibc's documentation of this function: it takes nothing, may be called at any time, and returns a C
    // string that lasts as long as the process.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    GlibcVersion::parse(version.to_str().ok()?)
}

#[cfg(not(target_env = "gnu"))]
fn host_version() -> Option<GlibcVersion> {
    None
}

/// Refuses what was linked with another C library than this process has, or with a newer one.
pub(super) fn check(flavour: Option<LibcFlavour>, needed: Option<GlibcVersion>) -> Result<(), LoadErrorKind> {
    compare((flavour, LibcFlavour::HOST), (needed, GlibcVersion::of_host()))
}

fn compare(
    flavours: (Option<LibcFlavour>, Option<LibcFlavour>),
    versions: (Option<GlibcVersion>, Option<GlibcVersion>),
) -> Result<(), LoadErrorKind> {
    if let (Some(found), Some(wanted)) = flavours
        && found != wanted
    {
        return Err(LoadErrorKind::OtherLibc { found, wanted });
    }
    match versions {
        (Some(needed), Some(found)) if needed > found => {
            Err(LoadErrorKind::NewerLibc { needed: needed.to_string(), found: found.to_string() })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let version = |name: &str| GlibcVersion::of_symbols(name.as_bytes());
        assert!(version("GLIBC_2.4") < version("GLIBC_2.34"));
        assert!(version("GLIBC_2.2.5") < version("GLIBC_2.3"));
        assert_eq!(version("GLIBC_ABI_DT_RELR"), version("GLIBC_2.36"));
        for other in ["GLIBC_PRIVATE", "GLIBC_", "GLIBC_2", "GLIBC_2.3.4.5", "GCC_3.0", "GLIBC_2.99999999999"] {
            assert_eq!(version(other), None, "{other}");
        }
        assert_eq!(version("GLIBC_2.2.5").map(|version| version.to_string()).as_deref(), Some("2.2.5"));
    }

    #[test]
    fn another_c_library_and_a_newer_one_are_refused() {
        let (gnu, musl) = (Some(LibcFlavour::Gnu), Some(LibcFlavour::Musl));
        let version = |text| GlibcVersion::parse(text);
        let refused = |flavours, versions| compare(flavours, versions).unwrap_err();
        let none = (None, None);
        let text = "it was built for musl, and this host runs on glibc";
        assert_eq!(refused((musl, gnu), none).to_string(), text);
        assert_eq!(refused((gnu, musl), none).code(), "TH0212");
        let error = refused((gnu, gnu), (version("2.99"), version("2.36")));
        assert_eq!(error.to_string(), "it needs glibc 2.99, and this system has 2.36");
        assert_eq!(error.code(), "TH0211");
        assert!(compare((gnu, gnu), (version("2.36"), version("2.36"))).is_ok());
        assert!(compare((None, gnu), (None, version("2.36"))).is_ok());
    }

    #[test]
    fn a_target_names_its_c_library() {
        assert_eq!(LibcFlavour::of_target("x86_64-unknown-linux-musl"), Some(LibcFlavour::Musl));
        assert_eq!(LibcFlavour::of_target("aarch64-unknown-linux-gnu"), Some(LibcFlavour::Gnu));
        assert_eq!(LibcFlavour::of_target("aarch64-apple-darwin"), None);
        assert_eq!(LibcFlavour::of_target(""), None);
    }

    #[cfg(target_env = "gnu")]
    #[test]
    fn the_version_of_this_process_is_known() {
        assert!(GlibcVersion::of_host() >= GlibcVersion::parse("2.17"));
    }
}
