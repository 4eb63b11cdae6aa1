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
    let sources = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("it")).unwrap();
    let text: String = sources.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    for fixture in Fixture::ALL {
        assert!(text.contains(&format!("Fixture::{fixture:?}")), "{fixture:?}");
    }
}
