//! `toolhost journal`: what became of the actions that calls staged.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{Home, Ran, bad, good, held, stage};

/// Its lines, with times and sessions masked.
fn lines(ran: &Ran) -> Vec<String> {
    let masked = |word: &str| {
        let word = word.trim_end_matches(',');
        let is_time = word.len() == 24 && word.starts_with("20") && word.ends_with('Z');
        let is_session = word.starts_with("cli-");
        if is_time {
            "TIME".to_owned()
        } else if is_session {
            "SESSION".to_owned()
        } else {
            word.to_owned()
        }
    };
    ran.stdout.lines().map(|line| line.split(' ').map(masked).collect::<Vec<_>>().join(" ")).collect()
}

/// The actions of all sessions, with what differs from run to run masked.
fn actions(ran: &Ran) -> Vec<Value> {
    let mut json = ran.json();
    let sessions = json["sessions"].as_array_mut().unwrap();
    sessions.iter_mut().flat_map(|session| session["actions"].as_array_mut().unwrap()).map(masked).collect()
}

fn masked(action: &mut Value) -> Value {
    for time in ["at", "pushedAt", "beganAt"] {
        if let Some(at) = action.get_mut(time) {
            assert!(at.as_str().unwrap().ends_with('Z'));
            *at = json!("TIME");
        }
    }
    action.take()
}

fn action(fate: &Value, reason: &str) -> Value {
    json!({
        "at": "TIME", "pushedAt": "TIME", "fate": fate, "id": "id", "label": "one", "previewHash": "{hash}",
        "reason": reason, "sourceToolName": "test"
    })
}

#[test]
fn what_was_applied_and_discarded_is_on_record() {
    let home = Home::new();
    for options in [&["--apply", "why"][..], &["--discard", "why not"], &[]] {
        assert_eq!(home.stage(&json!([good("one")]), options).code(), 0);
    }
    let ran = home.run(["journal"]);
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    let reason = "the session ended without a decision";
    assert_eq!(
        lines(&ran),
        [
            "SESSION TIME",
            "  TIME  one (test): applied; reason: why",
            "",
            "SESSION TIME",
            "  TIME  one (test): discarded; reason: why not",
            "",
            "SESSION TIME",
            &format!("  TIME  one (test): discarded; reason: {reason}"),
        ]
    );
    let ran = home.run(["journal", "--json"]);
    assert_eq!((ran.code(), &*ran.stderr, &ran.json()["interrupted"]), (0, "", &json!([])));
    let (applied, discarded) = (json!("applied"), json!("discarded"));
    let expected = [action(&applied, "why"), action(&discarded, "why not"), action(&discarded, reason)];
    assert_eq!(actions(&ran), expected);
}

#[test]
fn a_failed_apply_is_on_record() {
    let home = Home::new();
    assert_eq!(home.stage(&json!([bad("one", "disk full")]), &["--apply", "why"]).code(), 1);
    assert_eq!(
        lines(&home.run(["journal"])),
        ["SESSION TIME", "  TIME  one (test): discarded; reason: the session ended"]
    );
}

/// Kills a call in the middle of the apply of an action with these details.
fn killed(home: &Home, details: &Value) {
    let pipe = home.pipe("pipe");
    let actions = json!([{"label": "one", "source": "test", "details": details, "apply": [{"wait": pipe}]}]);
    let running = home.staging(&actions, &["--apply", "why"]);
    let _apply = held(pipe);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code(), -Signal::KILL.as_raw());
}

