//! `toolhost trust`, `untrust`, `block` and `unblock`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolhost_loader::UnopenedPlugin;
use toolhost_tests::Fixture;

use super::support::{CTRL_C, CTRL_D, ECHOED, Home, PROMPT, Ran, good, plugin, stage};

/// A copy of this fixture in the directory that commands work in, and its hash.
pub(super) fn copy(home: &Home, fixture: Fixture, name: &str) -> (PathBuf, String) {
    let path = home.work(name);
    fs::copy(plugin(fixture), &path).unwrap();
    let inspection = UnopenedPlugin::read(&path).unwrap();
    (path, inspection.plugin().fingerprint.clone())
}

/// What is shown of `constructor` at this path before anybody is asked.
pub(super) fn card(path: &str) -> String {
    let inspection = UnopenedPlugin::read(plugin(Fixture::Constructor)).unwrap();
    let (info, size) = (inspection.plugin(), inspection.size());
    format!(
        "{path}\n  plugin      constructor 0.1.0\n  about       {}\n  built with  SDK {}, interface {}, {}\n  size        \
         {size} bytes\n  SHA-256     {{hash}}\n  tools       opened\n",
        info.description, info.sdk_version, info.abi_version, info.rustc
    )
}

pub(super) fn strings(args: &[&str]) -> Vec<String> {
    args.iter().map(|&arg| arg.to_owned()).collect()
}

/// The names and hashes on the record of trust.
fn trusted(home: &Home) -> Vec<(String, String)> {
    let ran = home.run(["trust", "--list", "--json"]);
    assert_eq!(ran.code(), 0);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let field = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
    json["trusted"].as_array().unwrap().iter().map(|entry| (field(entry, "name"), field(entry, "hash"))).collect()
}

/// That nothing of the plugin ran: its constructor leaves a file beside what is opened.
pub(super) fn never_opened(home: &Home) {
    assert!(!home.path("cache").exists());
    assert!(home.names().iter().all(|name| !name.ends_with(".opened")));
}

#[test]
fn trust_shows_what_a_file_is_and_asks() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    let card = card("{home}/work/c.so");
    let begin = || home.plainly_at_terminal(strings(&["trust", "c.so"]));
    for (keys, screen) in [("\n", "\n"), ("n\n", "n\n"), (CTRL_D, "\n")] {
        let mut terminal = begin();
        terminal.at("Trust it? [y/N]: ", keys);
        terminal.is(1, &format!("{card}Trust it? [y/N]: {screen}It is not trusted.\n"));
    }
    let mut terminal = begin();
    terminal.at("Trust it? [y/N]: ", CTRL_C);
    terminal.is(
        130,
        &format!("{card}Trust it? [y/N]: ^C\nerror: interrupted; nothing was done\n  fix: run the command again\n"),
    );
    assert_eq!(trusted(&home), []);
    let mut terminal = begin();
    terminal.at("Trust it? [y/N]: ", "what\n");
    terminal.at("Trust it? [y/N]: ", "y\n");
    terminal.is(
        0,
        &format!(
            "{card}Trust it? [y/N]: what\n`what` is no answer; type y or n, then Enter.\nTrust it? [y/N]: y\nTrusted: \
             constructor 0.1.0\n"
        ),
    );
    assert_eq!(trusted(&home), [("constructor".to_owned(), hash)]);
    never_opened(&home);
    let ran = home.run(["trust", "c.so"]);
    assert_eq!(ran.code(), 0);
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.starts_with("It is trusted already, since 20"), "{last}");
}

#[test]
fn without_a_terminal_trust_wants_the_whole_hash() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Constructor, "c.so");
    let card = card("{home}/work/c.so");
    let again = "run it on a terminal, or say so: `toolhost trust c.so --yes {hash}`";
    let text = format!("error: there is nobody here to ask\n  fix: {again}\n");
    home.run(["trust", "c.so"]).is(2, &card, &text);
    let ran = home.run(["trust", "c.so", "--json"]);
    let json = ran.json();
    let error = json!({"code": "nobody-to-ask", "message": "there is nobody here to ask", "fix": again});
    assert_eq!((ran.code(), &json["error"], &json["trusted"]), (2, &error, &json!(false)));
    assert_eq!((&json["plugin"]["name"], &json["plugin"]["tools"]), (&json!("constructor"), &json!(["opened"])));
    let other = "0".repeat(64);
    let message = "the file's hash is {hash}, not {hash}; nothing was done";
    let fix = "look at what the file is now, and give its hash only if that is right";
    home.run(["trust", "c.so", "--yes", &other]).is(4, &card, &format!("error: {message}\n  fix: {fix}\n"));
    let ran = home.run(["trust", "c.so", "--yes", &hash[..12]]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("it is no hash of a file, which has 64 hexadecimal digits"), "{}", ran.stderr);
    assert_eq!(trusted(&home), []);
    home.run(["trust", "c.so", "--yes", &hash.to_uppercase()]).is(
        0,
        &format!("{card}Trusted: constructor 0.1.0\n"),
        "",
    );
    // Also of what is trusted already.
    home.run(["trust", "c.so", "--yes", &other]).is(4, &card, &format!("error: {message}\n  fix: {fix}\n"));
    let ran = home.run(["trust", "c.so", "--yes", &hash, "--json"]);
    assert_eq!((ran.code(), &ran.json()["trusted"]), (0, &json!(true)));
    never_opened(&home);
}

