//! A plugin asks a person at a terminal.

use serde_json::{Value, json};

use super::support::{APPLY_INTERRUPTED, CTRL_C, CTRL_D, ENTER, Home, PROMPT, REASON, Terminal, ask, held};

const WHO: &str = "asks (ask) asks: ";
const CHOOSE: &str = "Number or beginning, q for none: ";
const YES_OR_NO: &str = "[y/N]: ";
const INPUT: &str = "(Ctrl-D for none): ";
const TOOL_INTERRUPTED: &str = "Interrupted; waiting for the tool to stop.\n";
const INTERRUPTED: &str = "error: interrupted; what was staged was discarded\n  fix: run the command again\n";
const STOPPED: &str = "what was staged and not yet applied is discarded";

/// A call at a terminal that takes these steps.
fn steps(steps: &Value) -> Terminal {
    Home::new().plainly_at_terminal(ask(&json!({"steps": steps}), &[]))
}

/// Answers a question in these lines, each at the prompt. Compares what is on the screen in the end.
#[track_caller]
fn answered(question: &Value, prompt: &str, lines: &[&str], screen: &str) {
    let mut terminal = steps(&json!([question]));
    lines.iter().for_each(|line| terminal.at(prompt, line));
    terminal.is(0, screen);
}

fn branch() -> Value {
    json!({"select": {"title": "Onto which branch?", "options": ["main", "maintenance", "next"]}})
}

const BRANCHES: &str = "asks (ask) asks: Onto which branch?\n  1  main\n  2  maintenance\n  3  next\n";

#[test]
fn a_person_chooses_by_number_or_beginning() {
    for (answer, chosen) in [("2\n", "1"), (" NEX \n", "2"), ("main\n", "0"), ("q\n", "null")] {
        answered(&branch(), CHOOSE, &[answer], &format!("{BRANCHES}{CHOOSE}{answer}[{chosen}]\n"));
    }
    answered(&branch(), CHOOSE, &[CTRL_D], &format!("{BRANCHES}{CHOOSE}\n[null]\n"));
}

#[test]
fn a_choice_that_is_not_clear_is_asked_for_again() {
    let screen = format!(
        "{BRANCHES}{CHOOSE}\n{CHOOSE}4\n`4` is none of them; type a number from 1 to 3, or how one begins, then Enter.\n\
         {CHOOSE}ma\n`ma` begins 2 of them; type a number from 1 to 3, or more of it.\n{CHOOSE}1\n[0]\n"
    );
    answered(&branch(), CHOOSE, &[ENTER, "4\n", "ma\n", "1\n"], &screen);
}

#[test]
fn nothing_to_choose_from_is_not_asked() {
    steps(&json!([{"select": {"title": "T", "options": []}}])).is(0, "[null]\n");
}

#[test]
fn only_a_clear_yes_is_yes() {
    let question = json!({"confirm": {"title": "Delete them?", "message": "3 files\nin a"}});
    let asked = format!("{WHO}Delete them?\n  3 files\n  in a\n{YES_OR_NO}");
    for (answer, agreed) in [("y\n", true), ("Yes\n", true), ("\n", false), ("n\n", false), ("NO\n", false)] {
        answered(&question, YES_OR_NO, &[answer], &format!("{asked}{answer}[{agreed}]\n"));
    }
    answered(&question, YES_OR_NO, &[CTRL_D], &format!("{asked}\n[false]\n"));
    let again = format!("{asked}sure\n`sure` is no answer; type y or n, then Enter.\n{YES_OR_NO}y\n[true]\n");
    answered(&question, YES_OR_NO, &["sure\n", "y\n"], &again);
}

#[test]
fn a_line_of_text_is_taken_as_it_is() {
    let question = json!({"input": {"title": "Your name?"}});
    answered(&question, INPUT, &[" Ada L. \n"], &format!("{WHO}Your name?\n{INPUT} Ada L. \n[\" Ada L. \"]\n"));
    answered(&question, INPUT, &[ENTER], &format!("{WHO}Your name?\n{INPUT}\n[\"\"]\n"));
    answered(&question, INPUT, &[CTRL_D], &format!("{WHO}Your name?\n{INPUT}\n[null]\n"));
    let question = json!({"input": {"title": "Your name?", "placeholder": "Ada"}});
    let prompt = "(such as Ada; Ctrl-D for none): ";
    answered(&question, prompt, &["Bo\n"], &format!("{WHO}Your name?\n{prompt}Bo\n[\"Bo\"]\n"));
}

#[test]
fn there_is_a_person_where_questions_can_be_seen_and_answered() {
    let has_ui = json!({"steps": ["hasUi"]});
    Home::new().plainly_at_terminal(ask(&has_ui, &[])).is(0, "[true]\n");
    let (code, screen) = Home::new().plainly_at_terminal(ask(&has_ui, &["--json"])).end();
    let json: Value = serde_json::from_str(&screen).unwrap();
    assert_eq!((code, &json["result"]["content"][0]["text"]), (0, &json!("[false]")));
}

#[test]
fn a_question_cannot_steer_the_terminal_or_pass_for_the_commands_own() {
    let title = "a\u{1b}[2J\nerror: b\u{202e}";
    let asked = "asks (ask) asks: a\\u{1b}[2J\\nerror: b\\u{202e}\n";
    let question = json!({"select": {"title": title, "options": ["x\ny\u{7}"]}});
    answered(&question, CHOOSE, &["x\n"], &format!("{asked}  1  x\\ny\\u{{7}}\n{CHOOSE}x\n[0]\n"));
    let question = json!({"confirm": {"title": title, "message": "m\u{1b}c\n\rerror: n"}});
    let screen = format!("{asked}  m\\u{{1b}}c\n  \\rerror: n\n{YES_OR_NO}y\n[true]\n");
    answered(&question, YES_OR_NO, &["y\n"], &screen);
    let question = json!({"input": {"title": title, "placeholder": "p\u{9b}\nq"}});
    let prompt = "(such as p\\u{9b}\\nq; Ctrl-D for none): ";
    answered(&question, prompt, &["z\n"], &format!("{asked}{prompt}z\n[\"z\"]\n"));
}

