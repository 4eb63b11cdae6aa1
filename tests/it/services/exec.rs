//! Programs that are run for a plugin.

use serde_json::{Value, json};
use toolhost_loader::{CallError, SessionOptions};
use toolhost_tests::Fixture;

use super::{Program, call, failure, plain, session};
use crate::support::{Pipe, bounded, host_of, on_every_runtime, open};

on_every_runtime![
    a_program_gets_what_is_asked_for_and_says_how_it_ended,
    bytes_that_are_no_text_survive_in_both_directions,
    limits_end_a_program_and_cut_its_output,
    who_asks_is_the_call_or_a_task_of_the_plugin,
    cancelling_a_call_kills_all_that_its_program_started,
    a_call_that_is_dropped_takes_its_program_along,
    a_call_that_is_cancelled_before_it_begins_starts_no_program,
    a_host_that_offers_nothing_runs_nothing_and_says_so,
    what_cannot_be_run_and_what_fails_says_why,
];

fn ended(stdout: &str, stderr: &str, code: i32) -> Value {
    json!({
        "stdout": stdout, "stderr": stderr, "code": code, "killed": false, "killedBy": null, "truncated": false,
        "cancelled": false
    })
}

fn killed(by: &str, cancelled: bool) -> Value {
    json!({
        "stdout": "", "stderr": "", "code": 143, "killed": true, "killedBy": by, "truncated": false,
        "cancelled": cancelled
    })
}

async fn a_program_gets_what_is_asked_for_and_says_how_it_ended() {
    let (program, directory) = (Program::default(), tempfile::tempdir().unwrap());
    let cwd = directory.path().canonicalize().unwrap();
    std::fs::create_dir(cwd.join("sub")).unwrap();
    let options = SessionOptions::new("asking").services(program.clone()).cwd(&cwd);
    let session = open(&host_of(&[Fixture::Services]).await, options).await;

    let request = json!({
        "command": "sh",
        "args": ["-c", "pwd; echo \"$1 $A ${HOME-none}\"; cat; echo oops >&2; exit 3", "sh", "one  $A"],
        "cwd": "sub",
        "env": {"A": "a b", "HOME": null},
        "stdin": "typed",
        "timeLimitMs": 60_000,
        "outputBytes": 500,
    });
    let (id, output) = call(&session, "exec", request.clone()).await;
    let stdout = format!("{}\none  $A a b none\ntyped", cwd.join("sub").display());
    assert_eq!(output, ended(&stdout, "oops\n", 3));
    assert_eq!(program.take(), [json!({"exec": request, "by": ["services", "exec", id, "asking"]})]);

    // By default it runs in the session's directory, and reads nothing.
    let (id, output) = call(&session, "exec", json!({"command": "sh", "args": ["-c", "pwd; cat"]})).await;
    assert_eq!(output, ended(&format!("{}\n", cwd.display()), "", 0));
    let request = json!({"command": "sh", "args": ["-c", "pwd; cat"]});
    assert_eq!(program.take(), [json!({"exec": request, "by": ["services", "exec", id, "asking"]})]);
}

async fn bytes_that_are_no_text_survive_in_both_directions() {
    let session = session(&Program::default()).await;
    let bytes = json!([0x66, 0xff, 0x00, 0xc3, 0x28, 0xe9]);
    let (_, output) = call(&session, "exec", json!({"command": "cat", "stdin": bytes})).await;
    assert_eq!((&output["stdout"], &output["stderr"]), (&bytes, &json!("")));

    let no_text = json!([0x66, 0xff, 0xe9]);
    let parameters = json!({
        "command": "sh", "args": ["-c", "printf %s \"$1\"; printf %s \"$A\" >&2", "sh", no_text], "env": {"A": no_text}
    });
    let (_, output) = call(&session, "exec", parameters).await;
    assert_eq!((&output["stdout"], &output["stderr"], &output["code"]), (&no_text, &no_text, &json!(0)));
}

