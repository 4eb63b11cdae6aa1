//! What plugins say without being asked, at a terminal: notices, and a line on what is going on.

use serde_json::{Value, json};

use super::support::{Home, Terminal, ask, held};

fn steps(home: &Home, steps: &Value) -> Terminal {
    home.plainly_at_terminal(ask(&json!({"steps": steps}), &[]))
}

fn status(key: &str, text: Option<&str>) -> Value {
    json!({"status": {"key": key, "text": text}})
}

/// What takes a line of so many columns off the screen.
fn erased(columns: usize) -> String {
    format!("\r{}\r", " ".repeat(columns))
}

#[test]
fn notices_name_their_plugin_and_say_how_grave_they_are() {
    let notice = |level: &str, message: &str| json!({"notify": {"level": level, "message": message}});
    let all = json!([
        notice("info", "one\ntwo"),
        notice("warning", "w\u{1b}[2J"),
        notice("error", "  e\r "),
        notice("info", "a\nerror: b")
    ]);
    let screen = "asks: one\n    two\nwarning: asks: w\\u{1b}[2J\nerror: asks: e\nasks: a\n    error: b\n";
    steps(&Home::new(), &all).is(0, &format!("{screen}[null,null,null,null]\n"));
}

#[test]
fn a_status_stands_on_the_last_line_until_it_is_taken_away() {
    let home = Home::new();
    let gate = home.pipe("gate");
    let all = json!([status("n", Some("1 of 2")), {"wait": gate}, status("n", Some("2\tof 2")), status("n", None)]);
    let mut terminal = steps(&home, &all);
    terminal.shows("asks: 1 of 2");
    drop(held(gate));
    let erased = erased(12);
    terminal.is(0, &format!("asks: 1 of 2{erased}asks: 2 of 2{erased}[null,null,null,null]\n"));
}

#[test]
fn several_statuses_share_the_line_and_what_is_said_stands_above_it() {
    let all = json!([
        status("a", Some("one")),
        status("b", Some("two\u{1b}[1m\nx")),
        {"notify": {"level": "info", "message": "said"}},
        {"update": "so far"}
    ]);
    let (code, screen) = steps(&Home::new(), &all).end();
    let (one, both) = ("asks: one", r"asks: one | asks: two\u{1b}[1m\nx");
    let (gone, both_gone) = (erased(one.len()), erased(both.len()));
    // An update comes by another way than the rest, and so does its line.
    let said = format!("{one}{gone}{both}{both_gone}asks: said\n{both}{both_gone}");
    assert!(screen.starts_with(&said), "{screen:?}");
    let end = format!("so far\n{both}{both_gone}[null,null,null,true]\n{both}{both_gone}");
    assert!(code == 0 && screen.ends_with(&end), "{screen:?}");
}

#[test]
fn a_status_is_cut_at_the_width_of_the_terminal() {
    let long = "x".repeat(100);
    let all = json!([status("a", Some(&long))]);
    let shown = format!("asks: {}", "x".repeat(73));
    let erased = erased(79);
    steps(&Home::new(), &all).is(0, &format!("{shown}{erased}[null]\n{shown}{erased}"));
}

#[test]
fn a_status_makes_place_for_a_question() {
    let all = json!([status("a", Some("busy")), {"confirm": {"title": "Go on?"}}]);
    let mut terminal = steps(&Home::new(), &all);
    terminal.at("[y/N]: ", "y\n");
    let (busy, erased) = ("asks: busy", erased(10));
    let asked = format!("{busy}{erased}asks (ask) asks: Go on?\n{busy}{erased}[y/N]: y\n");
    terminal.is(0, &format!("{asked}{busy}{erased}[null,true]\n{busy}{erased}"));
}

#[test]
fn where_nobody_sees_them_there_are_none() {
    let all = json!({"steps": [status("a", Some("x")), {"notify": {"level": "error", "message": "y"}}]});
    Home::new().run(ask(&all, &[])).is(0, "[null,null]\n", "");
    let (code, screen) = Home::new().plainly_at_terminal(ask(&all, &["--json"])).end();
    assert_eq!((code, screen.matches('\n').count()), (0, 1), "{screen}");
}
