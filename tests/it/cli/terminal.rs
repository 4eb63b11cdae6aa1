//! Asking a person at a terminal.

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{
    APPLY_INTERRUPTED, CTRL_C, CTRL_D, ENTER, Home, PROMPT, REASON, Terminal, bad, call, good, held, plugin, stage,
};
use crate::support::{fail, text};

const ONE: &str = "staged\nPending: one (test)\nPreview hash: {hash}\n\none (test)\n";
const TWO: &str = "staged\nPending: two (test)\nPending: one (test)\nPreview hash: {hash}\n\ntwo (test) (1 of 2)\n";
const ENDED: &str = "Discarded, since the session ended: one (test)\n";

/// A preview of one action at a terminal.
fn one() -> Terminal {
    Home::new().staging_at_terminal(&json!([good("one")]))
}

fn two() -> Terminal {
    Home::new().staging_at_terminal(&json!([good("one"), good("two")]))
}

#[test]
fn enter_alone_asks_again_and_never_applies() {
    let mut terminal = one();
    terminal.answer("");
    terminal.answer("q");
    terminal.is(0, &format!("{ONE}{PROMPT}\n{PROMPT}q\n{ENDED}"));
}

#[test]
fn enter_for_the_reason_applies_with_the_default_one() {
    let home = Home::new();
    let mut terminal = home.staging_at_terminal(&json!([good("one")]));
    terminal.answer("a");
    terminal.at(REASON, ENTER);
    let applied = "Applied: one (test)\none done: decided at the terminal\n";
    terminal.is(0, &format!("{ONE}{PROMPT}a\n{REASON}\n{applied}"));
    let journal = home.run(["journal"]).stdout;
    assert!(journal.ends_with("  one (test): applied; reason: decided at the terminal\n"), "{journal}");
}

#[test]
fn a_reason_is_taken() {
    let mut terminal = one();
    terminal.answer(" Apply ");
    terminal.at(REASON, " looks right \n");
    let applied = "Applied: one (test)\none done: looks right\n";
    terminal.is(0, &format!("{ONE}{PROMPT} Apply \n{REASON} looks right \n{applied}"));
}

#[test]
fn a_discard_is_taken() {
    let mut terminal = one();
    terminal.answer("d");
    terminal.at(REASON, ENTER);
    let discarded = "Discarded: one (test)\nReason: decided at the terminal\n";
    terminal.is(0, &format!("{ONE}{PROMPT}d\n{REASON}\n{discarded}"));
}

#[test]
fn other_answers_are_explained() {
    let mut terminal = one();
    terminal.answer("yes");
    terminal.answer("?");
    terminal.answer("q");
    let unknown = "`yes` is no answer; type a, d, v or q, then Enter.\n";
    let help = "a makes the change, d drops it, v shows it, q drops it and all others.\n";
    terminal.is(0, &format!("{ONE}{PROMPT}yes\n{unknown}{PROMPT}?\n{help}{PROMPT}q\n{ENDED}"));
}

#[test]
fn a_view_shows_what_would_change() {
    let home = Home::new();
    let path = home.work("a.txt");
    let diff = "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n";
    let changes = json!([
        {"kind": "rename", "oldPath": home.work("x"), "path": home.work("y")},
        {"kind": "modify", "path": path, "diff": diff}
    ]);
    let mut action = good("one");
    action["details"] = json!({"changes": changes});
    let mut terminal = home.staging_at_terminal(&json!([action]));
    terminal.answer("v");
    terminal.answer("q");
    let shown = "rename x -> y\nmodify a.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let preview = ONE.replace("staged\n", &format!("staged\n\n{shown}"));
    terminal.is(0, &format!("{preview}{PROMPT}v\n{shown}{PROMPT}q\n{ENDED}"));
    let mut terminal = one();
    terminal.answer("view");
    terminal.answer("quit");
    terminal.is(0, &format!("{ONE}{PROMPT}view\nIt says nothing more about itself.\n{PROMPT}quit\n{ENDED}"));
}

#[test]
fn the_end_of_input_discards() {
    let mut terminal = one();
    terminal.at(PROMPT, CTRL_D);
    terminal.is(0, &format!("{ONE}{PROMPT}\n{ENDED}"));
    let mut terminal = one();
    terminal.answer("a");
    terminal.at(REASON, CTRL_D);
    terminal.is(0, &format!("{ONE}{PROMPT}a\n{REASON}\n{ENDED}"));
}

#[test]
fn an_interrupt_at_the_prompt_discards() {
    let interrupted = "Discarded, since the session was interrupted: one (test)\n";
    let mut terminal = one();
    terminal.at(PROMPT, CTRL_C);
    terminal.is(130, &format!("{ONE}{PROMPT}^C\n{interrupted}"));
    let mut terminal = one();
    terminal.answer("a");
    terminal.at(REASON, CTRL_C);
    terminal.is(130, &format!("{ONE}{PROMPT}a\n{REASON}^C\n{interrupted}"));
}

