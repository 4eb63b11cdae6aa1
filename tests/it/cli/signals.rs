//! Signals: what is staged is discarded, and an apply is waited for.

use std::fs::File;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{APPLY_INTERRUPTED, Home, Running, call, good, held, plugin, started};
use crate::support::text;

const INTERRUPTED: &str = "interrupted; what was staged was discarded";
const ERROR: &str = "error: interrupted; what was staged was discarded\n  fix: run the command again\n";
const TOOL: &str = "Interrupted; waiting for the tool to stop.\n";
const SECOND: &str = "Still waiting; once more stops it half way, and what it changed stays as it is then.\n";

/// A tool that waits until it is stopped.
fn waiting(home: &Home, then: &str, options: &[&str]) -> Running {
    let pipe = home.pipe("started");
    let params = json!({"started": pipe, "then": then});
    let running = home.start(home.command(call(&plugin(Fixture::Stage), "waits", &params, options)));
    started(pipe);
    running
}

/// Two actions, of which the second to come waits at this pipe as it is applied.
fn two(pipe: &Path) -> Value {
    let mut apply = text("two done");
    apply["wait"] = json!(pipe);
    json!([good("one"), {"label": "two", "source": "test", "apply": [apply]}])
}

const STAGED: &str = "staged\nPending: two (test)\nPending: one (test)\nPreview hash: {hash}\n";

#[test]
fn a_tool_that_is_interrupted_is_stopped() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        for then in ["return", "fail"] {
            let home = Home::new();
            let running = waiting(&home, then, &[]);
            running.signal(signal);
            running.end().is(code, "", &format!("{TOOL}{ERROR}"));
        }
    }
}

#[test]
fn a_tool_that_is_interrupted_gives_a_program_one_object() {
    let home = Home::new();
    let running = waiting(&home, "return", &["--apply", "why", "--json"]);
    running.signal(Signal::INT);
    let json = json!({"error": {"code": "interrupted", "message": INTERRUPTED, "fix": "run the command again"}});
    running.end().is_json(130, &json, TOOL);
}

#[test]
fn what_is_staged_after_an_interrupt_is_never_applied() {
    let home = Home::new();
    let running = waiting(&home, "push", &["--apply", "why"]);
    running.signal(Signal::INT);
    running.end().is(130, "", &format!("{TOOL}{ERROR}"));
    home.run(["journal"]).is(0, "", "Nothing is on record in {home}/state/toolhost/journal.\n");
}

/// A tool that blocks as long as the file is open, on a machine with one processor.
fn blocking(home: &Home) -> (Running, File) {
    let pipe = home.pipe("gate");
    let mut command = home.command(call(&plugin(Fixture::Life), "blocks", &json!({"gate": pipe}), &[]));
    // What the host's runtime does there, unless it takes care of this itself.
    command.env("TOKIO_WORKER_THREADS", "1");
    (home.start(command), held(pipe))
}

#[test]
fn a_tool_that_blocks_is_left_behind() {
    let home = Home::new();
    let (running, _held) = blocking(&home);
    running.signal(Signal::INT);
    let ran = running.end();
    assert_eq!((ran.code(), &*ran.stdout), (130, ""));
    // A tool that blocks may also be reported by the log.
    let said = ran.stderr.lines().filter(|line| !line.contains(" toolhost_")).collect::<Vec<_>>();
    assert_eq!(said.join("\n") + "\n", format!("{TOOL}{ERROR}"));
}

#[test]
fn a_second_signal_ends_a_tool_at_once() {
    let home = Home::new();
    let (mut running, _held) = blocking(&home);
    running.signal(Signal::INT);
    running.says(TOOL);
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!((ran.code(), &*ran.stdout), (143, ""));
    assert!(!ran.stderr.contains("error:"), "{}", ran.stderr);
}

#[test]
fn an_apply_that_is_interrupted_is_waited_for_and_the_rest_is_discarded() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let home = Home::new();
        let pipe = home.pipe("pipe");
        let mut running = home.staging(&two(&pipe), &["--apply", "why"]);
        let apply = held(pipe);
        running.signal(signal);
        running.says(APPLY_INTERRUPTED);
        drop(apply);
        running.end().is(
            code,
            &format!("{STAGED}Applied: two (test)\ntwo done\n"),
            &format!("{APPLY_INTERRUPTED}Discarded, since the session was interrupted: one (test)\n"),
        );
        let journal = home.run(["journal"]).stdout;
        assert!(journal.contains("  one (test): discarded; reason: the session was interrupted\n"), "{journal}");
        assert!(journal.ends_with("  two (test): applied; reason: why\n"), "{journal}");
    }
}

#[test]
fn an_apply_that_is_interrupted_gives_a_program_its_result() {
    let home = Home::new();
    let pipe = home.pipe("pipe");
    let mut running = home.staging(&two(&pipe), &["--apply", "why", "--json"]);
    let apply = held(pipe);
    running.signal(Signal::INT);
    running.says(APPLY_INTERRUPTED);
    drop(apply);
    let ran = running.end();
    assert_eq!(ran.code(), 130);
    let json = ran.json();
    assert_eq!(json["resolved"]["content"][0]["text"], "two done");
    assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), ["previewHash", "resolved", "result"]);
}

#[test]
fn an_apply_is_ended_half_way_only_by_the_third_signal() {
    let home = Home::new();
    let pipe = home.pipe("pipe");
    let mut running = home.staging(&two(&pipe), &["--apply", "why"]);
    let _apply = held(pipe);
    running.signal(Signal::INT);
    running.says(APPLY_INTERRUPTED);
    running.signal(Signal::INT);
    running.says(SECOND);
    running.signal(Signal::INT);
    running.end().is(130, STAGED, &format!("{APPLY_INTERRUPTED}{SECOND}"));
    let ran = home.run(["journal"]);
    assert!(ran.stderr.starts_with("warning: the apply of two (test) was cut off after "), "{}", ran.stderr);
    assert!(ran.stdout.contains("  two (test): unknown; its apply was cut off; reason: why\n"), "{}", ran.stdout);
}