#[test]
fn what_is_no_plugin_is_not_trusted() {
    let home = Home::new();
    home.file("text.so", "text\n");
    let text = "error: {home}/work/text.so: it is a text file, not a shared library (TH0201)\n  fix: name the shared \
                library that building the plugin makes\n";
    for command in ["trust", "install"] {
        home.run([command, "text.so"]).is(2, "", text);
        let gone = home.run([command, "gone.so", "--json"]);
        assert_eq!((gone.code(), &gone.json()["error"]["code"]), (2, &json!("plugin-not-found")));
    }
}

#[test]
fn trust_is_taken_back_by_file_hash_or_name() {
    let home = Home::new();
    let (_, constructor) = copy(&home, Fixture::Constructor, "c.so");
    let (_, second) = copy(&home, Fixture::Second, "s.so");
    fs::copy(home.work("c.so"), home.work("again.so")).unwrap();
    let all = || {
        for (name, hash) in [("c.so", &constructor), ("again.so", &constructor), ("s.so", &second)] {
            assert_eq!(home.run(["trust", name, "--yes", hash]).code(), 0);
        }
    };
    let left = |target: &str| {
        all();
        let ran = home.run(["untrust", target]);
        assert_eq!((ran.code(), ran.stderr.as_str()), (0, ""));
        trusted(&home).into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(left("./again.so"), ["second"]);
    assert_eq!(left(&constructor), ["second"]);
    assert_eq!(left("second"), ["constructor", "constructor"]);
    all();
    fs::remove_file(home.work("s.so")).unwrap();
    assert_eq!(left_of(&home.run(["untrust", "./s.so", "--json"])), ["second"]);
    let fix = "`toolhost trust --list` shows what is";
    home.run(["untrust", "nobody"]).is(2, "", &format!("error: nothing is trusted as `nobody`\n  fix: {fix}\n"));
}

fn left_of(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code(), 0);
    let json = ran.json();
    json["untrusted"].as_array().unwrap().iter().map(|gone| gone["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_record_says_what_was_trusted_before() {
    let home = Home::new();
    let (path, before) = copy(&home, Fixture::Second, "c.so");
    home.run(["trust", "c.so", "--yes", &before]);
    fs::copy(plugin(Fixture::Constructor), &path).unwrap();
    let ran = home.run(["trust", "c.so"]);
    let last = ran.stdout.lines().last().unwrap();
    assert!(last.starts_with(&format!("  trusted     {before} since 20")), "{last}");
    fs::write(home.path(".local/share/toolhost/trust.json"), "{").unwrap();
    let text = "error: the record of trust {home}/.local/share/toolhost/trust.json is damaged: EOF while parsing an object at \
                line 1 column 1\n  fix: mend {home}/.local/share/toolhost/trust.json, or move it away and decide anew\n";
    for args in [&["trust", "c.so", "--yes", &before][..], &["trust", "--list"], &["untrust", "second"]] {
        home.run(args).is(1, "", text);
    }
    assert_eq!(fs::read_to_string(home.path(".local/share/toolhost/trust.json")).unwrap(), "{");
}

#[test]
fn a_tool_that_a_plugin_declares_which_is_not_trusted_is_known() {
    let home = Home::new();
    fs::create_dir_all(home.work(".toolhost/plugins")).unwrap();
    fs::copy(plugin(Fixture::Second), home.work(".toolhost/plugins/s.so")).unwrap();
    let ran = home.run(["call", "second", "label=a"]);
    let begin = "error: `second` is a tool of a plugin that is not loaded: {home}/work/.toolhost/plugins/s.so: `second` \
                 0.1.0 is not trusted (TH0301)\n  fix: ";
    let shown = ran.masked(&ran.stderr);
    assert!(shown.starts_with(begin) && shown.contains("toolhost trust "), "{shown}");
    assert_eq!(ran.code(), 3);
    // What it does not declare is none of it.
    let other = home.run(["call", "third"]);
    assert_eq!(other.code(), 2);
    assert!(other.stderr.starts_with("error: no tool is loaded: "), "{}", other.stderr);
}

const BLOCKED: &str = "`stage` 0.1.0 is blocked by {home}/.local/share/toolhost/blocked.json: it leaks";

#[test]
fn what_is_blocked_is_not_called_also_where_it_is_named() {
    let home = Home::new();
    let stage = plugin(Fixture::Stage);
    let hash = UnopenedPlugin::read(&stage).unwrap().plugin().fingerprint.clone();
    for target in ["stage", "stage@0.1.0", &hash] {
        let shown = if target == hash { "{hash}" } else { target };
        home.run(["block", target, "--reason", "it leaks"]).is(0, &format!("Blocked: {shown}: it leaks\n"), "");
        let message = "no tool is named `echo`; it may be one of a plugin that is not loaded: {stage}: ";
        let fix = format!(
            "use another version; to use this one all the same, `toolhost unblock {shown}` (`BlockList::unblock`)"
        );
        let message = format!("{message}{BLOCKED} (TH0304)");
        home.echo(&stage, &[]).is(3, "", &format!("error: {message}\n  fix: {fix}\n"));
        let json = json!({"error": {"code": "blocked", "message": message, "fix": fix}});
        home.echo(&stage, &["--json"]).is_json(3, &json, "");
        home.run(["show", "echo", "--plugin", stage.to_str().unwrap()]).is(
            3,
            "",
            &format!("error: {message}\n  fix: {fix}\n"),
        );
        let unblocked = format!("Not blocked any more: {shown} (it leaks)\n");
        home.run(["unblock", target]).is(0, &unblocked, "");
        home.echo(&stage, &[]).is(0, ECHOED, "");
    }
}

#[test]
fn a_tool_of_another_plugin_is_called_all_the_same() {
    let home = Home::new();
    let (stage, second) = (plugin(Fixture::Stage), plugin(Fixture::Second));
    home.run(["block", "second", "--reason", "r"]);
    let ran = home.echo(&stage, &["--plugin", second.to_str().unwrap()]);
    assert_eq!((ran.code(), ran.stdout.as_str()), (0, ECHOED));
    assert!(ran.stderr.contains("`second` 0.1.0 is blocked by"), "{}", ran.stderr);
    // One that nobody has may be one of it.
    let ran = home.call(&stage, "ecko", &json!({}), &["--plugin", second.to_str().unwrap()]);
    assert_eq!(ran.code(), 3);
    let begin = "error: no tool is named `ecko`; did you mean `echo`?; it may be one of a plugin that is not loaded: ";
    assert!(ran.stderr.starts_with(begin), "{}", ran.stderr);
}

#[test]
fn the_list_of_what_is_blocked_can_be_read_and_mended() {
    let home = Home::new();
    home.run(["block", "--list"]).is(0, "", "Nothing is blocked.\n");
    home.run(["block", "a@1", "--reason", "old"]);
    home.run(["block", "a@1", "--reason", "new"]).is(0, "Blocked: a@1: new (before: old)\n", "");
    let hostile = "x\u{1b}[2J\nBlocked: y";
    home.run(["block", "b", "--reason", hostile]).is(0, "Blocked: b: x\\u{1b}[2J\\nBlocked: y\n", "");
    let ran = home.run(["block", "--list"]);
    let lines: Vec<_> = ran.stdout.lines().step_by(2).collect();
    assert_eq!(lines, ["a@1: new", "b: x\\u{1b}[2J\\nBlocked: y"]);
    let json = home.run(["block", "--list", "--json"]).json();
    let entry = &json["blocked"][0];
    let list = json!("{home}/.local/share/toolhost/blocked.json");
    assert_eq!((&entry["name"], &entry["version"], &entry["list"]), (&json!("a"), &json!("1"), &list));
    let fix = "`toolhost block --list` shows what does; --system takes it off the list for all users";
    let message = "`a` does not stand on {home}/.local/share/toolhost/blocked.json";
    home.run(["unblock", "a"]).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
    for wrong in [&["block", "a"][..], &["block", "a b", "--reason", "r"], &["block", "a", "--reason", ""], &["block"]]
    {
        assert_eq!(home.run(wrong).code(), 2, "{wrong:?}");
    }
    fs::write(home.path(".local/share/toolhost/blocked.json"), "[]").unwrap();
    let stage = plugin(Fixture::Stage);
    let ran = home.echo(&stage, &[]);
    assert_eq!(ran.code(), 3);
    let text = "{stage}: whether it may be loaded cannot be decided: the block list \
                {home}/.local/share/toolhost/blocked.json is damaged: it is no JSON object (TH0305)";
    assert!(ran.masked(&ran.stderr).contains(text), "{}", ran.stderr);
}

#[test]
fn what_becomes_blocked_while_a_person_decides_is_discarded() {
    let home = Home::new();
    let mut terminal = home.plainly_at_terminal(stage(&json!([good("one")]), &[]));
    terminal.shows(PROMPT);
    assert_eq!(home.run(["block", "stage", "--reason", "it leaks"]).code(), 0);
    terminal.types("a\n");
    terminal.at("Reason", "\n");
    let (code, screen) = terminal.end();
    assert_eq!(code, 3);
    assert!(screen.ends_with("error: Discarded: one (test)\n    Plugin stage is blocked: it leaks\n"), "{screen}");
}

#[test]
fn trust_of_what_is_blocked_says_that_it_changes_nothing() {
    let home = Home::new();
    let (_, hash) = copy(&home, Fixture::Stage, "s.so");
    home.run(["block", "stage", "--reason", "it leaks"]);
    let ran = home.run(["trust", "s.so", "--yes", &hash]);
    assert_eq!(ran.code(), 0);
    assert_eq!(ran.masked(&ran.stderr), format!("warning: {BLOCKED}; trust does not change that\n"));
}
