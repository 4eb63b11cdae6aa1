//! Private copies: the bytes that were inspected are the bytes that the system opens, whatever happens to the file.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::clean::used_now;
use super::index;
use super::key::StatKey;
use crate::LoadErrorKind;
use crate::bundle::{Bundle, Part};

/// The mode of a copy.
const COPY_MODE: u32 = 0o500;

/// A verified copy, ready to be opened.
#[derive(Debug)]
pub(crate) struct Staged {
    path: PathBuf,
    /// Where the copy has no name in the file system; it lives until this is closed.
    _memory: Option<OwnedFd>,
}

impl Staged {
    /// A copy that another process has verified and keeps.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, _memory: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The directory of private copies: one directory per content, each named by its hash.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the copies that a bundle knows are as it knows them.
    pub(crate) fn has(&self, bundle: &Bundle) -> bool {
        let root = self.root.canonicalize().unwrap_or_else(|_| self.root.clone());
        index::has_copies(bundle, &root)
    }

    /// Copies a bundle, or finds the copy that is there and still has the same bytes. One whose bytes were not read is
    /// there, as the index saw.
    pub(crate) fn stage(&self, bundle: &mut Bundle) -> Result<Staged, LoadErrorKind> {
        self.try_stage(bundle)
            .map_err(|error| LoadErrorKind::NotStaged { directory: self.root.clone(), reason: error.to_string() })
    }

    fn try_stage(&self, bundle: &mut Bundle) -> io::Result<Staged> {
        private_directory(&self.root)?;
        let directory = self.root.canonicalize()?.join(&bundle.fingerprint);
        private_directory(&directory)?;
        if fs::symlink_metadata(&directory)?.is_symlink() {
            return Err(io::Error::other(format!("{} is a symlink", directory.display())));
        }
        if mounted_noexec(&directory)? {
            return in_memory(bundle);
        }
        for part in &mut bundle.parts {
            place(&directory, part)?;
        }
        used_now(&directory);
        Ok(Staged { path: directory.join(&bundle.parts[0].relative), _memory: None })
    }
}