#[test]
fn one_question_waits_for_another() {
    let questions = json!([{"input": {"title": "One?"}}, {"input": {"title": "Two?"}}]);
    let args = ask(&json!({"steps": questions, "together": true}), &[]);
    let mut terminal = Home::new().plainly_at_terminal(args);
    terminal.at(INPUT, "x\n");
    terminal.at(INPUT, "x\n");
    let (code, screen) = terminal.end();
    let asked = |title: &str| format!("{WHO}{title}\n{INPUT}x\n");
    let [one, two] = [asked("One?"), asked("Two?")];
    let either = [format!("{one}{two}"), format!("{two}{one}")].map(|asked| format!("{asked}[\"x\",\"x\"]\n"));
    assert!(code == 0 && either.contains(&screen), "{code} {screen}");
}

#[test]
fn a_question_that_is_taken_back_leaves_the_keyboard_to_the_next() {
    let home = Home::new();
    let gate = home.pipe("gate");
    let questions = json!([{"takeBack": {"title": "Wait?", "gate": gate}}, {"input": {"title": "Name?"}}]);
    let mut terminal = home.plainly_at_terminal(ask(&json!({"steps": questions}), &[]));
    terminal.shows(YES_OR_NO);
    drop(held(gate));
    terminal.at(INPUT, "Ada\n");
    let taken_back = format!("{WHO}Wait?\n{YES_OR_NO}\nThe question was taken back.\n");
    terminal.is(0, &format!("{taken_back}{WHO}Name?\n{INPUT}Ada\n[\"taken back\",\"Ada\"]\n"));
}

/// What Ctrl-C at a question leaves on the screen.
fn interrupted(question: &Value, prompt: &str, asked: &str) {
    let mut terminal = steps(&json!([question]));
    let modes = terminal.modes();
    terminal.at(prompt, CTRL_C);
    let screen = format!("{asked}{prompt}^C\n{TOOL_INTERRUPTED}{INTERRUPTED}");
    assert_eq!(terminal.end_with_modes(), (130, screen, modes));
}

#[test]
fn an_interrupt_at_a_question_stops_the_tool_and_leaves_the_terminal_as_it_was() {
    interrupted(&branch(), CHOOSE, BRANCHES);
    interrupted(&json!({"confirm": {"title": "T"}}), YES_OR_NO, &format!("{WHO}T\n"));
    interrupted(&json!({"input": {"title": "T"}}), INPUT, &format!("{WHO}T\n"));
}

#[test]
fn an_apply_asks_too() {
    let applies = json!({"applies": [[{"confirm": {"title": "Overwrite?"}}]]});
    let preview = "[]\nPending: action 1 (ask)\nPreview hash: {hash}\n\naction 1 (ask)\n";
    let applying = format!("{preview}{PROMPT}a\n{REASON}\nasks asks: Overwrite?\n{YES_OR_NO}");
    let begin = || {
        let mut terminal = Home::new().plainly_at_terminal(ask(&applies, &[]));
        terminal.answer("a");
        terminal.at(REASON, ENTER);
        terminal
    };
    let mut terminal = begin();
    terminal.at(YES_OR_NO, "y\n");
    terminal.is(0, &format!("{applying}y\nApplied: action 1 (ask)\n[true]\n"));
    // The apply is answered, and goes on to its end.
    let mut terminal = begin();
    terminal.at(YES_OR_NO, CTRL_C);
    terminal.is(130, &format!("{applying}^C\n{APPLY_INTERRUPTED}Applied: action 1 (ask)\n[false]\n"));
}

const ONE: &str = "[]\nPending: action 1 (ask)\nPreview hash: {hash}\n\naction 1 (ask)\n";

/// A call that stages an action and leaves a task behind; the task's gate.
fn left_behind(home: &Home, step: &Value) -> (Terminal, std::path::PathBuf) {
    let gate = home.pipe("gate");
    let params = json!({"applies": [["state"]], "later": [{"wait": gate}, step]});
    (home.plainly_at_terminal(ask(&params, &[])), gate)
}

#[test]
fn a_task_that_asks_to_stop_takes_back_what_a_person_is_to_decide() {
    let home = Home::new();
    let (mut terminal, gate) = left_behind(&home, &json!("abort"));
    terminal.shows(PROMPT);
    drop(held(gate));
    let stopped = format!("warning: the plugin `asks` asked to stop; {STOPPED}\n");
    let discarded = "Discarded, since the session ended: action 1 (ask)\n";
    terminal.is(1, &format!("{ONE}{PROMPT}\nThe question was taken back.\n{discarded}{stopped}"));
}

#[test]
fn what_is_said_during_a_question_stands_above_it() {
    let home = Home::new();
    let notice = json!({"notify": {"level": "warning", "message": "low on disk"}});
    let (mut terminal, gate) = left_behind(&home, &notice);
    terminal.shows(PROMPT);
    drop(held(gate));
    terminal.answer("q");
    let said = "warning: asks: low on disk\n";
    let discarded = "Discarded, since the session ended: action 1 (ask)\n";
    terminal.is(0, &format!("{ONE}{PROMPT}\n{said}{PROMPT}q\n{discarded}"));
}
