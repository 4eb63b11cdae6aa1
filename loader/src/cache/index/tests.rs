use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::*;
use crate::bundle::sha256;
use crate::inspect::Linkage;

/// A plugin's file, the directory of copies with its copy, and what is known of both.
struct Known {
    directory: tempfile::TempDir,
    bundle: Bundle,
}

impl Known {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let fingerprint = sha256(b"plugin");
        for name in ["plugins", "cache", &format!("cache/{fingerprint}")] {
            fs::create_dir(path(name)).unwrap();
            fs::set_permissions(path(name), Permissions::from_mode(0o700)).unwrap();
        }
        let (source, copy) = (path("plugins/ü p.so"), path(&format!("cache/{fingerprint}/ü p.so")));
        for file in [&source, &copy] {
            fs::write(file, "plugin").unwrap();
        }
        let key = |path: &Path| StatKey::of(&fs::metadata(path).unwrap());
        let part = Part {
            relative: "ü p.so".into(),
            bytes: Some(b"plugin".into()),
            hash: fingerprint.clone(),
            linkage: Linkage { needed: vec!["libc.so.6".to_owned()], ..Linkage::default() },
            key: Some(key(&source)),
            copy: Some(key(&copy)),
            source,
        };
        let metadata = json!({"abiFamily": "f", "abiVersion": "1.0.0", "name": "n", "version": "1"});
        let bundle = Bundle {
            metadata: serde_json::from_value(metadata).unwrap(),
            parts: vec![part],
            fingerprint,
            absent: vec![path("plugins/libdep.so")],
        };
        Self { directory, bundle }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("cache")
    }

    fn source(&self) -> &Path {
        &self.bundle.parts[0].source
    }

    fn copy(&self) -> PathBuf {
        self.root().join(&self.bundle.fingerprint).join(&self.bundle.parts[0].relative)
    }

    fn learn(&self) {
        let mut index = Index::open(&self.root());
        index.learn(self.source(), &self.bundle, true);
        index.save();
    }

    fn known(&self) -> Option<Bundle> {
        Index::open(&self.root()).known(self.source())
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(self.root().join(NAME)).unwrap()).unwrap()
    }
}

#[test]
fn what_was_learned_is_known_at_the_next_start() {
    let known = Known::new();
    assert_eq!(known.known(), None);
    known.learn();
    assert_eq!(known.known(), Some(known.bundle.without_bytes()));
    assert_eq!(known.json()["format"], 1);
    let mode = fs::metadata(known.root().join(NAME)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut again = Index::open(&known.root());
    again.learn(known.source(), &known.bundle, true);
    assert!(!again.has_learned(), "nothing is new");
}

#[test]
fn any_change_of_the_file_or_its_copy_shows() {
    type Change = fn(&Known);
    let changes: [(&str, Change); 8] = [
        ("other content of the same size", |known| fs::write(known.source(), "nigulp").unwrap()),
        ("a new file under the name", |known| {
            fs::write(known.source().with_extension("new"), "plugin").unwrap();
            fs::rename(known.source().with_extension("new"), known.source()).unwrap();
        }),
        ("another mode", |known| fs::set_permissions(known.source(), Permissions::from_mode(0o777)).unwrap()),
        ("it is gone", |known| fs::remove_file(known.source()).unwrap()),
        ("the copy has other content", |known| fs::write(known.copy(), "nigulp").unwrap()),
        ("the copy is a link", |known| {
            fs::rename(known.copy(), known.copy().with_extension("old")).unwrap();
            symlink(known.copy().with_extension("old"), known.copy()).unwrap();
        }),
        ("a library appeared that would have come along", |known| fs::write(&known.bundle.absent[0], "").unwrap()),
        ("others can write to the directory", |known| {
            fs::set_permissions(known.root(), Permissions::from_mode(0o777)).unwrap();
        }),
    ];
    for (what, change) in changes {
        let known = Known::new();
        known.learn();
        assert!(known.known().is_some(), "{what}");
        change(&known);
        assert_eq!(known.known(), None, "{what}");
    }
}

#[test]
fn what_might_change_unseen_is_not_learned() {
    let mut known = Known::new();
    known.bundle.parts[0].key = None;
    known.learn();
    assert!(!known.root().join(NAME).exists());
}

#[test]
fn a_layout_fits_the_program_that_checked_it_and_no_other() {
    let known = Known::new();
    // A program that was built in this moment has to grow old enough first.
    while program().is_none() {
        std::thread::yield_now();
    }
    known.learn();
    assert!(Index::open(&known.root()).fits(&known.bundle));
    let mut other = known.json();
    other["files"][known.source().to_str().unwrap()]["fits"]["inode"] = json!(1);
    fs::write(known.root().join(NAME), other.to_string()).unwrap();
    let index = Index::open(&known.root());
    assert!(index.known(known.source()).is_some());
    assert!(!index.fits(&known.bundle));
}

#[test]
fn a_damaged_index_is_written_anew_and_a_newer_one_left_alone() {
    for (found, kept) in [("{\"format\":1,\"files\":7}", false), ("\0", false), ("{\"format\":2,\"x\":[]}", true)] {
        let known = Known::new();
        fs::write(known.root().join(NAME), found).unwrap();
        assert_eq!(known.known(), None);
        known.learn();
        assert_eq!(fs::read_to_string(known.root().join(NAME)).unwrap() == found, kept, "{found}");
        assert_eq!(known.known().is_some(), !kept, "{found}");
    }
}

#[test]
fn two_starts_at_once_keep_what_each_has_learned() {
    let known = Known::new();
    let other = known.source().with_file_name("other.so");
    fs::write(&other, "plugin").unwrap();
    let mut bundle = known.bundle.clone();
    bundle.parts[0].source = other.clone();
    bundle.parts[0].key = Some(StatKey::of(&fs::metadata(&other).unwrap()));
    let [mut first, mut second] = [Index::open(&known.root()), Index::open(&known.root())];
    first.learn(known.source(), &known.bundle, true);
    second.learn(&other, &bundle, true);
    first.save();
    second.save();
    assert!(known.known().is_some());
    assert!(Index::open(&known.root()).known(&other).is_some());
}
