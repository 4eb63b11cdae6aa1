//! Plugins that cannot be loaded, and where copies of plugins are kept.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use toolhost_tests::Fixture;

use super::support::{ECHOED, Home, plugin, stage as call_stage};

const NO_PLUGIN: &str = "it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note";
const EXPORT: &str = "export the plugin with `export_plugin!` of toolhost-plugin-sdk";
const GONE: &str = "there is no such file or directory";
const BUILD: &str = "check the path; a plugin's package needs `crate-type = [\"cdylib\"]` to make its file";
const CACHE: &str =
    "make it a directory of this user alone, or choose another with --cache-dir (`HostBuilder::cache_dir`)";

/// The plugin's name in this directory.
fn file_name(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}

/// Runs `echo` as it is and with `--json`: the same code, message and fix.
#[track_caller]
fn refused(home: &Home, plugin: &Path, options: &[&str], code: &str, message: &str, fix: &str) {
    home.echo(plugin, options).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
    let json = json!({"error": {"code": code, "message": message, "fix": fix}});
    home.echo(plugin, &[options, &["--json"]].concat()).is_json(2, &json, "");
}

#[test]
fn a_path_that_is_named_has_to_be_there() {
    let home = Home::new();
    let message = format!("{{home}}/work/nowhere.so: {GONE}");
    refused(&home, Path::new("nowhere.so"), &[], "plugin-not-found", &message, BUILD);
    symlink("nowhere.so", home.work("link.so")).unwrap();
    let message = format!("{{home}}/work/link.so: {GONE}");
    refused(&home, Path::new("link.so"), &[], "plugin-not-found", &message, BUILD);
    // Below a file there is nothing either.
    home.file("file", "");
    let message = format!("{{home}}/work/file/x.so: {GONE}");
    refused(&home, Path::new("file/x.so"), &[], "plugin-not-found", &message, BUILD);
    let message = format!("{{home}}/work/link.so: {GONE}");
    // Also where another one is there.
    let stage = plugin(Fixture::Stage);
    refused(&home, &stage, &["--plugin", "link.so"], "plugin-not-found", &message, BUILD);
}

#[test]
fn without_a_tool_nothing_runs() {
    let home = Home::new();
    let bad = plugin(Fixture::NoPlugin);
    let message = format!("no tool is loaded: {}: {NO_PLUGIN} (TH0204)", bad.display());
    refused(&home, &bad, &[], "no-tools", &message, EXPORT);
    fs::create_dir(home.work("none")).unwrap();
    let extension = std::env::consts::DLL_SUFFIX;
    let message = format!("no tool is loaded: {{home}}/work/none: the directory holds no `{extension}` file (TH0103)");
    let fix = "name the plugin's file, or its directory; its package needs `crate-type = [\"cdylib\"]` to make one";
    refused(&home, Path::new("none"), &[], "no-tools", &message, fix);
}

#[test]
fn without_a_tool_for_several_reasons_each_is_said_first() {
    let bad = plugin(Fixture::NoPlugin);
    let home = Home::new();
    let text = home.file("text.so", "not ELF\n");
    let warnings = format!(
        "warning: {}: {NO_PLUGIN}; {EXPORT} (TH0204)\nwarning: {{home}}/work/text.so: it is a text file, not a \
         shared library; name the shared library that building the plugin makes (TH0201)\n",
        bad.display()
    );
    let message = "no tool is loaded, for the 2 reasons above";
    let text = text.to_str().unwrap();
    home.echo(&bad, &["--plugin", text]).is(2, "", &format!("{warnings}error: {message}\n  fix: {EXPORT}\n"));
    let json = json!({"error": {"code": "no-tools", "message": message, "fix": EXPORT}});
    home.echo(&bad, &["--plugin", text, "--json"]).is_json(2, &json, &warnings);
}

#[test]
fn bad_plugins_beside_a_good_one_are_a_line_each() {
    let home = Home::new();
    let names = ["no_plugin", "stage", "dangling"].map(file_name);
    fs::copy(plugin(Fixture::NoPlugin), home.work(&names[0])).unwrap();
    fs::copy(plugin(Fixture::Stage), home.work(&names[1])).unwrap();
    symlink("nowhere", home.work(&names[2])).unwrap();
    home.file("readme.txt", "no plugin, and nobody says so");
    let stderr = format!(
        "warning: {{home}}/work/{}: {GONE}; {BUILD} (TH0101)\nwarning: {{home}}/work/{}: {NO_PLUGIN}; {EXPORT} \
         (TH0204)\n",
        names[2], names[0]
    );
    home.echo(&home.path("work"), &[]).is(0, ECHOED, &stderr);
    let ran = home.echo(&home.path("work"), &["--json"]);
    assert_eq!((ran.code(), ran.masked(&ran.stderr)), (0, stderr));
    assert_eq!(ran.json()["result"]["content"][0]["text"], ECHOED.trim_end());
}

