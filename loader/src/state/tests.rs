use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Names {
    names: Vec<String>,
}

impl State for Names {
    const WHAT: &'static str = "the list of names";
    const FORMAT: u64 = 2;
}

fn file(path: impl Into<PathBuf>) -> StateFile<Names> {
    StateFile::new(path)
}

fn add(file: &StateFile<Names>, name: &str) -> Result<(), StateError> {
    file.update(|state| {
        state.names.push(name.to_owned());
        Ok(())
    })
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn what_is_not_there_yet_is_empty_and_made_for_its_user_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/b/names.json");
    let names = file(&path);
    assert_eq!(names.read(), Ok(Names::default()));
    names.update::<_, StateError>(|_| Ok(())).unwrap();
    assert!(!path.exists(), "a change of nothing wrote a file");
    add(&names, "x").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"format\": 2,\n  \"names\": [\n    \"x\"\n  ]\n}\n");
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    add(&names, "y").unwrap();
    assert_eq!(mode(&path), 0o644);
}

#[test]
fn an_older_format_is_read_and_a_newer_one_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.json");
    let names = file(&path);
    fs::write(&path, r#"{"format": 1, "names": ["a"], "later": true}"#).unwrap();
    add(&names, "b").unwrap();
    let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(written, json!({"format": 2, "names": ["a", "b"], "later": true}));
    let newer = r#"{"format": 3, "names": 7}"#;
    fs::write(&path, newer).unwrap();
    let error = add(&names, "c").unwrap_err();
    let text = "has format 3, and this program knows formats up to 2";
    assert_eq!(error.to_string(), format!("the list of names {} {text}", path.display()));
    assert_eq!(error.fix(), "update this program");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}

#[test]
fn what_is_damaged_is_said_and_never_overwritten() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.json");
    let names = file(&path);
    for (text, reason) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("[]", "it is no JSON object"),
        ("{}", "its `format` is no number from 1"),
        (r#"{"names": []}"#, "its `format` is no number from 1"),
        (r#"{"format": 0, "names": []}"#, "its `format` is no number from 1"),
        (r#"{"format": 1}"#, "missing field `names`"),
    ] {
        fs::write(&path, text).unwrap();
        for error in [names.read().unwrap_err(), add(&names, "x").unwrap_err()] {
            assert_eq!(error.to_string(), format!("the list of names {} is damaged: {reason}", path.display()));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let text = "is damaged: it is no file of a sensible size";
    assert_eq!(names.read().unwrap_err().to_string(), format!("the list of names {} {text}", path.display()));
}

#[test]
fn what_others_may_write_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.json");
    let names = file(&path);
    add(&names, "x").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    let error = names.read().unwrap_err();
    let me = rustix::process::geteuid().as_raw();
    let text = format!("can be written by others than its owner, user {me} (mode 0666)");
    assert_eq!(error.to_string(), format!("the list of names {} {text}", path.display()));
    assert_eq!(error.fix(), format!("chmod go-w {}", path.display()));
    assert_eq!(add(&names, "y"), Err(error));
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::chown(&path, Some(12345), None)
        .expect("this test gives a file to another user, which only root can: run the tests as root");
    assert!(names.read().unwrap_err().to_string().contains("belongs to user 12345"));
}

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let [link, other, target] = ["link.json", "other.json", "d/target.json"].map(|name| directory.path().join(name));
    symlink("other.json", &link).unwrap();
    symlink(&target, &other).unwrap();
    for name in ["x", "y"] {
        add(&file(&link), name).unwrap();
    }
    assert!(link.is_symlink() && other.is_symlink() && !target.is_symlink());
    assert_eq!(file(&target).read().unwrap().names, ["x", "y"]);
    symlink("loop.json", directory.path().join("loop.json")).unwrap();
    assert!(matches!(add(&file(directory.path().join("loop.json")), "z"), Err(StateError::NotWritten { .. })));
}

#[test]
fn writers_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("names.json");
    symlink("names.json", directory.path().join("link.json")).unwrap();
    let added: BTreeSet<String> = (0..40).map(|number| number.to_string()).collect();
    std::thread::scope(|scope| {
        for (number, name) in added.iter().enumerate() {
            let path = if number % 2 == 0 { path.clone() } else { directory.path().join("link.json") };
            scope.spawn(move || add(&file(path), name).unwrap());
        }
    });
    assert_eq!(file(&path).read().unwrap().names.into_iter().collect::<BTreeSet<_>>(), added);
}

#[test]
fn a_change_that_fails_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let names = file(directory.path().join("names.json"));
    add(&names, "x").unwrap();
    let failed = StateError::Newer { what: "", path: PathBuf::new(), found: 1, known: 1 };
    let changed = names.update::<(), _>(|state| {
        state.names.clear();
        Err(failed.clone())
    });
    assert_eq!((changed, names.read().unwrap().names), (Err(failed), vec!["x".to_owned()]));
}

/// Bytes near what a state file holds: any, a good file with a part replaced, and JSON of the right form.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let good =
        json!({"format": 1, "names": ["a"], "trusted": [], "blocked": [{"name": "p", "reason": "r"}]}).to_string();
    let spliced = (any::<prop::sample::Index>(), 0..20_usize, prop::collection::vec(any::<u8>(), 0..8)).prop_map(
        move |(at, length, new)| {
            let mut bytes = good.clone().into_bytes();
            let at = at.index(bytes.len());
            bytes.splice(at..(at + length).min(bytes.len()), new);
            bytes
        },
    );
    let entry = "[a-z0-9@./\\PC]{0,8}".prop_map(Value::from);
    let entry = entry.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("hash|name|version|reason|since|path|trustedAt|x", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    let formed = (any::<i8>(), entry).prop_map(|(format, entries)| {
        json!({"format": format, "names": entries, "trusted": entries, "blocked": entries}).to_string().into_bytes()
    });
    prop_oneof![prop::collection::vec(any::<u8>(), 0..64), spliced, formed]
}

proptest! {
    // 2,000 inputs, each for three kinds of files.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn whatever_is_in_a_file_it_is_read_or_refused_and_what_is_refused_stays(bytes in content()) {
        use crate::trust::{Block, BlockList, TrustStore, TrustTarget};
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        fs::write(&path, &bytes).unwrap();
        let same = || fs::read(&path).unwrap() == bytes;

        let names = file(&path);
        let read = names.read();
        let target = [TrustTarget::Name("p".to_owned())];
        let store = TrustStore::new(&path);
        match store.trusted() {
            Ok(trusted) => {
                let gone = store.untrust(&target).unwrap();
                prop_assert_eq!(store.trusted().unwrap().len() + gone.len(), trusted.len());
                fs::write(&path, &bytes).unwrap();
            }
            Err(error) => prop_assert_eq!(store.untrust(&target), Err(error)),
        }
        prop_assert!(same());
        let list = BlockList::new(&path);
        let block = Block::new("p@1".parse().unwrap(), "r");
        match list.blocks() {
            Ok(_) => {
                list.block(block.clone()).unwrap();
                prop_assert!(list.blocks().unwrap().contains(&block));
                fs::write(&path, &bytes).unwrap();
            }
            Err(error) => prop_assert_eq!(list.block(block), Err(error)),
        }
        prop_assert!(same());
        match read {
            Ok(before) => {
                add(&names, "new").unwrap();
                prop_assert_eq!(names.read().unwrap().names.len(), before.names.len() + 1);
            }
            Err(error) => {
                prop_assert_eq!(add(&names, "new"), Err(error));
                prop_assert!(same());
            }
        }
    }
}
