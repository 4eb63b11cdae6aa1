//! What plugins ask of this program where nobody is there to ask: programs, the session, an end.

use std::fs::File;
use std::io::Read;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::support::{Home, ask, held, started, within};

/// Takes these steps.
fn steps(steps: &Value) -> Value {
    json!({"steps": steps})
}

/// A program that holds this pipe open for longer than anything takes, once it has told that pipe so.
fn holding(pipe: &str, told: &str) -> Value {
    json!({"exec": ["sh", "-c", format!("trap '' TERM; exec 3> {pipe}; : > {told}; exec sleep 1000")]})
}

#[test]
fn without_a_terminal_nobody_answers() {
    let all = steps(&json!([
        "hasUi",
        {"select": {"title": "T", "options": ["a"]}},
        {"confirm": {"title": "T"}},
        {"input": {"title": "T", "placeholder": "x"}},
        {"notify": {"level": "error", "message": "m"}},
        {"status": {"key": "k", "text": "t"}}
    ]));
    Home::new().run(ask(&all, &[])).is(0, "[false,null,false,null,null,null]\n", "");
}

#[test]
fn programs_run_unless_it_is_refused() {
    let home = Home::new();
    let pwd = steps(&json!([{"exec": ["sh", "-c", "pwd; exit 3"]}]));
    home.run(ask(&pwd, &[])).is(0, "[{\"code\":3,\"stdout\":\"{home}/work\\n\"}]\n", "");
    let refused = "`sh` was not run for the plugin `asks`, since --no-exec was given";
    home.run(ask(&pwd, &["--no-exec"])).is(1, "", &format!("error: {refused}\n"));
    let result = json!({"content": [{"type": "text", "text": refused}], "isError": true});
    let json = json!({"result": result, "resolved": null});
    home.run(ask(&pwd, &["--no-exec", "--json"])).is_json(1, &json, "");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let ran = Home::new().run(ask(&steps(&json!([{"exec": ["no-such-program"]}])), &[]));
    assert_eq!((ran.code(), &*ran.stdout), (1, ""));
    assert!(ran.stderr.starts_with("error: `no-such-program` was not run: "), "{}", ran.stderr);
}

#[test]
fn a_program_ends_with_the_call_that_is_interrupted() {
    let home = Home::new();
    let (pipe, told) = (home.pipe("pipe"), home.pipe("told"));
    let running = home.start(home.command(ask(&steps(&json!([holding("pipe", "told")])), &[])));
    let mut pipe = open(pipe);
    started(told);
    running.signal(Signal::INT);
    assert_eq!(running.end().code(), 130);
    closes(&mut pipe);
}

#[test]
fn a_program_that_is_left_behind_ends_with_the_command() {
    let home = Home::new();
    let (pipe, gate) = (home.pipe("pipe"), home.pipe("gate"));
    let left = json!({"steps": [{"wait": gate}, {"fail": "no"}, holding("pipe", "gate")], "together": true});
    let running = home.start(home.command(ask(&left, &[])));
    let mut pipe = open(pipe);
    running.end().is(1, "", "error: no\n");
    closes(&mut pipe);
}

/// Opens a pipe to read, once a program has opened it to write.
fn open(pipe: std::path::PathBuf) -> File {
    within("the start of the program", move || File::open(pipe).unwrap())
}

/// Ends once nobody holds the other end of this pipe.
fn closes(pipe: &mut File) {
    let mut pipe = pipe.try_clone().unwrap();
    assert_eq!(within("the program", move || pipe.read(&mut [0]).unwrap()), 0);
}

#[test]
fn a_tool_sees_that_its_session_is_at_work() {
    let state = steps(&json!(["state"]));
    Home::new().run(ask(&state, &[])).is(0, "[{\"idle\":false,\"queuedMessages\":0}]\n", "");
}

const STOPPED: &str =
    "the tool `ask` of the plugin `asks` asked to stop; what was staged and not yet applied is discarded";

#[test]
fn a_tool_that_asks_to_stop_is_stopped() {
    let fix = "run the command again once what it found is mended";
    for then in [json!({"fail": "stopped"}), json!("state")] {
        let abort = json!({"steps": ["abort", then]});
        Home::new().run(ask(&abort, &["--apply", "why"])).is(1, "", &format!("error: {STOPPED}\n  fix: {fix}\n"));
        let json = json!({"error": {"code": "aborted", "message": STOPPED, "fix": fix}});
        Home::new().run(ask(&abort, &["--json"])).is_json(1, &json, "");
    }
}

const DISCARDED: &str = "Discarded, since the session ended: action 1 (ask)\nwarning: the plugin `asks` asked to stop; \
                         what was staged and not yet applied is discarded\n";

#[test]
fn an_apply_that_asks_to_stop_is_the_last_one() {
    let home = Home::new();
    let stop = json!({"applies": [["state"], ["abort"]]});
    let preview = "[]\nPending: action 2 (ask)\nPending: action 1 (ask)\nPreview hash: {hash}\n";
    let ran = home.run(ask(&stop, &["--apply", "why"]));
    ran.is(1, &format!("{preview}Applied: action 2 (ask)\n[null]\n"), DISCARDED);
    let ran = home.run(ask(&stop, &["--apply", "why", "--json"]));
    assert_eq!((ran.code(), &*ran.stderr), (1, DISCARDED));
    assert_eq!(ran.json()["resolved"]["content"][0]["text"], "[null]");
}

#[test]
fn a_task_that_asks_to_stop_while_an_apply_runs_is_heeded() {
    let home = Home::new();
    let [pipe, gate, told] = ["pipe", "gate", "told"].map(|name| home.pipe(name));
    let later = json!([{"wait": gate}, "abort", {"wait": told}]);
    let stop = json!({"applies": [["state"], [{"wait": pipe}]], "later": later});
    let running = home.start(home.command(ask(&stop, &["--apply", "why"])));
    let apply = held(pipe);
    drop(held(gate));
    drop(held(told));
    drop(apply);
    let preview = "[]\nPending: action 2 (ask)\nPending: action 1 (ask)\nPreview hash: {hash}\n";
    running.end().is(1, &format!("{preview}Applied: action 2 (ask)\n[null]\n"), DISCARDED);
}