/// Whether a directory is this user's, and nobody else can write to it.
pub(super) fn is_private(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Makes a directory that only this user can enter, or checks that it is one.
fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let metadata = fs::metadata(path)?;
    let refuse = |what: &str| Err(io::Error::other(format!("{} {what}", path.display())));
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    if metadata.mode() & 0o022 != 0 {
        return refuse("can be written by other users");
    }
    if metadata.mode() & 0o077 != 0 {
        fs::set_permissions(path, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Whether nobody else can reach a copy's bytes, by its mode or by another name of the file.
fn is_private_copy(metadata: &Metadata) -> bool {
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    metadata.is_file() && own && metadata.mode() & 0o7777 == COPY_MODE && metadata.nlink() == 1
}

/// Puts the part's bytes there, if they are not, and notes by what the copy will be known again.
fn place(directory: &Path, part: &mut Part) -> io::Result<()> {
    let target = directory.join(&part.relative);
    let Some(bytes) = &part.bytes else { return Ok(()) };
    let there = fs::symlink_metadata(&target).ok().filter(is_private_copy);
    let metadata = match there {
        Some(metadata) if fs::read(&target)? == **bytes => metadata,
        _ => write(directory, &target, bytes)?,
    };
    // Nobody else writes here: a change within the clock's grain is not to be feared.
    part.copy = Some(StatKey::of(&metadata));
    Ok(())
}

fn write(directory: &Path, target: &Path, bytes: &[u8]) -> io::Result<Metadata> {
    let parent = target.parent().unwrap_or(directory);
    private_directory(parent)?;
    let mut file = tempfile::NamedTempFile::new_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(COPY_MODE))?;
    // A new file under the old name: whoever has the old one open keeps it.
    file.persist(target).map_err(|error| error.error)?;
    fs::symlink_metadata(target)
}

#[cfg(target_os = "linux")]
fn mounted_noexec(directory: &Path) -> io::Result<bool> {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    Ok(statvfs(directory)?.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

#[cfg(not(target_os = "linux"))]
fn mounted_noexec(_directory: &Path) -> io::Result<bool> {
    Ok(false)
}

/// A sealed file without a name, for a cache from which nothing can be run.
#[cfg(target_os = "linux")]
fn in_memory(bundle: &Bundle) -> io::Result<Staged> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let [part] = bundle.parts.as_slice() else {
        return Err(io::Error::other(
            "it is mounted noexec, and a plugin that brings libraries along needs a directory that is not",
        ));
    };
    let descriptor = memfd_create(&*part.library_name(), MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(descriptor);
    file.write_all(part.bytes.as_deref().unwrap_or_default())?;
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
    Ok(Staged { path, _memory: Some(file.into()) })
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_bundle: &Bundle) -> io::Result<Staged> {
    Err(io::Error::other("it is mounted noexec"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_abi::note::Metadata;

    fn bundle(parts: &[(&str, &str)]) -> Bundle {
        let metadata: Metadata =
            serde_json::from_str(r#"{"abiFamily":"f","abiVersion":"1.0.0","name":"n","version":"1"}"#).unwrap();
        let part = |&(name, text): &(&str, &str)| Part::of_text(name, text);
        Bundle { metadata, parts: parts.iter().map(part).collect(), fingerprint: "f00".to_owned(), absent: Vec::new() }
    }

    #[test]
    fn a_copy_keeps_names_and_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("a b/ü"));
        let staged = cache.stage(&mut bundle(&[("p.so", "plugin"), ("lib/d.so", "dep")])).unwrap();
        assert_eq!(staged.path(), directory.path().canonicalize().unwrap().join("a b/ü/f00/p.so"));
        assert_eq!(fs::read(staged.path()).unwrap(), b"plugin");
        assert_eq!(fs::read(staged.path().with_file_name("lib/d.so")).unwrap(), b"dep");
        assert_eq!(fs::metadata(staged.path()).unwrap().mode() & 0o777, 0o500);
        assert_eq!(fs::metadata(staged.path().parent().unwrap()).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_copy_that_was_tampered_with_is_replaced_and_never_written_in_place() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("cache"));
        let first = cache.stage(&mut bundle(&[("p.so", "plugin")])).unwrap();
        let before = fs::metadata(first.path()).unwrap().ino();
        cache.stage(&mut bundle(&[("p.so", "plugin")])).unwrap();
        assert_eq!(fs::metadata(first.path()).unwrap().ino(), before);
        fs::set_permissions(first.path(), Permissions::from_mode(0o700)).unwrap();
        fs::write(first.path(), "evil").unwrap();
        let open = File::open(first.path()).unwrap();
        cache.stage(&mut bundle(&[("p.so", "plugin")])).unwrap();
        assert_eq!(fs::read(first.path()).unwrap(), b"plugin");
        assert_eq!(io::read_to_string(open).unwrap(), "evil");
    }

    #[test]
    fn a_copy_that_others_can_reach_is_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path().join("cache"));
        let path = cache.stage(&mut bundle(&[("p.so", "plugin")])).unwrap().path().to_owned();
        let inode = || fs::metadata(&path).unwrap().ino();
        let mut last = inode();
        let mut is_made_anew = || {
            cache.stage(&mut bundle(&[("p.so", "plugin")])).unwrap();
            std::mem::replace(&mut last, inode()) != inode()
        };
        assert!(!is_made_anew());
        fs::hard_link(&path, directory.path().join("another name")).unwrap();
        assert!(is_made_anew(), "by another name");
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        assert!(is_made_anew(), "by its mode");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o500);
    }

    #[test]
    fn a_directory_that_others_can_write_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("open");
        fs::create_dir(&root).unwrap();
        fs::set_permissions(&root, Permissions::from_mode(0o777)).unwrap();
        let error = Cache::new(root).stage(&mut bundle(&[("p.so", "plugin")])).unwrap_err();
        assert_eq!(error.code(), "TH0401");
        assert!(error.to_string().ends_with("can be written by other users"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_copy_in_memory_is_sealed_and_stands_alone() {
        let staged = in_memory(&bundle(&[("p.so", "plugin")])).unwrap();
        assert_eq!(fs::read(staged.path()).unwrap(), b"plugin");
        let written = fs::OpenOptions::new().write(true).open(staged.path()).and_then(|mut file| file.write_all(b"x"));
        assert!(written.is_err());
        let error = in_memory(&bundle(&[("p.so", "plugin"), ("d.so", "dep")])).unwrap_err().to_string();
        assert!(error.contains("noexec"), "{error}");
    }
}
