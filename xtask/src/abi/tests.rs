use std::fs;

use tempfile::TempDir;

use super::*;

const HOST: &str = "//! The host.\n\npub trait Host {\n    fn log(&self, level: u8);\n}\n";

/// A package with an interface of one file, without copies.
fn package(version: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir_all(directory.path().join(OBJECTS)).unwrap();
    fs::create_dir_all(directory.path().join("frozen")).unwrap();
    fs::write(directory.path().join("frozen/SHA256SUMS"), "").unwrap();
    fs::write(directory.path().join("src/lib.rs"), "").unwrap();
    write(&directory, HOST);
    state(&directory, version);
    directory
}

/// The same, with a copy of its version.
fn frozen_package(version: &str) -> TempDir {
    let directory = package(version);
    freeze(&mut Vec::new(), directory.path()).unwrap();
    directory
}

fn state(directory: &TempDir, version: &str) {
    let manifest =
        format!("[package]\nname = \"toolhost-abi\"\nversion = {version:?}\nedition = \"2024\"\n[workspace]\n");
    fs::write(directory.path().join("Cargo.toml"), manifest).unwrap();
}

fn write(directory: &TempDir, host: &str) {
    fs::write(directory.path().join(OBJECTS).join("host.rs"), host).unwrap();
}

