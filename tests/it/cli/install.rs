//! `toolhost install` and `toolhost remove`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{CTRL_D, Home, plugin};
use super::trust::{card, copy, never_opened, strings};

const PLUGINS: &str = ".local/share/toolhost/plugins";

fn state(home: &Home, name: &str) -> Value {
    let path = home.path(".local/share/toolhost").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn install_shows_asks_once_copies_and_trusts() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    let place = format!("{{home}}/{PLUGINS}/c.so");
    let card = format!("{}  to          {place}\n", card("{home}/work/c.so"));
    let mut terminal = home.plainly_at_terminal(strings(&["install", "c.so"]));
    terminal.at("Install it? [y/N]: ", CTRL_D);
    terminal.is(1, &format!("{card}Install it? [y/N]: \nIt is not installed.\n"));
    assert!(!home.path(PLUGINS).exists());
    let mut terminal = home.plainly_at_terminal(strings(&["install", "c.so"]));
    terminal.at("Install it? [y/N]: ", "y\n");
    terminal.is(0, &format!("{card}Install it? [y/N]: y\nInstalled: constructor 0.1.0 ({place})\n"));
    never_opened(&home);
    let installed = home.path(PLUGINS).join("c.so");
    assert_eq!(fs::read(&installed).unwrap(), fs::read(home.work("c.so")).unwrap());
    assert_eq!(fs::metadata(home.path(PLUGINS)).unwrap().permissions().mode() & 0o777, 0o700);
    let trusted = state(&home, "trust.json");
    assert_eq!(trusted["trusted"][0]["hash"], hash);
    assert_eq!(trusted["trusted"][0]["path"], installed.to_str().unwrap());
    home.call(&installed, "opened", &json!({}), &[]).is(0, "opened\n", "");

    let mut terminal = home.plainly_at_terminal(strings(&["remove", "constructor"]));
    terminal.at("Remove constructor 0.1.0? [y/N]: ", "n\n");
    terminal.is(1, "Remove constructor 0.1.0? [y/N]: n\nIt is not removed.\n");
    let mut terminal = home.plainly_at_terminal(strings(&["remove", "constructor"]));
    terminal.at("Remove constructor 0.1.0? [y/N]: ", "y\n");
    terminal.is(0, &format!("Remove constructor 0.1.0? [y/N]: y\nRemoved: constructor 0.1.0\n  {place}\n"));
    assert_eq!(fs::read_dir(home.path(PLUGINS)).unwrap().count(), 0);
    assert_eq!(
        (&state(&home, "trust.json")["trusted"], &state(&home, "installed.json")["installed"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn without_a_terminal_the_hash_and_a_flag_stand_for_the_answers() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    let ran = home.run(["install", "c.so"]);
    let text = "error: there is nobody here to ask\n  fix: run it on a terminal, or say so: `toolhost install c.so --yes \
                {hash}`\n";
    assert_eq!((ran.code(), ran.masked(&ran.stderr)), (2, text.to_owned()));
    let ran = home.run(["install", "c.so", "--yes", &"0".repeat(64), "--json"]);
    let json = ran.json();
    assert_eq!((ran.code(), &json["error"]["code"], &json["installed"]), (4, &json!("hash-differs"), &json!(false)));
    assert!(!home.path(PLUGINS).exists());
    let ran = home.run(["install", "c.so", "--yes", &hash, "--json"]);
    let json = ran.json();
    let path = json!(format!("{{home}}/{PLUGINS}/c.so"));
    assert_eq!(
        (ran.code(), &json["installed"], &json["path"], &json["replaced"]),
        (0, &json!(true), &path, &Value::Null)
    );
    assert_eq!(json["plugin"]["name"], "constructor");
    let text = "error: there is nobody here to ask\n  fix: run it on a terminal, or say so: `toolhost remove constructor \
                --yes`\n";
    home.run(["remove", "constructor"]).is(2, "", text);
    let removed = json!({"plugin": "constructor", "version": "0.1.0", "removed": [path], "left": []});
    home.run(["remove", "constructor", "--yes", "--json"]).is_json(0, &removed, "");
    let text = "error: no plugin `constructor` was installed\n  fix: name a plugin that `toolhost install` put there\n";
    home.run(["remove", "constructor", "--yes"]).is(2, "", text);
}

#[test]
fn another_version_is_replaced_and_another_plugin_only_where_that_is_said() {
    let home = Home::new();
    let (path, old) = copy(&home, Fixture::Constructor, "c.so");
    assert_eq!(home.run(["install", "c.so", "--yes", &old]).code(), 0);
    let replaces = |ran: &super::support::Ran| {
        let line = ran.stdout.lines().find_map(|line| line.strip_prefix("  replaces    "));
        line.map(str::to_owned)
    };
    let same = home.run(["install", "c.so", "--yes", &old]);
    assert_eq!((same.code(), replaces(&same).as_deref()), (0, Some("constructor 0.1.0, which is the same")));
    crate::support::patch(&path, &[(b"\"version\":\"0.1.0\"", b"\"version\":\"0.2.0\"")]);
    let new = toolhost_loader::UnopenedPlugin::read(&path).unwrap().plugin().fingerprint.clone();
    let ran = home.run(["install", "c.so", "--yes", &new]);
    assert_eq!((ran.code(), replaces(&ran).as_deref()), (0, Some("constructor 0.1.0")));
    assert!(ran.stdout.contains("Installed: constructor 0.2.0 ("), "{}", ran.stdout);
    let hashes: Vec<_> =
        state(&home, "trust.json")["trusted"].as_array().unwrap().iter().map(|t| t["hash"].clone()).collect();
    assert_eq!(hashes, [json!(new)]);

    let (_, other) = copy(&home, Fixture::Second, "c.so");
    let fix = "give the file another name, or replace what is there with --replace";
    let text = format!("error: {{home}}/{PLUGINS}/c.so is the plugin constructor 0.2.0\n  fix: {fix}\n");
    home.run(["install", "c.so", "--yes", &other]).is(2, "", &text);
    let ran = home.run(["install", "c.so", "--yes", &other, "--replace"]);
    assert_eq!((ran.code(), replaces(&ran).as_deref()), (0, Some("the plugin constructor 0.2.0")));
    assert_eq!(home.run(["remove", "constructor", "--yes"]).code(), 2);
    assert_eq!(home.run(["remove", "second", "--yes"]).code(), 0);
}

#[test]
fn nothing_is_installed_that_is_blocked_or_where_it_is_not_safe() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    home.run(["block", "constructor", "--reason", "r"]);
    let ran = home.run(["install", "c.so", "--yes", &hash, "--json"]);
    assert_eq!((ran.code(), &ran.json()["error"]["code"]), (3, &json!("blocked")));
    home.run(["unblock", "constructor"]);
    let data = home.path(".local/share/toolhost");
    fs::set_permissions(&data, Permissions::from_mode(0o777)).unwrap();
    let ran = home.run(["install", "c.so", "--yes", &hash]);
    let place = "{home}/.local/share/toolhost";
    let me = rustix::process::geteuid().as_raw();
    let text = format!(
        "error: nothing can be installed there: its place is not safe: {place} can be written by others than its owner, \
         user {me} (mode 0777)\n  fix: chmod go-w {place}\n"
    );
    assert_eq!((ran.code(), ran.masked(&ran.stderr)), (3, text));
    fs::copy(plugin(Fixture::Constructor), home.work("c.bin")).unwrap();
    let text = format!(
        "error: {{home}}/{PLUGINS}/c.bin has no name that ends in `.so`, so it would not be found\n  fix: give the file a \
         name that ends in .so\n"
    );
    home.run(["install", "c.bin", "--yes", &hash]).is(2, "", &text);
    never_opened(&home);
}

#[test]
fn remove_leaves_what_is_not_what_was_installed_and_says_so() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    home.run(["install", "c.so", "--yes", &hash]);
    fs::write(home.path(PLUGINS).join("c.so"), "mine").unwrap();
    let text = format!(
        "warning: {{home}}/{PLUGINS}/c.so stays: it is not what was installed, or another plugin has it, too\n"
    );
    home.run(["remove", "constructor", "--yes"]).is(0, "Removed: constructor 0.1.0\n", &text);
    assert_eq!(state(&home, "trust.json")["trusted"], json!([]));
}
