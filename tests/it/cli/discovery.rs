//! Where the command finds plugins, and what it says of those that it leaves alone.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost_loader::UnopenedPlugin;
use toolhost_tests::Fixture;

use super::support::{ECHOED, Home, Ran, plugin};

const LIST: &str = "\
NAME    LABEL   DESCRIPTION                                     PLUGIN  VERSION
second  Second  Stages one action without a word of its source  second  0.1.0
";

/// Copies a plugin to this path below the home.
fn put(home: &Home, fixture: Fixture, path: &str) -> PathBuf {
    let path = home.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::copy(plugin(fixture), &path).unwrap();
    path
}

/// The same, with other bytes for each path.
fn put_other(home: &Home, fixture: Fixture, path: &str) -> PathBuf {
    let to = put(home, fixture, path);
    fs::OpenOptions::new().append(true).open(&to).unwrap().write_all(path.as_bytes()).unwrap();
    to
}

fn write(home: &Home, path: &str, content: &str) -> PathBuf {
    let path = home.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// Trusts the plugin at this path, as a person does who has looked at it.
fn trust(home: &Home, path: &Path) {
    let hash = UnopenedPlugin::read(path).unwrap().plugin().fingerprint.clone();
    let ran = home.run(["trust", path.to_str().unwrap(), "--yes", &hash]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
}

const USER_FILE: &str = ".config/toolhost/toolhost.toml";
const USER: &str = ".local/share/toolhost/plugins";
const SYSTEM: &str = "system/toolhost/plugins";
const PROJECT: &str = "work/.toolhost/plugins";

/// Runs the command with plugins in these directories of the environment.
fn with_path(home: &Home, path: &str, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    command.env("TOOLHOST_PLUGIN_PATH", path);
    home.start(command).end()
}

fn paths(list: &Value, key: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|each| each[key].as_str().unwrap().to_owned()).collect()
}

#[test]
fn places_come_in_order() {
    let home = Home::new();
    write(&home, USER_FILE, "directories = ['~/configured']");
    let places = ["named/a.so", "variable/a.so", "work/.toolhost/plugins/a.so", "configured/a.so"];
    let all = places.into_iter().map(str::to_owned).chain([format!("{USER}/a.so"), format!("{SYSTEM}/a.so")]);
    let mut left: Vec<String> = all.collect();
    for path in &left {
        put_other(&home, Fixture::Second, path);
    }
    trust(&home, &home.path(PROJECT).join("a.so"));
    let below_home = |path: &String| format!("{{home}}/{path}");
    while let [first, later @ ..] = left.as_slice() {
        let variable = home.path("variable");
        let named = home.path("named");
        let mut args = vec!["list", "--json"];
        if first == "named/a.so" {
            args.extend(["--plugin", named.to_str().unwrap()]);
        }
        let ran = with_path(&home, variable.to_str().unwrap(), &args);
        let list = ran.json();
        assert_eq!((ran.code(), &*ran.stderr), (0, ""));
        assert_eq!(paths(&list["tools"], "path"), [below_home(first)]);
        assert_eq!(paths(&list["shadowed"], "path"), later.iter().map(below_home).collect::<Vec<_>>());
        assert!(paths(&list["shadowed"], "by").iter().all(|by| *by == below_home(first)));
        fs::remove_file(home.path(first)).unwrap();
        left.remove(0);
    }
}

#[test]
fn the_list_says_what_is_left_alone_and_why() {
    let home = Home::new();
    trust(&home, &put(&home, Fixture::Second, &format!("{PROJECT}/a é.so")));
    put(&home, Fixture::Second, &format!("{PROJECT}/two.so"));
    put_other(&home, Fixture::Second, &format!("{USER}/second.so"));
    put(&home, Fixture::Stage, &format!("{SYSTEM}/stage.so"));
    write(&home, USER_FILE, "\ndisabled = ['stage']");
    let left = "
Shadowed
  second 0.1.0, by its copy: {home}/work/.toolhost/plugins/a é.so comes before {home}/work/.toolhost/plugins/two.so
  second 0.1.0, by 0.1.0: {home}/work/.toolhost/plugins/a é.so comes before {home}/.local/share/toolhost/plugins/second.so

Disabled
  stage 0.1.0, by {home}/.config/toolhost/toolhost.toml:2: {home}/system/toolhost/plugins/stage.so
";
    home.run(["list"]).is(0, &format!("{LIST}{left}"), "");
    let shadowed = |path: &str, is_copy: bool| {
        json!({
            "path": path, "plugin": "second", "version": "0.1.0", "by": "{home}/work/.toolhost/plugins/a é.so",
            "byVersion": "0.1.0", "isCopy": is_copy
        })
    };
    let list = home.run(["list", "--json"]).json();
    let expected = [
        shadowed("{home}/work/.toolhost/plugins/two.so", true),
        shadowed("{home}/.local/share/toolhost/plugins/second.so", false),
    ];
    assert_eq!(list["shadowed"], json!(expected));
    let by = json!({"kind": "file", "path": "{home}/.config/toolhost/toolhost.toml", "line": 2});
    let path = "{home}/system/toolhost/plugins/stage.so";
    assert_eq!(list["disabled"], json!([{"path": path, "plugin": "stage", "version": "0.1.0", "by": by}]));
    assert_eq!(list["errors"], json!([]));
    // It is no part of what a call says.
    home.run(["call", "hidden"]).is(0, "here\n", "");
}

#[test]
fn a_real_file_counts_once() {
    let home = Home::new();
    let file = put(&home, Fixture::Second, &format!("{USER}/a.so"));
    symlink(&file, home.path(USER).join("b.so")).unwrap();
    fs::create_dir_all(home.path("system/toolhost")).unwrap();
    symlink(home.path(USER), home.path(SYSTEM)).unwrap();
    fs::create_dir_all(home.path(PROJECT)).unwrap();
    fs::hard_link(&file, home.path(PROJECT).join("c.so")).unwrap();
    trust(&home, &home.path(PROJECT).join("c.so"));
    let user = home.path(USER);
    with_path(&home, &format!("{0}:{0}", user.display()), &["list"]).is(0, LIST, "");
}

#[test]
fn paths_are_what_a_shell_s_user_expects() {
    let home = Home::new();
    put(&home, Fixture::Second, "my plugins/ä ö.so");
    for path in ["~/my plugins", "nowhere::~/my plugins:", "../my plugins", "~/my plugins/ä ö.so"] {
        with_path(&home, path, &["list"]).is(0, LIST, "");
    }
    for option in ["--plugin=~/my plugins", "--plugin=../my plugins/ä ö.so", "--plugin=~/my plugins/ä ö.so"] {
        home.run(["list", option]).is(0, LIST, "");
    }
    // A name that begins like a home is one where it is there.
    put(&home, Fixture::Stage, "work/~/a.so");
    assert_eq!(home.run(["call", "echo", "text=hi", "--plugin", "~"]).stdout, ECHOED);
    assert_eq!(home.run(["call", "echo", "text=hi", "--plugin", "./~/a.so"]).stdout, ECHOED);
}

#[test]
fn what_is_not_there_is_an_error_only_where_the_command_line_names_it() {
    let home = Home::new();
    put(&home, Fixture::Second, &format!("{USER}/a.so"));
    with_path(&home, "nowhere:/dev/null/x:~/nothing", &["list"]).is(0, LIST, "");
    let fix = "check the path; a plugin's package needs `crate-type = [\"cdylib\"]` to make its file";
    let error = format!("error: {{home}}/nothing: there is no such file or directory\n  fix: {fix}\n");
    home.run(["list", "--plugin", "~/nothing"]).is(2, "", &error);
}

#[test]
fn without_any_plugin_the_places_are_named() {
    let home = Home::new();
    fs::create_dir_all(home.path(USER)).unwrap();
    fs::create_dir_all(home.path("work/.toolhost")).unwrap();
    let message = "there is no plugin in any of these places:
{home}/work/extra (environment (TOOLHOST_PLUGIN_PATH)), which is not there
{home}/work/.toolhost/plugins (the project), which is not there
{home}/.local/share/toolhost/plugins (the user)
{home}/system/toolhost/plugins (the system), which is not there";
    let fix = "install one with `toolhost install FILE`, or name it with --plugin PATH";
    let shown = message.replace('\n', "\n    ");
    for args in [&["list"][..], &["show", "echo"], &["call", "echo"]] {
        with_path(&home, "extra", args).is(2, "", &format!("error: {shown}\n  fix: {fix}\n"));
        let json = json!({"error": {"code": "no-plugin", "message": message, "fix": fix}});
        with_path(&home, "extra", &[args, &["--json"]].concat()).is_json(2, &json, "");
    }
    // One that is there and is no plugin is the reason that is given.
    home.file("bad.so", "not ELF\n");
    let ran = with_path(&home, ".", &["list"]);
    assert!(ran.stderr.contains("bad.so: it is a text file, not a shared library (TH0201)"), "{}", ran.stderr);
}

#[test]
fn only_what_is_named_is_there_where_it_is_said_so() {
    let home = Home::new();
    put(&home, Fixture::Stage, &format!("{USER}/stage.so"));
    put(&home, Fixture::Asks, "variable/asks.so");
    let second = plugin(Fixture::Second);
    let args = ["list", "--no-discovery", "--plugin", second.to_str().unwrap()];
    with_path(&home, "~/variable", &args).is(0, LIST, "");
}

#[test]
fn a_disabled_plugin_is_never_opened() {
    let home = Home::new();
    let constructor = put(&home, Fixture::Constructor, &format!("{USER}/a.so"));
    put(&home, Fixture::Second, &format!("{USER}/b.so"));
    let file = write(&home, "work/.toolhost/toolhost.toml", "disabled = ['constructor']");
    // Its constructor leaves a file beside the copy that is opened.
    let opened = || {
        let copies = fs::read_dir(home.path("cache/toolhost/plugins")).unwrap().map(|entry| entry.unwrap().path());
        copies.filter(|path| path.is_dir()).any(|directory| directory.join("a.so.opened").exists())
    };
    let shown = format!(
        "{LIST}\nDisabled\n  constructor 0.1.0, by {{home}}/work/.toolhost/toolhost.toml:1: {{home}}/{USER}/a.so\n"
    );
    for _ in 0..2 {
        home.run(["list"]).is(0, &shown, "");
    }
    let ran = home.run(["call", "opened", "--plugin", constructor.to_str().unwrap()]);
    assert_eq!(ran.stderr.lines().next(), Some("error: no tool is named `opened`"));
    assert!(!opened());

    // Alone it is the reason why there is none.
    fs::remove_file(home.path(USER).join("b.so")).unwrap();
    let error = "error: every plugin that was found is disabled, such as `constructor` by \
                 {home}/work/.toolhost/toolhost.toml:1\n  fix: take it off `disabled`, which `toolhost config` shows\n";
    home.run(["list"]).is(2, "", error);
    assert!(!opened());

    fs::remove_file(file).unwrap();
    home.run(["call", "opened"]).is(0, "opened\n", "");
    assert!(opened());
}

#[test]
fn the_project_is_the_nearest_one_below_the_home() {
    let home = Home::new();
    put(&home, Fixture::Stage, ".toolhost/plugins/stage.so");
    trust(&home, &put(&home, Fixture::Second, &format!("{PROJECT}/second.so")));
    fs::create_dir_all(home.work("deep/down")).unwrap();
    let list_in = |directory: &Path| {
        let mut command = home.command(["list"]);
        command.current_dir(directory);
        home.start(command).end()
    };
    list_in(&home.work("deep/down")).is(0, LIST, "");
    // The home's own is no project's.
    assert_eq!(list_in(&home.path("")).code(), 2);
}

#[test]
fn a_project_s_plugin_that_is_not_trusted_is_said_to_be_and_shadows_nothing() {
    let home = Home::new();
    let theirs = put_other(&home, Fixture::Second, &format!("{PROJECT}/second.so"));
    put(&home, Fixture::Second, &format!("{USER}/mine.so"));
    let ran = home.run(["list"]);
    assert_eq!((ran.code(), &*ran.stdout), (0, LIST));
    let warning = ran.masked(&ran.stderr);
    let begin = "warning: {home}/work/.toolhost/plugins/second.so: `second` 0.1.0 is not trusted; ";
    assert!(warning.starts_with(begin) && warning.ends_with("(TH0301)\n"), "{warning}");
    let list = home.run(["list", "--json"]).json();
    assert_eq!(list["tools"][0]["path"], "{home}/.local/share/toolhost/plugins/mine.so");
    assert_eq!((&list["errors"][0]["code"], &list["shadowed"]), (&json!("TH0301"), &json!([])));
    // Once it is, it comes first.
    trust(&home, &theirs);
    let list = home.run(["list", "--json"]).json();
    assert_eq!(list["tools"][0]["path"], "{home}/work/.toolhost/plugins/second.so");
    assert_eq!((&list["errors"], list["shadowed"].as_array().unwrap().len()), (&json!([]), 1));
}

#[test]
fn a_project_of_another_user_is_not_used() {
    let home = Home::new();
    put(&home, Fixture::Stage, &format!("{PROJECT}/stage.so"));
    put(&home, Fixture::Second, &format!("{USER}/second.so"));
    // Only root can give it away.
    if std::os::unix::fs::chown(home.work(".toolhost"), Some(12_345), None).is_ok() {
        let warning = "warning: {home}/work/.toolhost belongs to user 12345, neither to this user nor to root, and is not \
                       used\n";
        home.run(["list"]).is(0, LIST, warning);
    }
}
