//! `inspect`.

use std::fs;

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, plugin};

/// The exit code and standard output of a run that says nothing on standard error.
fn said(home: &Home, args: &[&str]) -> (i32, String) {
    let ran = home.run(args);
    assert_eq!(ran.stderr, "");
    (ran.code(), ran.stdout)
}

/// The lines before the verdict, by what they begin with.
fn fact<'a>(stdout: &'a str, name: &str) -> &'a str {
    let line = stdout.lines().find(|line| line.split("  ").next() == Some(name));
    line.unwrap_or_else(|| panic!("no {name} in {stdout}"))[name.len()..].trim_start()
}

fn verdict(stdout: &str) -> &str {
    stdout.trim_end().rsplit("\n\n").next().unwrap()
}

#[test]
fn a_plugin_is_told_in_facts_and_a_verdict() {
    let path = plugin(Fixture::Second);
    let (code, stdout) = said(&Home::new(), &["inspect", path.to_str().unwrap()]);
    assert_eq!((code, verdict(&stdout)), (0, "It can be loaded."));
    let size = format!("{} bytes", fs::metadata(&path).unwrap().len());
    let facts = [
        ("file", path.to_str().unwrap()),
        ("kind", "ELF, 64-bit"),
        ("size", &size),
        ("system", "Linux"),
        ("machine", std::env::consts::ARCH),
        ("plugin", "second 0.1.0"),
        ("interface", "abi_stable 1.0.0 (this host has abi_stable 1.0.0)"),
        ("panic", "unwind"),
        ("entry", "exported"),
        ("static TLS", "not wanted"),
    ];
    for (name, value) in facts {
        assert_eq!(fact(&stdout, name), value);
    }
    assert!(fact(&stdout, "libc").starts_with("glibc, at least 2."), "{stdout}");
    assert!(stdout.contains("libc.so.6: /"), "{stdout}");
}

#[test]
fn a_program_gets_one_object() {
    let path = plugin(Fixture::Second);
    let (code, stdout) = said(&Home::new(), &["inspect", "--json", path.to_str().unwrap()]);
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(code, 0);
    let known = json!({
        "path": path, "kind": "ELF, 64-bit", "system": "Linux", "libc": "gnu", "loadable": true, "error": null,
        "exportsEntry": true, "staticTls": false, "size": fs::metadata(&path).unwrap().len()
    });
    for (key, value) in known.as_object().unwrap() {
        assert_eq!(&object[key], value, "{key}");
    }
    assert_eq!(object["plugin"]["name"], "second");
    assert_eq!(object["sha256"], object["fingerprint"]);
    assert_eq!(object["host"]["abiVersion"], object["plugin"]["abiVersion"]);
    let libc = object["needed"].as_array().unwrap().iter().find(|library| library["name"] == "libc.so.6").unwrap();
    assert_eq!((&libc["status"], &libc["neededBy"][0]), (&json!("found"), &json!(path)));
}

#[test]
fn what_cannot_be_loaded_says_why_and_shows_what_is_known() {
    let home = Home::new();
    let path = plugin(Fixture::NoPlugin);
    let (code, stdout) = said(&home, &["inspect", path.to_str().unwrap()]);
    let sentence = "It cannot be loaded: it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note; \
                export the plugin with `export_plugin!` of toolhost-plugin-sdk (TH0204).";
    assert_eq!((code, verdict(&stdout)), (1, sentence));
    assert_eq!(fact(&stdout, "machine"), std::env::consts::ARCH);

    let object = json!({
        "code": "TH0204", "stage": "inspect", "path": path, "evidence": [], "cause": "it is a shared library, but no toolhost plugin: it has no \
        `.note.toolhost` note", "fix": "export the plugin with `export_plugin!` of toolhost-plugin-sdk"
    });
    let (code, stdout) = said(&home, &["inspect", "--json", path.to_str().unwrap()]);
    let json: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &json["loadable"], &json["error"]), (1, &json!(false), &object));

    home.file("x.so", "hello");
    let library = "name the shared library that building the plugin makes (TH0201).";
    let text = format!(
        "\
file  x.so
kind  a text file
size  5 bytes

It cannot be loaded: it is a text file, not a shared library; {library}
"
    );
    home.run(["inspect", "x.so"]).is(1, &text, "");
    fs::create_dir(home.work("d.so")).unwrap();
    let text = format!(
        "\
file  d.so
kind  a directory

It cannot be loaded: it is a directory, not a shared library; {library}
"
    );
    home.run(["inspect", "d.so"]).is(1, &text, "");
}

#[test]
fn a_library_that_is_missing_is_named() {
    let home = Home::new();
    let path = home.work("sibling.so");
    fs::copy(plugin(Fixture::Sibling), &path).unwrap();
    let (code, stdout) = said(&home, &["inspect", "sibling.so"]);
    let sentence = "It cannot be loaded: it needs libtoolhost_dep.so, which cannot be found; install that library, or put \
                it beside the plugin and link with `-rpath,$ORIGIN` (TH0210).";
    assert_eq!((code, verdict(&stdout)), (1, sentence));
    assert_eq!(fact(&stdout, "needs"), "libtoolhost_dep.so: MISSING");
}

#[test]
fn a_file_that_is_not_there_is_wrong_usage() {
    let fix = "check the path; a plugin's package needs `crate-type = [\"cdylib\"]` to make its file";
    let home = Home::new();
    let error = format!("error: nowhere.so: there is no such file or directory\n  fix: {fix}\n");
    home.run(["inspect", "nowhere.so"]).is(2, "", &error);
    let (code, stdout) = said(&home, &["inspect", "--json", "nowhere.so"]);
    let object: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &object["loadable"], &object["error"]["code"]), (2, &json!(false), &json!("TH0101")));
}

#[test]
fn a_files_text_steers_no_terminal() {
    let home = Home::new();
    home.file("a\u{1b}[2J\n.so", "");
    let (_, stdout) = said(&home, &["inspect", "a\u{1b}[2J\n.so"]);
    assert_eq!(fact(&stdout, "file"), "a\\u{1b}[2J\\n.so");
}
