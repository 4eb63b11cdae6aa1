use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use toolhost_abi::note::Metadata;

use super::*;
use crate::bundle::{Bundle, Part};
use crate::{PluginInfo, UnopenedPlugin};

/// What an inspection of a plugin with these files would have seen.
fn inspected(name: &str, version: &str, files: &[(&str, &str)]) -> UnopenedPlugin {
    let json = format!(r#"{{"abiFamily": "f", "abiVersion": "1.0.0", "name": "{name}", "version": "{version}"}}"#);
    let metadata: Metadata = serde_json::from_str(&json).unwrap();
    let part = |&(name, text): &(&str, &str)| Part::of_text(name, text);
    let bundle = Bundle {
        metadata: metadata.clone(),
        parts: files.iter().map(part).collect(),
        fingerprint: format!("hash of {version}"),
        absent: Vec::new(),
    };
    let info = PluginInfo::new(Path::new("/source/p.so"), bundle.fingerprint.clone(), metadata);
    UnopenedPlugin::new(bundle, info)
}

struct Case {
    _directory: tempfile::TempDir,
    root: PathBuf,
    plugins: PluginDirectory,
}

fn case() -> Case {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let plugins = PluginDirectory::new(root.join("data/plugins"), root.join("data/installed.json"));
    Case { _directory: directory, root, plugins }
}

impl Case {
    fn path(&self, name: &str) -> PathBuf {
        self.root.join("data/plugins").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The files below the directory.
    fn files(&self) -> Vec<String> {
        fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { walk(&path, found) } else { found.push(path) }
            }
        }
        let mut found = Vec::new();
        walk(&self.path(""), &mut found);
        let relative = |path: PathBuf| path.strip_prefix(self.path("")).unwrap().to_str().unwrap().to_owned();
        let mut found: Vec<_> = found.into_iter().map(relative).collect();
        found.sort();
        found
    }
}

#[test]
fn what_is_installed_is_what_was_looked_at_and_removing_takes_that_away_alone() {
    let case = case();
    let plugin = inspected("p", "1.0.0", &[("p.so", "plugin"), ("lib/d.so", "library")]);
    assert_eq!(case.plugins.occupant(&case.path("p.so"), &plugin), Occupant::Nobody);
    let done = case.plugins.install(&plugin, false).unwrap();
    assert_eq!((done.path, case.files()), (case.path("p.so"), vec!["lib/d.so".to_owned(), "p.so".to_owned()]));
    assert_eq!((case.read("p.so"), case.read("lib/d.so")), ("plugin".to_owned(), "library".to_owned()));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&case.path("")), mode(&case.path("p.so"))), (0o700, 0o644));
    assert_eq!(case.plugins.installed().unwrap(), std::slice::from_ref(&done.plugin));
    fs::write(case.path("mine.txt"), "").unwrap();

    let removed = case.plugins.remove("p").unwrap();
    assert_eq!((removed.plugin, removed.path), (done.plugin, case.path("p.so")));
    assert_eq!((removed.removed, removed.left), (vec![case.path("p.so"), case.path("lib/d.so")], Vec::new()));
    assert_eq!(case.files(), ["mine.txt"]);
    assert!(!case.path("lib").exists());
    let error = case.plugins.remove("p").unwrap_err().to_string();
    assert_eq!(error, "no plugin `p` was installed");
}

#[test]
fn removing_leaves_what_is_not_what_was_installed() {
    let case = case();
    let library = ("d.so", "library");
    case.plugins.install(&inspected("p", "1.0.0", &[("p.so", "plugin"), library]), false).unwrap();
    case.plugins.install(&inspected("q", "1.0.0", &[("q.so", "other"), library]), false).unwrap();
    fs::write(case.path("p.so"), "by hand").unwrap();
    let removed = case.plugins.remove("p").unwrap();
    assert_eq!((removed.removed, removed.left), (Vec::new(), vec![case.path("p.so"), case.path("d.so")]));
    let error = case.plugins.remove("p").unwrap_err().to_string();
    assert_eq!(error, "no plugin `p` was installed, only `q`");
    assert_eq!(case.plugins.remove("q").unwrap().removed, [case.path("q.so"), case.path("d.so")]);
}