async fn limits_end_a_program_and_cut_its_output() {
    let session = session(&Program::default()).await;
    let mut sleeps = json!({"command": "sleep", "args": ["1000"], "timeLimitMs": 1});
    let (_, output) = call(&session, "exec", sleeps.clone()).await;
    assert_eq!(output, killed("timeLimit", false));
    sleeps["requireSuccess"] = json!(true);
    assert_eq!(failure(&session, "exec", sleeps).await, "`sleep` was killed after its time limit of 0.001 s");
    let (_, output) = call(&session, "exec", json!({"command": "sh", "args": ["-c", "kill -TERM $$"]})).await;
    assert_eq!(output, killed("signal", false));

    let print =
        |bytes: Value| json!({"command": "sh", "args": ["-c", "printf %01200d 7; echo err >&2"], "outputBytes": bytes});
    for (asked, kept) in [(json!(3), 3), (json!(null), 1_000), (json!(5_000), 1_000)] {
        let (_, output) = call(&session, "exec", print(asked)).await;
        assert_eq!(output["stdout"], "0".repeat(kept));
        assert_eq!(
            (&output["code"], &output["killed"], &output["truncated"]),
            (&json!(0), &json!(false), &json!(true))
        );
    }
}

async fn who_asks_is_the_call_or_a_task_of_the_plugin() {
    let program = Program::default();
    let session = session(&program).await;
    for from in ["call", "scope"] {
        let (id, output) = call(&session, "exec", json!({"command": "true", "from": from})).await;
        assert_eq!(output, ended("", "", 0));
        assert_eq!(program.take()[0]["by"], json!(["services", "exec", id, "asking"]), "{from}");
    }
    let (_, output) = call(&session, "exec", json!({"command": "true", "from": "task"})).await;
    assert_eq!(output, ended("", "", 0));
    assert_eq!(program.take()[0]["by"], json!(["services", null, null, "asking"]));
}

/// A shell and what it started: all of them hold the pipe `held` open, whose reader sees its end once all are gone.
fn family(held: &Pipe, started: &Pipe, from: &str) -> Value {
    let script = r#"exec 3> "$0"; sleep 1000 & sh -c 'sleep 1000 & wait' & echo > "$1"; wait"#;
    json!({"command": "sh", "args": ["-c", script, held.path(), started.path()], "from": from})
}

async fn cancelling_a_call_kills_all_that_its_program_started() {
    let session = session(&Program::default()).await;
    for from in ["call", "scope"] {
        let (held, started) = (Pipe::new(), Pipe::new());
        let running = session.call("exec", family(&held, &started, from));
        let cancellation = running.cancellation();
        let running = tokio::spawn(running);
        let all_gone = held.told();
        let begun = async {
            started.told().await;
            cancellation.cancel();
        };
        let (nothing, ()) = tokio::join!(all_gone, begun);
        assert_eq!(nothing, "");
        let output = running.await.unwrap().unwrap().details.unwrap();
        assert_eq!(output, killed("cancellation", true), "{from}");
    }
}

async fn a_call_that_is_dropped_takes_its_program_along() {
    let session = session(&Program::default()).await;
    let (held, started) = (Pipe::new(), Pipe::new());
    let running = tokio::spawn(session.call("exec", family(&held, &started, "call")));
    let begun = async {
        started.told().await;
        running.abort();
    };
    let (nothing, ()) = tokio::join!(held.told(), begun);
    assert_eq!(nothing, "");
    assert!(running.await.unwrap_err().is_cancelled());
    assert_eq!(call(&session, "exec", json!({"command": "true"})).await.1, ended("", "", 0));
}

async fn a_call_that_is_cancelled_before_it_begins_starts_no_program() {
    let program = Program::default();
    let session = session(&program).await;
    let running = session.call("exec", json!({"command": "true"}));
    running.cancellation().cancel();
    assert_eq!(bounded(running).await, Err(CallError::Cancelled { tool: "exec".to_owned() }));
    assert_eq!(program.take(), Vec::<Value>::new());
}

async fn a_host_that_offers_nothing_runs_nothing_and_says_so() {
    let session = plain().await;
    let text = "this host runs no programs for plugins, so `git` was not run for `services`";
    assert_eq!(failure(&session, "exec", json!({"command": "git"})).await, text);
}

async fn what_cannot_be_run_and_what_fails_says_why() {
    let session = session(&Program::default()).await;
    let parameters = json!({"command": "no-such-program", "env": {"PATH": "/nowhere"}});
    let text = "`no-such-program` was not run: it is in none of the directories of PATH, which is \"/nowhere\"; install \
                it, or give its path";
    assert_eq!(failure(&session, "exec", parameters).await, text);
    let script = "echo 'fatal: no repository' >&2; exit 128";
    let parameters = json!({"command": "sh", "args": ["-c", script], "requireSuccess": true});
    assert_eq!(failure(&session, "exec", parameters).await, "`sh` ended with code 128: fatal: no repository");
}