#[test]
fn an_apply_that_was_cut_off_is_told_of_once() {
    let home = Home::new();
    killed(&home, &json!({"changes": [{"kind": "delete", "path": "/data/a"}, {"kind": "create", "path": "/data/b"}]}));
    let cut_off = |ran: &Ran| {
        let line = ran.stderr.strip_suffix('\n').unwrap().to_owned();
        let (head, tail) = line.split_once(" was cut off after ").unwrap();
        let (time, tail) = tail.split_once("; ").unwrap();
        assert_eq!((time.len(), &time[..2], &time[23..]), (24, "20", "Z"));
        assert_eq!(head, "warning: the apply of one (test)");
        assert_eq!(tail, "check what it was about to change: /data/a, /data/b");
    };
    let ran = home.run(["journal"]);
    cut_off(&ran);
    assert_eq!(ran.code(), 0);
    let shown = ["SESSION TIME", "  TIME  one (test): unknown; its apply was cut off; reason: why"];
    assert_eq!(lines(&ran), shown);
    let ran = home.run(["journal"]);
    assert_eq!((ran.code(), &*ran.stderr, lines(&ran)), (0, "", shown.map(str::to_owned).to_vec()));
}

#[test]
fn the_next_call_tells_of_an_apply_that_was_cut_off() {
    let home = Home::new();
    killed(&home, &Value::Null);
    let ran = home.stage(&json!([]), &["--json"]);
    assert_eq!((ran.code(), ran.json()["resolved"].clone()), (0, Value::Null));
    assert!(ran.stderr.starts_with("warning: the apply of one (test) was cut off after 20"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("Z; check what it was about to change\n"), "{}", ran.stderr);
    home.stage(&json!([]), &[]).is(0, "staged\n", "");
}

#[test]
fn a_program_is_told_of_an_apply_that_was_cut_off() {
    let home = Home::new();
    let details = json!({"changes": [{"kind": "delete", "path": "/data/a"}]});
    killed(&home, &details);
    let ran = home.run(["journal", "--json"]);
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    let mut interrupted = ran.json()["interrupted"].take();
    let interrupted = masked(&mut interrupted[0]);
    assert_eq!(
        [&interrupted["label"], &interrupted["sourceToolName"], &interrupted["details"], &interrupted["beganAt"]],
        [&json!("one"), &json!("test"), &details, &json!("TIME")]
    );
    assert_eq!(actions(&ran)[0]["fate"], "unknown");
    assert_eq!(home.run(["journal", "--json"]).json()["interrupted"], json!([]));
}

#[test]
fn a_journal_is_kept_where_it_is_told() {
    let home = Home::new();
    assert_eq!(home.stage(&json!([good("one")]), &["--apply", "why", "--journal-dir", "records é"]).code(), 0);
    assert!(!home.path("state/toolhost/journal").exists());
    assert_eq!(fs::read_dir(home.work("records é")).unwrap().count(), 1);
    let shown = ["SESSION TIME", "  TIME  one (test): applied; reason: why"];
    assert_eq!(lines(&home.run(["journal", "--journal-dir", "records é"])), shown);
    let mut command = home.command(["journal"]);
    command.env("TOOLHOST_JOURNAL_DIR", home.work("records é"));
    assert_eq!(lines(&home.start(command).end()), shown);
    home.run(["journal"]).is(0, "", "Nothing is on record in {home}/state/toolhost/journal.\n");
    home.run(["journal", "--json"]).is_json(0, &json!({"interrupted": [], "sessions": []}), "");
}

#[test]
fn without_a_journal_a_call_runs_and_says_so() {
    let home = Home::new();
    let stderr = "warning: no journal is kept, since /dev/null/x cannot be made: Not a directory (os error 20); name \
                  another with --journal-dir\n";
    home.run(stage(&json!([]), &["--journal-dir", "/dev/null/x"])).is(0, "staged\n", stderr);
    let message = "the journal in /dev/null/x cannot be read: Not a directory (os error 20)";
    let fix = "name another directory with --journal-dir";
    let args = ["journal", "--journal-dir", "/dev/null/x"];
    home.run(args).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
    let json = json!({"error": {"code": "journal", "message": message, "fix": fix}});
    home.run(args.iter().chain(&["--json"])).is_json(2, &json, "");
}
