//! A plugin that ends the process: the next run says which it was, and the second time is once too often.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{ECHOED, Home, Ran, call, held, plugin};

fn hostile() -> PathBuf {
    plugin(Fixture::Hostile)
}

fn path_of(plugin: &Path) -> &str {
    plugin.to_str().unwrap()
}

/// Settings with which its factory does no harm.
const HARMLESS: &[&str] = &["--config", "hostile=\"nothing\""];

fn harm(home: &Home, kind: &str, place: &str, options: &[&str]) -> Ran {
    home.call(&hostile(), "harms", &json!({"kind": kind, "place": place}), &[HARMLESS, options].concat())
}

/// A run that is ended by a segfault in a call.
fn crashed(home: &Home) -> Ran {
    let ran = harm(home, "segfault", "call", &[]);
    assert_eq!((ran.code(), &*ran.stdout), (-Signal::SEGV.as_raw(), ""));
    ran
}

/// `text` with each time as `TIME`.
fn timeless(text: &str) -> String {
    const LENGTH: usize = "2026-11-03T10:11:12.123Z".len();
    let is_time = |at: usize| {
        let time = text.get(at..at + LENGTH);
        time.is_some_and(|time| time.starts_with("20") && time.ends_with('Z') && time.as_bytes()[10] == b'T')
    };
    let (mut out, mut at) = (String::new(), 0);
    while let Some(c) = text[at..].chars().next() {
        let time = is_time(at);
        out.push_str(if time { "TIME" } else { &text[at..at + c.len_utf8()] });
        at += if time { LENGTH } else { c.len_utf8() };
    }
    out
}

/// What the next run says of this one.
fn told(ran: &Ran, signal: &str) -> String {
    let path = hostile();
    format!(
        "warning: the last run of toolhost (pid {}, TIME) was ended by {signal} in plugin hostile 0.1.0 ({})\n",
        ran.pid,
        path.display()
    )
}

/// What the next run says on standard error.
fn said_next(home: &Home) -> String {
    let ran = home.run([&["list", "--plugin", path_of(&hostile())], HARMLESS].concat());
    assert_eq!(ran.code(), 0, "{}", ran.stderr);
    timeless(&ran.stderr)
}

fn quarantined(home: &Home) -> Value {
    home.run(["quarantine", "--json"]).json()["quarantined"].take()
}

fn left(home: &Home) -> usize {
    fs::read_dir(home.path("state/toolhost/blame")).unwrap().count()
}

#[test]
fn the_next_run_says_once_which_plugin_ended_the_last_one() {
    for (kind, place, signal, name) in [
        ("segfault", "call", Signal::SEGV, "SIGSEGV"),
        ("segfault", "thread", Signal::SEGV, "SIGSEGV"),
        ("segfault", "apply", Signal::SEGV, "SIGSEGV"),
        ("abort", "call", Signal::ABORT, "SIGABRT"),
        ("abort", "apply", Signal::ABORT, "SIGABRT"),
    ] {
        let home = Home::new();
        let ran = harm(&home, kind, place, &["--apply", "why"]);
        assert_eq!((ran.code(), &*ran.stderr), (-signal.as_raw(), ""), "{kind} in {place}");
        assert_eq!(left(&home), 1);
        assert_eq!(said_next(&home), told(&ran, name), "{kind} in {place}");
        assert_eq!(said_next(&home), "");
        assert_eq!((left(&home), quarantined(&home)), (0, json!([])));
    }
}

