//! Results in a tool's own lines.

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, Ran, call, plugin};

/// A call of the tool that renders its result like this.
fn drawn(draw: &Value, options: &[&str]) -> Vec<String> {
    let params = json!({"text": "said", "draw": draw, "fail": false});
    call(&plugin(Fixture::Asks), "draw", &params, options)
}

/// What is on a terminal of so many columns then.
fn at(columns: u16, draw: &Value) -> (i32, String) {
    let home = Home::new();
    let mut command = home.command(drawn(draw, &[]));
    command.env("NO_COLOR", "1");
    home.at_terminal_of(columns, command).end()
}

#[test]
fn a_tool_renders_its_result_for_the_terminal() {
    let draw = json!({"lines": ["+---+", "| {view} |"]});
    assert_eq!(at(40, &draw), (0, "+---+\n| 40 expanded |\n".to_owned()));
    // A terminal that does not say.
    assert_eq!(at(0, &draw), (0, "+---+\n| 80 expanded |\n".to_owned()));
}

#[test]
fn its_lines_are_made_fit_for_the_terminal() {
    let draw = json!({"lines": ["\u{1b}[2J\u{1b}[31mred\u{1b}[0m\ttab\u{7}", "one two three"]});
    assert_eq!(at(12, &draw), (0, "red     tab\none two\nthree\n".to_owned()));
}

#[test]
fn a_tool_may_show_nothing_or_leave_it_to_the_host() {
    assert_eq!(at(40, &json!({"lines": []})), (0, String::new()));
    assert_eq!(at(40, &json!("plainly")), (0, "said\n".to_owned()));
}

#[test]
fn a_tool_that_cannot_render_leaves_it_to_the_host_too() {
    let (code, screen) = at(40, &json!("panic"));
    assert_eq!(code, 0);
    assert!(screen.ends_with("\nsaid\n"), "{screen}");
    assert!(screen.contains("a tool cannot render, so that the host does: "), "{screen}");
}

#[test]
fn a_failure_is_shown_as_one() {
    let params = json!({"text": "said", "draw": {"lines": ["fine"]}, "fail": true});
    let args = call(&plugin(Fixture::Asks), "draw", &params, &[]);
    Home::new().plainly_at_terminal(args).is(1, "error: said\n");
}

#[test]
fn a_program_gets_what_the_tool_said() {
    let draw = json!({"lines": ["drawn"]});
    let piped = |options: &[&str]| -> Ran { Home::new().run(drawn(&draw, options)) };
    piped(&[]).is(0, "said\n", "");
    let result = json!({"content": [{"type": "text", "text": "said"}], "details": {"draw": draw}});
    piped(&["--json"]).is_json(0, &json!({"result": result, "resolved": null}), "");
}