#[test]
fn an_interrupt_while_an_apply_runs_waits_for_its_end() {
    let home = Home::new();
    let pipe = home.pipe("pipe");
    let mut apply = text("two done");
    apply["wait"] = json!(pipe);
    let two = json!({"label": "two", "source": "test", "apply": [apply]});
    let mut terminal = home.staging_at_terminal(&json!([good("one"), two]));
    terminal.answer("a");
    terminal.at(REASON, ENTER);
    let apply = held(pipe);
    terminal.types(CTRL_C);
    terminal.shows(APPLY_INTERRUPTED.trim_end());
    drop(apply);
    let applied = format!("{PROMPT}a\n{REASON}\n^C{APPLY_INTERRUPTED}Applied: two (test)\ntwo done\n");
    terminal.is(130, &format!("{TWO}{applied}Discarded, since the session was interrupted: one (test)\n"));
}

#[test]
fn a_failed_apply_asks_again() {
    let action = json!({"label": "one", "source": "test", "apply": [fail("busy"), text("done now")]});
    let mut terminal = Home::new().staging_at_terminal(&json!([action]));
    for _ in 0..2 {
        terminal.answer("a");
        terminal.at(REASON, ENTER);
    }
    let asked = format!("{PROMPT}a\n{REASON}\n");
    let failed = "error: Not applied: one (test)\n    Apply failed: busy\n";
    terminal.is(0, &format!("{ONE}{asked}{failed}\none (test)\n{asked}Applied: one (test)\ndone now\n"));
}

#[test]
fn a_failed_apply_that_is_given_up_is_a_failure() {
    let asked = format!("{PROMPT}a\n{REASON}\nerror: Not applied: one (test)\n    Apply failed: busy\n\none (test)\n");
    let ends = [
        (&["q"][..], format!("{PROMPT}q\n{ENDED}")),
        (&["d", ""], format!("{PROMPT}d\n{REASON}\nDiscarded: one (test)\nReason: decided at the terminal\n")),
    ];
    for (answers, end) in ends {
        let mut terminal = Home::new().staging_at_terminal(&json!([bad("one", "busy")]));
        terminal.answer("a");
        terminal.at(REASON, ENTER);
        terminal.answer(answers[0]);
        if let Some(reason) = answers.get(1) {
            terminal.at(REASON, &format!("{reason}\n"));
        }
        terminal.is(1, &format!("{ONE}{asked}{end}"));
    }
}

#[test]
fn several_actions_are_asked_for_newest_first() {
    let mut terminal = two();
    terminal.answer("a");
    terminal.at(REASON, "first\n");
    terminal.answer("d");
    terminal.at(REASON, "second\n");
    let applied = format!("{PROMPT}a\n{REASON}first\nApplied: two (test)\ntwo done: first\n");
    let discarded = format!("{PROMPT}d\n{REASON}second\nDiscarded: one (test)\nReason: second\n");
    terminal.is(0, &format!("{TWO}{applied}\none (test) (2 of 2)\n{discarded}"));
}

#[test]
fn quitting_discards_all_that_is_left() {
    let mut terminal = two();
    terminal.answer("q");
    let ended = "Discarded, since the session ended: two (test)\nDiscarded, since the session ended: one (test)\n";
    terminal.is(0, &format!("{TWO}{PROMPT}q\n{ended}"));
}

/// What a command prints at a terminal where nobody is asked, with escapes made visible.
fn shown(arguments: Vec<String>, environment: &[(&str, &str)]) -> (i32, String) {
    let home = Home::new();
    let mut command = home.command(arguments);
    command.envs(environment.iter().copied());
    let (code, screen) = home.at_terminal(command).end();
    (code, screen.replace('\u{1b}', "ESC"))
}

fn coloured(actions: &Value, options: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
    shown(stage(actions, options), environment)
}

#[test]
fn colours_are_for_terminals_that_want_them() {
    let actions = json!([bad("one", "disk full")]);
    let plain = "staged\nPending: one (test)\nPreview hash: {hash}\nerror: Not applied: one (test)\n    Apply failed: disk \
                 full\nDiscarded, since the session ended: one (test)\n";
    let bold = "staged\nESC[1mPending:ESC[0m one (test)\nESC[1mPreview hash:ESC[0m {hash}\nESC[1mESC[31merror:ESC[0m \
                ESC[1mNot applied:ESC[0m one (test)\n    Apply failed: disk full\nDiscarded, since the session ended: one \
                (test)\n";
    let options = ["--apply", "why"];
    assert_eq!(coloured(&actions, &options, &[]), (1, bold.to_owned()));
    assert_eq!(coloured(&actions, &options, &[("NO_COLOR", "1")]), (1, plain.to_owned()));
    assert_eq!(coloured(&actions, &options, &[("TERM", "dumb")]), (1, plain.to_owned()));
}

#[test]
fn a_program_is_never_asked_though_there_is_a_terminal() {
    let (code, screen) = coloured(&json!([good("one")]), &["--json"], &[]);
    let (said, json) = screen.trim_end().rsplit_once('\n').unwrap();
    let json: Value = serde_json::from_str(json).unwrap();
    assert_eq!((code, &json["resolved"]), (0, &Value::Null));
    let undecided = "Discarded, since the session ended without a decision: one (test)\nTo apply, run the command again \
                     with --apply REASON, and --expect HASH for this preview.";
    assert_eq!(said, undecided);
}

#[test]
fn progress_is_shown_on_a_terminal_alone() {
    let arguments = || call(&plugin(Fixture::Stage), "updates", &json!({"count": 3}), &[]);
    assert_eq!(shown(arguments(), &[]), (0, "0\n1\n2\nall\n".to_owned()));
    Home::new().run(arguments()).is(0, "all\n", "");
}