#[test]
fn an_overflow_of_the_stack_is_told_of_as_before_and_by_the_next_run() {
    let home = Home::new();
    let ran = harm(&home, "overflow", "call", &[]);
    assert_eq!(ran.code(), -Signal::ABORT.as_raw());
    assert!(ran.stderr.contains("has overflowed its stack\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("fatal runtime error: stack overflow"), "{}", ran.stderr);
    assert_eq!(said_next(&home), told(&ran, "SIGABRT"));
}

/// Ends a call by a signal that somebody sends, in the middle of a poll.
fn sent(home: &Home, signal: Signal) {
    let pipe = home.work("gate");
    if !pipe.exists() {
        home.pipe("gate");
    }
    let running = home.start(home.command(call(&plugin(Fixture::Life), "blocks", &json!({"gate": pipe}), &[])));
    let _held = held(pipe);
    running.signal(signal);
    assert_eq!(running.end().code(), -signal.as_raw());
}

#[test]
fn a_signal_that_somebody_sends_never_counts() {
    let home = Home::new();
    for signal in [Signal::KILL, Signal::ABORT] {
        for _ in 0..2 {
            sent(&home, signal);
            // Each run takes away what the one before has left.
            assert_eq!(left(&home), 1);
        }
    }
    assert_eq!(said_next(&home), "");
    assert_eq!((left(&home), quarantined(&home)), (0, json!([])));
    assert!(!home.path("state/toolhost/blame.json").exists());
}

#[test]
fn a_run_that_still_lives_is_none_to_tell_of() {
    let home = Home::new();
    let pipe = home.pipe("gate");
    let running = home.start(home.command(call(&plugin(Fixture::Life), "gated", &json!({"gate": pipe}), &[])));
    let gate = held(pipe);
    assert_eq!((said_next(&home), left(&home)), (String::new(), 1));
    drop(gate);
    running.end().is(0, "passed\n", "");
    assert_eq!(left(&home), 0);
}

#[test]
fn a_plugin_that_ends_two_runs_is_in_quarantine_until_it_is_lifted() {
    let (home, path) = (Home::new(), hostile());
    let first = crashed(&home);
    let second = crashed(&home);
    assert_eq!(timeless(&second.stderr), told(&first, "SIGSEGV"));

    let listed = home.run(["quarantine", "--json"]);
    assert_eq!(timeless(&listed.stderr), told(&second, "SIGSEGV"));
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let hash = listed["quarantined"][0]["hash"].as_str().unwrap();

    let reason = format!("it ended 2 runs of toolhost, the last by SIGSEGV (pid {}, TIME)", second.pid);
    let why = format!("{}: `hostile` is in quarantine since TIME: {reason}", path.display());
    let lift = format!("toolhost quarantine --lift {hash}");
    let fix = format!("ask the plugin's author; to load it nevertheless: `{lift}` (`HostBuilder::quarantined`)");
    let unknown = "no tool is named `harms`; it may be one of a plugin that is not loaded";
    let refused = format!("error: {unknown}: {why} (TH0306)\n  fix: {fix}\n");
    let ran = harm(&home, "segfault", "call", &[]);
    assert_eq!((ran.code(), timeless(&ran.stderr)), (3, refused));
    // Others are loaded, from whatever path it comes.
    fs::copy(&path, home.work("libother.so")).unwrap();
    let ran = home.echo(&plugin(Fixture::Stage), &["--plugin", "libother.so"]);
    let warning = format!("warning: {why}; {fix} (TH0306)\n").replace(path_of(&path), "{home}/work/libother.so");
    let seen = (ran.code(), &*ran.stdout, timeless(&ran.stderr.replace(path_of(&home.path("")), "{home}/")));
    assert_eq!(seen, (0, ECHOED, warning));

    let ran = home.run(["quarantine", "--list"]);
    let listed = format!("hostile: {reason}\n  since TIME, {}\n  SHA-256 {hash}\n", path.display());
    assert_eq!((ran.code(), timeless(&ran.stdout), &*ran.stderr), (0, listed, ""));
    home.run(["quarantine", "--lift", hash]).is(0, "Out of quarantine: hostile, SHA-256 {hash}\n", "");
    assert_eq!(said_next(&home), "");
    // It has another chance.
    let third = crashed(&home);
    assert_eq!(said_next(&home), told(&third, "SIGSEGV"));
}

#[test]
fn a_program_reads_and_lifts_the_quarantine() {
    let home = Home::new();
    crashed(&home);
    let second = crashed(&home);
    let mut ran = home.run(["quarantine", "--json"]);
    assert_eq!(timeless(&ran.stderr), told(&second, "SIGSEGV"));
    ran.stdout = timeless(&ran.stdout);
    let reason = format!("it ended 2 runs of toolhost, the last by SIGSEGV (pid {}, TIME)", second.pid);
    let held = json!({"hash": "{hash}", "name": "hostile", "path": hostile(), "reason": reason, "since": "TIME"});
    assert_eq!(ran.json(), json!({"quarantined": [held]}));
    let mut ran = home.run(["quarantine", "--lift", "hostile", "--json"]);
    ran.stdout = timeless(&ran.stdout);
    ran.is_json(0, &json!({"lifted": [held]}), "");
    home.run(["quarantine"]).is(0, "", "No plugin is in quarantine.\n");
    let (message, fix) = (
        "`hostile` is not in quarantine",
        "`toolhost quarantine --list` shows the plugins that are, with their names and hashes",
    );
    home.run(["quarantine", "--lift", "hostile"]).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
    let json = json!({"error": {"code": "not-quarantined", "message": message, "fix": fix}});
    home.run(["quarantine", "--lift", "hostile", "--json"]).is_json(2, &json, "");
}

#[test]
fn a_plugin_that_ends_the_first_look_is_in_quarantine() {
    let home = Home::new();
    let path = hostile();
    let list = |options: &[&str]| home.run([&["list", "--plugin", path_of(&path)], options].concat());
    let ended = "`hostile` was opened in a process of its own, and that crashed (SIGSEGV)";
    let ran = list(&["--config", "hostile=\"segfault\""]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr.starts_with(&format!("error: no tool is loaded: {}: {ended} (TH0502)\n", path.display())));
    let ran = list(HARMLESS);
    let why = format!("error: no tool is loaded: {}: `hostile` is in quarantine since TIME: {ended}", path.display());
    assert!(timeless(&ran.stderr).starts_with(&format!("{why} (TH0306)\n")), "{}", ran.stderr);
    assert_eq!(ran.code(), 2);
    home.run(["quarantine", "--lift", "hostile"]).is(0, "Out of quarantine: hostile, SHA-256 {hash}\n", "");
    assert_eq!(list(HARMLESS).code(), 0);
}

#[test]
fn a_damaged_record_keeps_nothing_from_running() {
    let home = Home::new();
    fs::create_dir_all(home.path("state/toolhost")).unwrap();
    fs::write(home.path("state/toolhost/blame.json"), "{").unwrap();
    let damaged = "the record of crashes {home}/state/toolhost/blame.json is damaged: EOF while parsing an object at line \
                   1 column 1";
    let warning = format!("warning: what is in quarantine is not known: {damaged}\n");
    home.echo(&plugin(Fixture::Stage), &[]).is(0, ECHOED, &warning);
    let fix = "mend {home}/state/toolhost/blame.json, or move it away and decide anew";
    home.run(["quarantine"]).is(2, "", &format!("error: {damaged}\n  fix: {fix}\n"));
}

#[test]
fn without_a_place_for_it_a_run_is_not_watched() {
    let home = Home::new();
    fs::write(home.path("state"), "").unwrap();
    let journal = home.path("journal");
    let ran = home.echo(&plugin(Fixture::Stage), &["--journal-dir", path_of(&journal)]);
    assert_eq!((ran.code(), &*ran.stdout), (0, ECHOED));
}