#[test]
fn another_version_replaces_what_was_installed_before_under_whatever_name() {
    let case = case();
    let install = |version: &str, files: &[(&str, &str)]| {
        // Its files are no plugins, so that nothing but the record knows whose they are.
        case.plugins.install(&inspected("p", version, files), true).unwrap();
    };
    install("1.0.0", &[("p.so", "one"), ("old.so", "library")]);
    install("2.0.0", &[("p.so", "two"), ("new.so", "library")]);
    assert_eq!((case.read("p.so"), case.files()), ("two".to_owned(), vec!["new.so".to_owned(), "p.so".to_owned()]));
    install("3.0.0", &[("libp.so", "three")]);
    assert_eq!(case.files(), ["libp.so"]);
    let versions: Vec<_> = case.plugins.installed().unwrap().into_iter().map(|plugin| plugin.version).collect();
    assert_eq!(versions, ["3.0.0"]);
}

#[test]
fn what_is_something_else_is_left_alone_unless_it_is_to_be_replaced() {
    let case = case();
    let files = [("p.so", "plugin"), ("d.so", "library")];
    let plugin = inspected("p", "1.0.0", &files);
    case.plugins.install(&inspected("q", "1.0.0", &[("q.so", "q"), ("d.so", "other")]), false).unwrap();
    let error = case.plugins.install(&plugin, false).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is another library", case.path("d.so").display()));
    fs::write(case.path("p.so"), "mine").unwrap();
    let error = case.plugins.install(&plugin, false).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is a file that is no plugin", case.path("p.so").display()));
    assert_eq!(error.fix(), "give the file another name, or replace what is there with --replace");
    assert_eq!((case.read("p.so"), case.read("d.so")), ("mine".to_owned(), "other".to_owned()));
    case.plugins.install(&plugin, true).unwrap();
    assert_eq!((case.read("p.so"), case.read("d.so")), ("plugin".to_owned(), "library".to_owned()));
}

#[test]
fn an_installation_that_fails_leaves_everything_as_it_was() {
    let case = case();
    case.plugins.install(&inspected("p", "1.0.0", &[("p.so", "one"), ("d.so", "one")]), false).unwrap();
    let before = (case.files(), fs::read_to_string(case.root.join("data/installed.json")).unwrap());
    let same = || (case.files(), fs::read_to_string(case.root.join("data/installed.json")).unwrap()) == before;
    // The last file to move in finds a directory in its place.
    fs::create_dir(case.path("x.so")).unwrap();
    let failing = inspected("p", "2.0.0", &[("x.so", "two"), ("d.so", "two"), ("e.so", "two")]);
    let error = case.plugins.install(&failing, true).unwrap_err();
    assert!(matches!(error, InstallError::NotWritten { .. }), "{error}");
    assert!(same() && case.read("d.so") == "one");
    // The record cannot be read.
    fs::write(case.root.join("data/installed.json"), "{").unwrap();
    let error = case.plugins.install(&inspected("r", "1.0.0", &[("r.so", "r")]), false).unwrap_err();
    assert!(matches!(error, InstallError::State(StateError::Damaged { .. })), "{error}");
    assert_eq!(case.files(), before.0);
}

#[test]
fn nothing_is_installed_where_others_could_change_it() {
    let case = case();
    let plugin = inspected("p", "1.0.0", &[("p.so", "plugin"), ("out/d.so", "library")]);
    fs::create_dir_all(case.path("")).unwrap();
    for open in ["data", "data/plugins"] {
        let path = case.root.join(open);
        for mode in [0o777, 0o1777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            if open == "data" && mode == 0o1777 {
                continue;
            }
            let error = case.plugins.install(&plugin, false).unwrap_err();
            assert!(matches!(&error, InstallError::Place { kind } if kind.code() == "TH0303"), "{error}");
            assert_eq!(error.fix(), format!("chmod go-w {}", path.display()));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let error = case.plugins.install(&inspected("p", "1.0.0", &[("p", "plugin")]), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} has no name that ends in `.so`, so it would not be found", case.path("p").display())
    );
    symlink(&case.root, case.path("out")).unwrap();
    let error = case.plugins.install(&plugin, false).unwrap_err().to_string();
    assert!(error.ends_with("a link leads out of the directory of plugins"), "{error}");
    assert!(!case.root.join("d.so").exists());
}

#[test]
fn a_record_leads_nowhere_else() {
    let case = case();
    fs::create_dir_all(case.path("")).unwrap();
    fs::write(case.root.join("mine"), "x").unwrap();
    let file = format!(r#"{{"path": "../../mine", "hash": "{}"}}"#, sha256(b"x"));
    let entry = format!(
        r#"{{"name": "p", "version": "1", "hash": "h", "files": [{file}], "installedAt": "2026-01-01T00:00:00.000Z"}}"#
    );
    fs::write(case.root.join("data/installed.json"), format!(r#"{{"format": 1, "installed": [{entry}]}}"#)).unwrap();
    assert_eq!(case.plugins.remove("p").unwrap().removed, Vec::<PathBuf>::new());
    assert!(case.root.join("mine").exists());
}
