use std::fs;
use std::path::Path;

use toolhost_tests::{FIXTURES, Fixture};

#[test]
fn every_directory_of_the_fixtures_is_known_to_the_tests() {
    let directory = Path::new(FIXTURES).parent().unwrap();
    let mut found: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("Cargo.toml").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    let known: Vec<&str> = Fixture::ALL.iter().map(|fixture| fixture.name()).collect();
    assert_eq!(found, known);
}

#[test]
fn every_fixture_is_named_by_a_test() {
    let text = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("it"));
    for fixture in Fixture::ALL {
        assert!(text.contains(&format!("Fixture::{fixture:?}")), "{fixture:?}");
    }
}

/// The text of all files in a directory, however deep.
fn sources(directory: &Path) -> String {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { sources(&path) } else { fs::read_to_string(path).unwrap() }).collect()
}
