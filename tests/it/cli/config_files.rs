//! `toolhost.toml`, and `toolhost config`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, Ran, ask, plugin};
use crate::support::make_pipe;

const USER: &str = ".config/toolhost/toolhost.toml";
const PROJECT: &str = "work/.toolhost/toolhost.toml";

fn write(home: &Home, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = home.path(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

/// What the plugin that asks finds with these options.
fn settings(home: &Home, options: &[&str]) -> Ran {
    home.run(ask(&json!({"steps": ["settings"]}), options))
}

/// Every command that needs settings says the same of wrong ones.
#[track_caller]
fn refused(home: &Home, options: &[&str], message: &str, fix: &str) {
    let error = format!("error: {message}\n  fix: {fix}\n");
    settings(home, options).is(2, "", &error);
    home.run([&["config"], options].concat()).is(2, "", &error);
    home.run([&["list"], options].concat()).is(2, "", &error);
    let json = json!({"error": {"code": "config", "message": message, "fix": fix}});
    home.run([&["config", "--json"], options].concat()).is_json(2, &json, "");
    // One that needs none goes on.
    assert_eq!(home.run(["journal"]).code(), 0);
}

#[test]
fn a_plugin_gets_its_settings_the_nearer_over_the_farther() {
    let home = Home::new();
    write(&home, USER, "\u{feff}[plugins.asks]\ngreeting = 'user'\nretries = 1\n[plugins.not-there]\na = 1");
    settings(&home, &[]).is(0, "[{\"greeting\":\"user\",\"retries\":1}]\n", "");
    write(&home, PROJECT, "plugins.asks.retries = 2");
    settings(&home, &[]).is(0, "[{\"greeting\":\"user\",\"retries\":2}]\n", "");
    settings(&home, &["--config", "asks={\"retries\":3}"]).is(0, "[{\"greeting\":\"user\",\"retries\":3}]\n", "");
    // What is no object stands for all of it.
    let ran = settings(&home, &["--config", "asks=7"]);
    assert!(ran.stderr.contains("the plugin's settings: invalid type: integer `7`"), "{}", ran.stderr);
}

#[test]
fn another_file_may_stand_for_the_user_s() {
    let home = Home::new();
    write(&home, USER, "this would be an error");
    let other = write(&home, "other é.toml", "plugins.asks.retries = 4");
    let options = ["--config-file", other.to_str().unwrap()];
    settings(&home, &options).is(0, "[{\"greeting\":\"\",\"retries\":4}]\n", "");
    settings(&home, &["--config-file", "~/other é.toml"]).is(0, "[{\"greeting\":\"\",\"retries\":4}]\n", "");
    settings(&home, &["--config-file", "/dev/null"]).is(0, "[{\"greeting\":\"\",\"retries\":0}]\n", "");
    let message = "{home}/work/nowhere.toml cannot be read: No such file or directory (os error 2)";
    refused(&home, &["--config-file", "nowhere.toml"], message, "name a file of settings that can be read");
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_right_one() {
    let home = Home::new();
    write(&home, USER, "disabled = []\n[limits]\n  factory_seconds = 3\n");
    let message = "{home}/.config/toolhost/toolhost.toml:3:3: there is no key `factory_seconds` under `[limits]`";
    refused(&home, &[], message, "write `factory-seconds`");
    // A key can neither steer the terminal nor fake a line.
    write(&home, USER, "\"a\\u001b[2J\\nerror: b\" = 1");
    let fix = "use one of `directories`, `disabled`, `limits`, `plugins`, or remove it";
    let ran = home.run(["config"]);
    let error = "error: {home}/.config/toolhost/toolhost.toml:1:1: there is no key `a\\u{1b}[2J\n    error: b`\n";
    ran.is(2, "", &format!("{error}  fix: {fix}\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let home = Home::new();
    let file = write(&home, USER, b"disabled = ['\xff']");
    let shown = "{home}/.config/toolhost/toolhost.toml";
    refused(&home, &[], &format!("{shown} cannot be read: it is no UTF-8 text, at byte 13"), "mend or remove it");
    fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    refused(&home, &[], &format!("{shown} cannot be read: it has more than 1048576 bytes"), "mend or remove it");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&home, &[], &format!("{shown} cannot be read: Is a directory (os error 21)"), "mend or remove it");
    fs::remove_dir(&file).unwrap();
    // Nobody waits for a pipe that nobody writes to.
    make_pipe(&file);
    settings(&home, &[]).is(0, "[{\"greeting\":\"\",\"retries\":0}]\n", "");
    fs::remove_file(&file).unwrap();
    write(&home, PROJECT, "limits = [");
    let message = "{home}/work/.toolhost/toolhost.toml:1:11: unclosed array, expected `]`";
    refused(&home, &[], message, "mend the file, which is TOML");
}

#[test]
fn a_project_s_file_can_only_take_away() {
    let home = Home::new();
    write(&home, PROJECT, "# Mine.\ndirectories = ['/tmp']");
    let message = "{home}/work/.toolhost/toolhost.toml:2:1: a project's file cannot add directories, since plugins in them \
                   would run merely because a directory was entered";
    let fix = "put the plugins into the project's .toolhost/plugins, or `directories` into your own toolhost.toml";
    refused(&home, &[], message, fix);
    for key in ["trust", "unblock", "cache-dir"] {
        write(&home, PROJECT, format!("{key} = true"));
        let message = format!("{{home}}/work/.toolhost/toolhost.toml:1:1: there is no key `{key}`");
        refused(&home, &[], &message, "use one of `disabled`, `limits`, `plugins`, or remove it");
    }
    // A limit goes down, and not up.
    write(&home, USER, "limits.tools = 50");
    let tools = |project: &str| {
        write(&home, PROJECT, project);
        home.run(["config", "--json"]).json()["values"][1].take()
    };
    let file = |path: &str| json!({"kind": "file", "path": format!("{{home}}/{path}"), "line": 1});
    let value = |value: u64, path: &str| json!({"key": "limits.tools", "value": value, "source": file(path)});
    assert_eq!(tools("limits.tools = 49"), value(49, PROJECT));
    assert_eq!(tools("limits.tools = 51"), value(50, USER));
}

#[test]
fn limits_count() {
    let home = Home::new();
    write(&home, USER, "[limits]\ntools = 1\n");
    let second = plugin(Fixture::Second);
    let list = ["list", "--plugin", second.to_str().unwrap()];
    let warning = format!(
        "warning: {}: `second` has 2 tools, and only the first 1 are there; raise the limit: `tools` under `[limits]` in \
         toolhost.toml (`LoadLimits::tools`), or give the plugin fewer (TH0704)\n",
        second.display()
    );
    for _ in 0..2 {
        let ran = home.run(list);
        assert_eq!((ran.code(), &ran.stderr), (0, &warning));
    }
    write(&home, USER, "[limits]\ndefinition-bytes = 10\n");
    let ran = home.run(list);
    assert_eq!((ran.code(), ran.stderr.matches("(TH0705)").count()), (2, 2), "{}", ran.stderr);
    write(&home, USER, "");
    assert_eq!(home.run(list).stderr, "");
}

#[test]
fn directories_are_relative_to_their_file_or_the_home() {
    let home = Home::new();
    for directory in [".config/toolhost/beside é", "at home"] {
        fs::create_dir_all(home.path(directory)).unwrap();
    }
    fs::copy(plugin(Fixture::Second), home.path(".config/toolhost/beside é/a.so")).unwrap();
    fs::copy(plugin(Fixture::Stage), home.path("at home/a.so")).unwrap();
    write(&home, USER, "directories = ['beside é', '~/at home', 'nowhere']");
    assert_eq!(home.run(["call", "hidden"]).stdout, "here\n");
    assert_eq!(home.run(["call", "echo", "text=hi"]).code(), 0);
    write(&home, USER, "\ndirectories = ['~ada/plugins']");
    let message = "{home}/.config/toolhost/toolhost.toml:2: `~ada` is not known here";
    let fix = "write that user's home in full, or `./~ada/plugins` for a directory of that name";
    refused(&home, &[], message, fix);
}

#[test]
fn a_plugin_that_is_disabled_can_be_given_nothing() {
    let home = Home::new();
    write(&home, USER, "disabled = ['asks']");
    let second = plugin(Fixture::Second);
    let message = "--config gives settings to `asks`, and no plugin of that name is loaded, only `second`";
    let fix = "take it off `disabled`, which `toolhost config` shows";
    let options = ["--plugin", second.to_str().unwrap(), "--config", "asks={}"];
    settings(&home, &options).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
}

/// One of everything.
fn full() -> Home {
    let home = Home::new();
    let user = "directories = ['~/mine']\ndisabled = ['old']\n[limits]\nfactory-seconds = 2.5\n[plugins.asks]\n\
                retries = 3\ngreeting = 'a'\n";
    write(&home, USER, user);
    write(
        &home,
        PROJECT,
        "disabled = ['old', 'new']\nlimits.tools = 9\nplugins.asks.retries = 4\nplugins.'a b'.c = []\n",
    );
    fs::create_dir(home.path("mine")).unwrap();
    home
}

#[test]
fn it_says_where_every_value_came_from() {
    let home = full();
    let mut command =
        home.command(["config", "--plugin", "x.so", "--config", "asks={\"greeting\":\"b\"}", "--config", "d=1"]);
    command.env("TOOLHOST_PLUGIN_PATH", "~/more");
    let text = "\
SETTING                  VALUE          FROM
limits.factory-seconds   2.5            {home}/.config/toolhost/toolhost.toml:4
limits.tools             9              {home}/work/.toolhost/toolhost.toml:2
limits.definition-bytes  1048576        default
directories              \"{home}/mine\"  {home}/.config/toolhost/toolhost.toml:1
disabled                 \"new\"          {home}/work/.toolhost/toolhost.toml:1
disabled                 \"old\"          {home}/.config/toolhost/toolhost.toml:2
plugins.\"a b\".c          []             {home}/work/.toolhost/toolhost.toml:4
plugins.asks.greeting    \"b\"            command line (--config)
plugins.asks.retries     4              {home}/work/.toolhost/toolhost.toml:3
plugins.d                1              command line (--config)

Plugins are looked for in this order
PATH                                  FROM                                     THERE
{home}/work/x.so                      command line (--plugin)                  no
{home}/more                           environment (TOOLHOST_PLUGIN_PATH)       no
{home}/work/.toolhost/plugins         the project                              no
{home}/mine                           {home}/.config/toolhost/toolhost.toml:1  yes
{home}/.local/share/toolhost/plugins  the user                                 no
{home}/system/toolhost/plugins        the system                               no

Settings are read from, the later over the earlier
FILE                                   OF       THERE
{home}/.config/toolhost/toolhost.toml  user     yes
{home}/work/.toolhost/toolhost.toml    project  yes
";
    let ran = home.start(command).end();
    // The columns are as wide as the paths, which differ from run to run.
    let blanks =
        |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    assert_eq!(blanks(&ran.masked(&ran.stdout)), blanks(text));
}

#[test]
fn a_program_is_told_where_every_value_came_from() {
    let home = full();
    let config = home.run(["config", "--json", "--config", "d=1"]).json();
    let user = |line: u64| json!({"kind": "file", "path": format!("{{home}}/{USER}"), "line": line});
    let project = |line: u64| json!({"kind": "file", "path": format!("{{home}}/{PROJECT}"), "line": line});
    let line = |key: &str, value: Value, source: Value| json!({"key": key, "value": value, "source": source});
    let values = json!([
        line("limits.factory-seconds", json!(2.5), user(4)),
        line("limits.tools", json!(9), project(2)),
        line("limits.definition-bytes", json!(1_048_576), json!({"kind": "default"})),
        line("directories", json!("{home}/mine"), user(1)),
        line("disabled", json!("new"), project(1)),
        line("disabled", json!("old"), user(2)),
        line("plugins.\"a b\".c", json!([]), project(4)),
        line("plugins.asks.greeting", json!("a"), user(7)),
        line("plugins.asks.retries", json!(4), project(3)),
        line("plugins.d", json!(1), json!({"kind": "commandLine", "option": "--config"})),
    ]);
    assert_eq!(config["values"], values);
    let place = |path: &str, source: Value, trust: &str, exists: bool| json!({"path": format!("{{home}}/{path}"), "source": source, "trust": trust, "exists": exists});
    let search = json!([
        place("work/.toolhost/plugins", json!({"kind": "project"}), "recorded", false),
        place("mine", user(1), "owned", true),
        place(".local/share/toolhost/plugins", json!({"kind": "user"}), "owned", false),
        place("system/toolhost/plugins", json!({"kind": "system"}), "owned", false),
    ]);
    assert_eq!(config["search"], search);
    let file = |path: &str, of: &str| json!({"path": format!("{{home}}/{path}"), "of": of, "exists": true});
    assert_eq!(config["files"], json!([file(USER, "user"), file(PROJECT, "project")]));
}

#[test]
fn without_files_everything_is_as_by_default() {
    let ran = Home::new().run(["config", "--no-discovery"]);
    let text = "\
SETTING VALUE FROM
limits.factory-seconds 10 default
limits.tools 128 default
limits.definition-bytes 1048576 default

Plugins are looked for in this order
PATH FROM THERE

Settings are read from, the later over the earlier
FILE OF THERE
{home}/.config/toolhost/toolhost.toml user no
";
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: Vec<_> = ran.masked(&ran.stdout).lines().map(words).collect();
    assert_eq!(shown, text.lines().collect::<Vec<_>>());
    assert_eq!(ran.code(), 0);
}
