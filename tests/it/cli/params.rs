//! Parameters from JSON, files, standard input and `key=value`, and the directory to work in.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};
use toolhost_tests::{Artifact, Fixture};

use super::support::{ECHOED, Home, Ran, plugin};
use crate::support::ARTIFACTS;

fn echo_args<'a>(plugin: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [&["call", "echo", "--plugin", plugin], args].concat()
}

#[test]
fn values_take_the_type_of_their_parameter() {
    let (home, plugin) = (Home::new(), plugin(Fixture::Stage));
    let echo = |args: &[&str]| home.run(echo_args(plugin.to_str().unwrap(), args));
    echo(&["text=5", "digit=5"]).is(0, "{\"text\":\"5\",\"digit\":5}\n", "");
    echo(&["text=a=b c"]).is(0, "{\"text\":\"a=b c\",\"digit\":null}\n", "");
    echo(&["text=true", "digit=null"]).is(0, "{\"text\":\"true\",\"digit\":null}\n", "");
}

#[test]
fn lists_repeat_their_key_and_nested_ones_have_dots() {
    let home = Home::new();
    for name in ["a b.txt", "é.txt"] {
        home.file(name, "");
    }
    let plugin = ARTIFACTS.path(Artifact::BatchRename);
    let args = ["call", "batch_rename_preview", "--plugin", plugin.to_str().unwrap()];
    let ran =
        home.run(args.iter().chain(&["files=a b.txt", "files=é.txt", "number.start=7", "number.position=before"]));
    ran.is(
        0,
        "2 files to rename:\na b.txt -> 7-a b.txt\né.txt -> 8-é.txt\nNothing is renamed yet.\nPending: Batch rename: \
         2 files (batch_rename_preview)\nPreview hash: {hash}\n",
        "Discarded, since the session ended without a decision: Batch rename: 2 files (batch_rename_preview)\nTo \
         apply, run the command again with --apply REASON, and --expect HASH for this preview.\n",
    );
}

#[test]
fn parameters_come_from_json_a_file_or_standard_input() {
    let (home, plugin) = (Home::new(), plugin(Fixture::Stage));
    let plugin = plugin.to_str().unwrap();
    let params = "\u{feff}{\"text\": \"hi\"}\n";
    home.file("my é params.json", params);
    home.run(echo_args(plugin, &["--params", "{\"text\":\"hi\"}"])).is(0, ECHOED, "");
    home.run(echo_args(plugin, &["--params", "@my é params.json"])).is(0, ECHOED, "");
    let mut command = home.command(echo_args(plugin, &["--params", "-"]));
    let (reader, mut writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::from(reader));
    let running = home.start(command);
    writer.write_all(params.as_bytes()).unwrap();
    drop(writer);
    running.end().is(0, ECHOED, "");
}

#[test]
fn a_tool_works_in_the_directory_that_is_named() {
    let (home, plugin) = (Home::new(), plugin(Fixture::Stage));
    fs::create_dir(home.work("a ü 東")).unwrap();
    let cwd = |ran: Ran| -> Value { ran.json()["result"]["details"]["cwd"].take() };
    assert_eq!(cwd(home.echo(&plugin, &["--json", "--cwd", "a ü 東"])), json!("{home}/work/a ü 東"));
    assert_eq!(cwd(home.echo(&plugin, &["--json"])), json!("{home}/work"));
    let rename = ARTIFACTS.path(Artifact::BatchRename);
    home.file("a ü 東/x.txt", "");
    let params = json!({"files": ["x.txt"], "find": "^x", "replace": "y"});
    let ran = home.call(&rename, "batch_rename_preview", &params, &["--cwd", "a ü 東", "--apply", "why", "--json"]);
    assert_eq!(ran.code(), 0);
    assert!(home.work("a ü 東/y.txt").exists());
}
