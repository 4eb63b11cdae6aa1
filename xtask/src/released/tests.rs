use super::*;

/// A repository with one commit and these tags, which holds nothing but a changelog.
fn repository(changelog: &str, tags: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("CHANGELOG.md"), changelog).unwrap();
    let releases = releases(&directory);
    let identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false"];
    releases.git(&["init", "--quiet"]).unwrap();
    releases.git(&["add", "."]).unwrap();
    releases.git(&[&identity[..], &["commit", "--quiet", "-m", "all"]].concat()).unwrap();
    for tag in tags {
        releases.git(&["-c", "tag.gpgsign=false", "tag", tag]).unwrap();
    }
    directory
}

fn releases(directory: &tempfile::TempDir) -> Releases {
    Releases::new(directory.path(), &directory.path().join("scratch"))
}

fn no_host() -> Result<PathBuf> {
    bail!("there is no host")
}

fn check(directory: &tempfile::TempDir) -> (Result<(), String>, String) {
    let mut out = Vec::new();
    let outcome = releases(directory).check(&mut out, no_host).map_err(|error| format!("{error:#}"));
    (outcome, String::from_utf8(out).unwrap())
}

#[test]
fn without_a_tag_nothing_is_released_and_no_host_is_asked_for() {
    let directory = repository("# Changelog\n\n## Unreleased\n", &["nightly", "version"]);
    assert_eq!(check(&directory), (Ok(()), "Nothing is released yet: there is no tag v*.\n".to_owned()));
}

#[test]
fn with_a_tag_there_has_to_be_a_host() {
    let directory = repository("## Unreleased\n## 0.0.1\n", &["v0.0.1"]);
    assert_eq!(check(&directory).0, Err("there is no host".to_owned()));
}

#[test]
fn a_release_without_its_tag_is_found() {
    let current = env!("CARGO_PKG_VERSION");
    let changelog = format!("## Unreleased\n## {current}\n## [0.0.2] - 2026-01-01\n## v0.0.1\n### 0.0.0\n");
    let directory = repository(&changelog, &["v0.0.1"]);
    let expected = "CHANGELOG.md lists releases without their tags: v0.0.2; fetch them (`git fetch --tags`), whole \
                    (`git fetch --unshallow`)";
    assert_eq!(check(&directory).0, Err(expected.to_owned()));
}

#[test]
fn what_is_no_repository_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = check(&directory).0.unwrap_err();
    assert!(error.contains("not a git repository"), "{error}");
}

#[test]
fn a_host_that_answers_something_else_is_found() {
    let json = serde_json::json!({"resolved": null});
    let error = expect(&json, "/resolved/content/0/text", &"kept".into()).unwrap_err().to_string();
    assert_eq!(error, r#"/resolved/content/0/text is null, and has to be "kept", in {"resolved":null}"#);
}
