//! `/etc/ld.so.cache`: the libraries of the system by name, as `ldconfig` writes them and glibc reads them.

use std::path::PathBuf;

/// What the list begins with; an older list, which ends at an alignment of eight, may stand before it.
const MARK: &[u8] = b"glibc-ld.so.cache1.1";
const OLD_MARK: &[u8] = b"ld.so-1.7.0\0";
const OLD_ENTRY: usize = 12;
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// The flag of a library of the GNU C library, and of one for a machine.
const OF_GLIBC: u32 = 0x0003;
const MACHINE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0x0300)
} else if cfg!(target_arch = "aarch64") {
    Some(0x0a00)
} else {
    None
};

/// The list.
pub(super) struct Cache {
    bytes: Vec<u8>,
    /// Where the list begins, from which its offsets are counted.
    start: usize,
    count: usize,
}

impl Cache {
    /// `None` where it is written in another way.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let start = if bytes.starts_with(OLD_MARK) {
            let old = number(&bytes, OLD_MARK.len())? as usize;
            (OLD_MARK.len() + 4).checked_add(old.checked_mul(OLD_ENTRY)?)?.checked_next_multiple_of(8)?
        } else {
            0
        };
        let list = bytes.get(start..)?;
        let count = number(list, MARK.len())? as usize;
        let room = list.len().checked_sub(HEADER)? / ENTRY;
        (list.starts_with(MARK) && count <= room).then_some(Self { start, count, bytes })
    }

    /// The paths of a library.
    pub(super) fn paths<'a>(&'a self, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let list = &self.bytes[self.start..];
        (0..self.count).filter_map(move |at| {
            let entry = HEADER + at * ENTRY;
            let flags = number(list, entry)?;
            let fits = MACHINE.is_none_or(|machine| flags == machine | OF_GLIBC);
            (fits && text(list, entry + 4)? == name.as_bytes()).then(|| {
                let path = text(list, entry + 8)?;
                Some(PathBuf::from(std::str::from_utf8(path).ok()?))
            })?
        })
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The text whose offset stands at this place.
fn text(list: &[u8], at: usize) -> Option<&[u8]> {
    let rest = list.get(number(list, at)? as usize..)?;
    rest.split(|&byte| byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list with one entry.
    fn list(flags: u32) -> Vec<u8> {
        let name = HEADER + ENTRY;
        let path = name + b"libx.so.1\0".len();
        let mut list = MARK.to_vec();
        list.extend(1u32.to_ne_bytes());
        list.resize(HEADER, 0);
        for word in [flags, name as u32, path as u32, 0, 0, 0] {
            list.extend(word.to_ne_bytes());
        }
        list.extend(b"libx.so.1\0/opt/libx.so.1\0");
        list
    }

    fn paths(bytes: Vec<u8>, name: &str) -> Option<Vec<PathBuf>> {
        Cache::parse(bytes).map(|cache| cache.paths(name).collect())
    }

    #[test]
    fn a_library_is_found_by_its_name_and_its_machine() {
        let here = MACHINE.unwrap_or_default() | OF_GLIBC;
        assert_eq!(paths(list(here), "libx.so.1"), Some(vec!["/opt/libx.so.1".into()]));
        assert_eq!(paths(list(here), "libx.so"), Some(vec![]));
        if MACHINE.is_some() {
            assert_eq!(paths(list(here ^ 0x0100), "libx.so.1"), Some(vec![]));
        }
        let older = [OLD_MARK, &0u32.to_ne_bytes(), &list(here)].concat();
        assert_eq!(paths(older, "libx.so.1"), Some(vec!["/opt/libx.so.1".into()]));
    }

    #[test]
    fn a_list_that_is_cut_off_or_of_another_kind_is_none_or_has_less() {
        let whole = list(MACHINE.unwrap_or_default() | OF_GLIBC);
        for length in 0..whole.len() {
            assert!(paths(whole[..length].to_vec(), "libx.so.1").is_none_or(|paths| paths.len() <= 1));
        }
        assert_eq!(paths(b"glibc-ld.so.cache2.0\0\0\0\0".to_vec(), "libx.so.1"), None);
    }
}