fn checked(directory: &TempDir) -> Result<String, String> {
    let mut out = Vec::new();
    check(&mut out, directory.path()).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

fn froze(directory: &TempDir) -> Result<String, String> {
    let mut out = Vec::new();
    freeze(&mut out, directory.path()).map_err(|error| format!("{error:#}"))?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn what_was_frozen_passes_until_it_means_something_else() {
    let directory = frozen_package("1.0.0");
    let passed = "The interface is what was frozen as version 1.0.0; frozen copies, unchanged: 1.0.0.\n";
    assert_eq!(checked(&directory).unwrap(), passed);
    write(
        &directory,
        &HOST.replace("//! The host.", "//! What a plugin may ask.").replace("(&self, level", "(\n&self, level"),
    );
    assert_eq!(checked(&directory).unwrap(), passed);

    write(&directory, &HOST.replace("u8", "u16"));
    let error = checked(&directory).unwrap_err();
    let expected = format!(
        "the interface is not what was frozen as version 1.0.0:\nhost.rs\n  now     `u16` in line 4: fn log(&self, \
         level: u16);\n  frozen  `u8` in line 4: fn log(&self, level: u8);\n\nPlugins out there were built for that \
         version. Undo the change; or, where the interface is to grow, append to its end, raise the minor version in \
         {} and run `cargo xtask abi-freeze`. docs/abi.md says what may grow, and how.",
        directory.path().join("Cargo.toml").display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_file_more_or_less_is_a_change() {
    let directory = frozen_package("1.0.0");
    let more = directory.path().join(OBJECTS).join("more.rs");
    fs::write(&more, "").unwrap();
    assert!(checked(&directory).unwrap_err().contains("more.rs\n  the frozen copy has no such file\n"));
    fs::rename(more, directory.path().join(OBJECTS).join("host.rs~")).unwrap();
    checked(&directory).unwrap();
    fs::remove_file(directory.path().join(OBJECTS).join("host.rs")).unwrap();
    assert!(checked(&directory).unwrap_err().contains("host.rs\n  the frozen copy alone has this file\n"));
}

#[test]
fn a_change_with_a_new_version_is_frozen_beside_the_old_one() {
    let directory = frozen_package("1.0.0");
    write(&directory, &HOST.replace("}\n", "    fn clock(&self) -> u64 {\n        0\n    }\n}\n"));
    state(&directory, "1.1.0");
    let error = checked(&directory).unwrap_err();
    let expected =
        "the interface's version 1.1.0 is not frozen; run `cargo xtask abi-freeze`, and commit what it writes";
    assert_eq!(error, expected);

    let printed = froze(&directory).unwrap();
    assert!(printed.contains("toolhost-abi-1-1-0.path = \"../plugin-sdk/abi/frozen/1.1.0\"\n"), "{printed}");
    assert!(printed.contains("(\"1.1.0\", root::<toolhost_abi_1_1_0::root::PluginRootRef>()),\n"), "{printed}");
    let passed = "The interface is what was frozen as version 1.1.0; frozen copies, unchanged: 1.0.0, 1.1.0.\n";
    assert_eq!(checked(&directory).unwrap(), passed);
    assert_eq!(fs::read_to_string(directory.path().join("frozen/1.0.0/src/objects/host.rs")).unwrap(), HOST);
    // Nothing else is left in the package.
    let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["Cargo.toml", "frozen", "src"]);
}

#[test]
fn a_version_is_frozen_once() {
    let directory = frozen_package("1.0.0");
    assert_eq!(froze(&directory).unwrap(), "Version 1.0.0 is frozen already, with this text.\n");
    write(&directory, &HOST.replace("u8", "u16"));
    let error = froze(&directory).unwrap_err();
    assert!(error.starts_with("version 1.0.0 is frozen already, with another text:\nhost.rs\n"), "{error}");
    assert!(error.ends_with("Cargo.toml first."), "{error}");
}

#[test]
fn a_version_goes_forward_within_its_major_version() {
    let directory = frozen_package("1.10.0");
    state(&directory, "1.9.0");
    let newer = "and 1.10.0 is frozen already; a version never goes back";
    assert!(checked(&directory).unwrap_err().contains(newer), "{:?}", checked(&directory));
    let older = "version 1.9.0 is older than 1.10.0, which is frozen; a version never goes back";
    assert_eq!(froze(&directory).unwrap_err(), older);
    state(&directory, "2.0.0");
    let error = froze(&directory).unwrap_err();
    assert!(error.starts_with("version 2.0.0 has another major version than 1.10.0"), "{error}");
    state(&directory, "1.10.1");
    froze(&directory).unwrap();
    checked(&directory).unwrap();
}

#[test]
fn a_cargo_feature_is_refused() {
    let directory = frozen_package("1.0.0");
    let manifest = directory.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, format!("{text}[features]\nsmall = []\n")).unwrap();
    let expected = format!(
        "the interface has cargo features (small), and a feature changes layouts under an equal version; remove them, \
         and `optional` from the dependencies, in {}",
        manifest.display()
    );
    assert_eq!(checked(&directory).unwrap_err(), expected);
    assert_eq!(froze(&directory).unwrap_err(), expected);
}

#[test]
fn a_freeze_that_fails_leaves_nothing_behind() {
    let directory = frozen_package("1.0.0");
    write(&directory, &HOST.replace("}\n", "    fn clock(&self) -> u64 {\n        0\n    }\n}\n"));
    state(&directory, "1.1.0");
    // A text that cannot be copied: it leads nowhere.
    let broken = directory.path().join(OBJECTS).join("tool.rs");
    std::os::unix::fs::symlink("nowhere.rs", &broken).unwrap();
    assert!(froze(&directory).unwrap_err().starts_with("could not write "), "{:?}", froze(&directory));
    fs::remove_file(broken).unwrap();
    assert!(checked(&directory).unwrap_err().starts_with("the interface's version 1.1.0 is not frozen"));
    froze(&directory).unwrap();
    checked(&directory).unwrap();
}

#[test]
fn a_copy_that_was_edited_is_found() {
    let edits: [(&str, Option<&str>, &str); 3] = [
        ("1.0.0/src/objects/host.rs", Some("// Nothing that counts."), "1.0.0/src/objects/host.rs was edited"),
        ("1.0.0/src/objects/more.rs", Some(""), "1.0.0/src/objects/more.rs is not in the list"),
        ("1.0.0/build.rs", None, "1.0.0/build.rs is gone"),
    ];
    for (name, text, problem) in edits {
        let directory = frozen_package("1.0.0");
        let path = directory.path().join("frozen").join(name);
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let expected = format!(
            "the frozen copies are not what {} says:\n  {problem}\nA frozen copy is what plugins were built against, and \
             never changes. Restore it from the history; the next version gets a copy of its own, by `cargo xtask \
             abi-freeze`.",
            directory.path().join("frozen/SHA256SUMS").display()
        );
        assert_eq!(checked(&directory).unwrap_err(), expected);
        assert_eq!(froze(&directory).unwrap_err(), expected);
    }
}

/// The copies that are checked in are those that freezing writes, as far as they have the text of today.
#[test]
fn freezing_writes_what_is_checked_in() {
    let version = version(&super::directory()).unwrap();
    let checked_in = super::directory().join("frozen").join(version.to_string());
    let directory = package(&version.to_string());
    freeze(&mut Vec::new(), directory.path()).unwrap();
    for name in ["Cargo.toml", "build.rs", "src/lib.rs"] {
        let written = fs::read_to_string(directory.path().join("frozen").join(version.to_string()).join(name)).unwrap();
        assert_eq!(written, fs::read_to_string(checked_in.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn the_interface_of_this_workspace_is_as_it_was_frozen() {
    check(&mut Vec::new(), &super::directory()).unwrap();
}