#[test]
fn tools_that_are_refused_beside_good_ones_are_a_line_each() {
    let names = plugin(Fixture::Names);
    let named = |number: u32, why: &str| {
        format!(
            "warning: {}: tool number {number} of `names` was left out: {why}; change the tool, or ask the plugin's \
             author to (TH0801)\n",
            names.display()
        )
    };
    let stderr = [
        named(1, "the tool name `resolve` is reserved for the host"),
        named(2, "the tool name \"not a name\" is not allowed: use 1 to 64 of a-z, A-Z, 0-9, `_` and `-`"),
        named(3, "the tool name `echo` is taken by stage 0.1.0"),
        named(4, "the parameters of tool `text` have no usable schema: its type has to be `object`"),
    ];
    let ran = Home::new().echo(&plugin(Fixture::Stage), &["--plugin", names.to_str().unwrap()]);
    ran.is(0, ECHOED, &stderr.concat());
}

#[test]
fn the_name_of_a_file_can_neither_steer_the_terminal_nor_fake_a_line() {
    let home = Home::new();
    let (hostile, shown) = ("a\u{1b}[2J\nerror: b", r"a\u{1b}[2J\nerror: b");
    let hostile = file_name(hostile);
    home.file(&hostile, "not ELF\n");
    let why = "it is a text file, not a shared library";
    let fix = "name the shared library that building the plugin makes";
    let path = format!("{{home}}/work/{}", file_name(shown));
    home.echo(&plugin(Fixture::Stage), &["--plugin", "."]).is(
        0,
        ECHOED,
        &format!("warning: {path}: {why}; {fix} (TH0201)\n"),
    );
    let stderr = format!("error: no tool is loaded: {path}: {why} (TH0201)\n  fix: {fix}\n");
    home.echo(Path::new("."), &[]).is(2, "", &stderr);
    fs::copy(plugin(Fixture::Stage), home.work(&hostile)).unwrap();
    let ran = home.run(["show", "echo", "--plugin", "."]);
    let from = format!("from plugin stage 0.1.0 ({path})");
    assert_eq!(ran.masked(ran.stdout.lines().nth(1).unwrap()), from);
    home.run(["call", "e\u{1b}[2J", "--plugin", "."]).is(
        2,
        "",
        "error: no tool is named `e\\u{1b}[2J`\n  fix: `toolhost list` with the same --plugin shows every tool\n",
    );
}

#[test]
fn copies_of_plugins_are_kept_where_they_are_told() {
    let (home, stage) = (Home::new(), plugin(Fixture::Stage));
    home.echo(&stage, &["--cache-dir", "copies é"]).is(0, ECHOED, "");
    assert_eq!(home.names(), ["copies é"]);
    assert!(!home.path("cache").exists());
    let mut command = home.command(call_stage(&json!([]), &[]));
    command.env("TOOLHOST_CACHE_DIR", home.work("by variable"));
    home.start(command).end().is(0, "staged\n", "");
    assert_eq!(home.names(), ["by variable", "copies é"]);
    home.echo(&stage, &[]).is(0, ECHOED, "");
    let entries = fs::read_dir(home.path("cache/toolhost/plugins")).unwrap();
    assert_eq!(entries.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), 1);
    let mode = fs::metadata(home.path("cache/toolhost/plugins")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_cache_that_cannot_be_made_leaves_no_tool() {
    let home = Home::new();
    let message = "no tool is loaded: {stage}: no verified copy of it could be made in /dev/null/x: Not a directory \
                   (os error 20) (TH0401)";
    refused(&home, &plugin(Fixture::Stage), &["--cache-dir", "/dev/null/x"], "no-tools", message, CACHE);
}

#[test]
fn a_read_only_cache_still_serves_what_it_has() {
    let (home, stage) = (Home::new(), plugin(Fixture::Stage));
    home.echo(&stage, &["--cache-dir", "copies"]).is(0, ECHOED, "");
    let mode = |mode: u32| fs::set_permissions(home.work("copies"), Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    home.echo(&stage, &["--cache-dir", "copies"]).is(0, ECHOED, "");
    // To root nothing is read-only.
    if !rustix::process::geteuid().is_root() {
        let message = format!(
            "no tool is loaded: {}: no verified copy of it could be made in copies: Permission denied (os error 13) \
             (TH0401)",
            plugin(Fixture::Second).display()
        );
        refused(&home, &plugin(Fixture::Second), &["--cache-dir", "copies"], "no-tools", &message, CACHE);
    }
    mode(0o700);
}

#[test]
fn what_ends_its_process_is_a_line_beside_the_others() {
    let (stillborn, second) = (plugin(Fixture::Stillborn), plugin(Fixture::Second));
    let home = Home::new();
    let ran = home.run(["list", "--plugin", stillborn.to_str().unwrap(), "--plugin", second.to_str().unwrap()]);
    let warning = format!(
        "warning: {}: `stillborn` was opened in a process of its own, and that crashed (SIGABRT); ask the plugin's \
         author; it would have ended this host in the same way (TH0502)\n",
        stillborn.display()
    );
    assert_eq!((ran.code(), &*ran.stderr), (0, &*warning));
    assert!(ran.stdout.contains("\nsecond  Second "), "{}", ran.stdout);
}
