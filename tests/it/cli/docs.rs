//! The examples of docs/cli.md, as they are printed there.

use std::fs;

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, ask, plugin};

const DOC: &str = include_str!("../../../docs/cli.md");

/// The texts of the code blocks in this language.
fn blocks(language: &str) -> impl Iterator<Item = &'static str> {
    let begin = format!("\n```{language}\n");
    let after: Vec<&str> = DOC.split(&begin).skip(1).collect();
    after.into_iter().filter_map(|rest| Some(rest.split_once("```")?.0))
}

/// What a shell shows of this line.
fn shown(home: &Home, line: &str) -> String {
    let ran = home.start(home.shell(&format!("exec 2>&1; {line}"))).end();
    ran.masked(&ran.stdout).replace("{home}/work/", "/home/ada/")
}

#[test]
fn the_examples_print_what_they_are_said_to() {
    let home = Home::new();
    fs::copy(plugin(Fixture::Asks), home.work("libasks.so")).unwrap();
    let mut examples = 0;
    for block in blocks("console") {
        for example in block.split("$ ").skip(1) {
            let (line, printed) = example.split_once('\n').unwrap();
            assert_eq!(shown(&home, line), printed, "{line}");
            examples += 1;
        }
    }
    assert_eq!(examples, 12);
}

#[test]
fn the_example_at_a_terminal_looks_as_it_is_said_to() {
    let steps = json!([
        {"select": {"title": "Onto which branch?", "options": ["main", "next"]}},
        {"confirm": {"title": "Push?", "message": "2 commits"}},
        {"input": {"title": "Tag?", "placeholder": "v1.2"}}
    ]);
    let params = json!({"steps": steps});
    let printed = blocks("sh").find_map(|block| {
        let json = block.split_once("--params '")?.1.trim_end().strip_suffix('\'')?;
        serde_json::from_str::<Value>(json).ok()
    });
    assert_eq!(printed, Some(params.clone()));
    let mut terminal = Home::new().plainly_at_terminal(ask(&params, &[]));
    for (prompt, answer) in [("q for none: ", "ne\n"), ("[y/N]: ", "y\n"), ("for none): ", "v2\n")] {
        terminal.at(prompt, answer);
    }
    terminal.is(0, blocks("text").next().unwrap());
}
