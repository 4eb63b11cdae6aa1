//! The person at the terminal, as plugins reach them.

use toolhost_core::service::{UiConfirm, UiInput, UiNotice, UiSelect, UiStatus};
use toolhost_core::{BoxFuture, Caller, UserInterface};

use crate::keyboard::Keyboard;
use crate::output::{BOLD, notice};
use crate::plain::{continued, plain, plain_line};
use crate::screen::SCREEN;

pub(super) struct Person {
    keyboard: Keyboard,
}

impl Person {
    pub(super) fn new(keyboard: Keyboard) -> Self {
        Self { keyboard }
    }
}

impl UserInterface for Person {
    fn select(&self, caller: Caller, question: UiSelect) -> BoxFuture<Option<usize>> {
        let keyboard = self.keyboard.clone();
        Box::pin(async move {
            let options: Vec<_> = question.options.iter().map(|option| plain_line(option)).collect();
            if options.is_empty() {
                return None;
            }
            let mut turn = keyboard.turn().await?;
            let digits = options.len().to_string().len();
            let listed = (1..).zip(&options).map(|(number, option)| format!("\n  {number:digits$}  {option}"));
            SCREEN.line(&format!("{}{}", heading(&caller, &question.title), listed.collect::<String>()));
            loop {
                let line = turn.line("Number or beginning, q for none: ").await?;
                match choose(&options, line.trim()) {
                    Choice::This(chosen) => return Some(chosen),
                    Choice::None => return None,
                    Choice::Again(None) => {}
                    Choice::Again(Some(why)) => SCREEN.line(&why),
                }
            }
        })
    }

    fn confirm(&self, caller: Caller, question: UiConfirm) -> BoxFuture<bool> {
        let keyboard = self.keyboard.clone();
        Box::pin(async move {
            let Some(mut turn) = keyboard.turn().await else {
                return false;
            };
            let message = match question.message.trim() {
                "" => String::new(),
                message => format!("\n  {}", indented(message)),
            };
            SCREEN.line(&format!("{}{message}", heading(&caller, &question.title)));
            while let Some(line) = turn.line("[y/N]: ").await {
                match line.trim().to_lowercase().as_str() {
                    "y" | "yes" => return true,
                    "" | "n" | "no" | "q" => return false,
                    other => SCREEN.line(&format!("`{}` is no answer; type y or n, then Enter.", plain_line(other))),
                }
            }
            false
        })
    }

    fn input(&self, caller: Caller, question: UiInput) -> BoxFuture<Option<String>> {
        let keyboard = self.keyboard.clone();
        Box::pin(async move {
            let mut turn = keyboard.turn().await?;
            SCREEN.line(&heading(&caller, &question.title));
            let example = match question.placeholder.trim() {
                "" => String::new(),
                placeholder => format!("such as {}; ", plain_line(placeholder)),
            };
            let line = turn.line(&format!("({example}Ctrl-D for none): ")).await?;
            Some(line.trim_end_matches(['\n', '\r']).to_owned())
        })
    }

    fn notify(&self, caller: &Caller, told: UiNotice) {
        notice(told.level, &format!("{}: {}", plain_line(&caller.plugin), continued(&plain(told.message.trim()))));
    }

    fn set_status(&self, caller: &Caller, status: UiStatus) {
        let text = status.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        // How wide a tab is depends on where it stands.
        let text = text.map(|text| plain_line(text).replace('\t', " "));
        SCREEN.status(&plain_line(&caller.plugin), &status.key, text);
    }
}

/// Who asks, and what: not this program, and nothing that could pass for it. Between calls, as in an apply, no tool asks.
fn heading(caller: &Caller, title: &str) -> String {
    let tool = caller.tool.as_ref().map(|tool| format!(" ({})", plain_line(tool))).unwrap_or_default();
    format!("{BOLD}{}{tool} asks:{BOLD:#} {}", plain_line(&caller.plugin), plain_line(title.trim()))
}

fn indented(text: &str) -> String {
    plain(text).replace('\n', "\n  ")
}

/// What a line says about a list of options.
#[derive(Debug, PartialEq, Eq)]
enum Choice {
    This(usize),
    None,
    /// It says nothing that can be understood, and this is why.
    Again(Option<String>),
}

/// A number counts before a text, since every option has one.
fn choose(options: &[String], answer: &str) -> Choice {
    let lower = answer.to_lowercase();
    match answer.parse::<usize>() {
        Ok(number) if (1..=options.len()).contains(&number) => return Choice::This(number - 1),
        _ if answer.is_empty() => return Choice::Again(None),
        _ if lower == "q" => return Choice::None,
        _ => {}
    }
    let those = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..).zip(options).filter(|(_, option)| fits(option)).map(|(at, _)| at).collect()
    };
    let begin = those(&|option| option.to_lowercase().starts_with(&lower));
    let readings = [those(&|option| option == answer), those(&|option| option.to_lowercase() == lower), begin.clone()];
    if let Some(&[only]) = readings
        .iter()
        .map(Vec::as_slice)
        .find(|found| found.len() == 1)
        .and_then(|found| <&[usize; 1]>::try_from(found).ok())
    {
        return Choice::This(only);
    }
    let answer = plain_line(answer);
    let last = options.len();
    Choice::Again(Some(match begin.len() {
        0 => format!("`{answer}` is none of them; type a number from 1 to {last}, or how one begins, then Enter."),
        several => format!("`{answer}` begins {several} of them; type a number from 1 to {last}, or more of it."),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(options: &[&str], answer: &str) -> Choice {
        choose(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>(), answer)
    }

    #[test]
    fn a_number_or_a_clear_beginning_chooses() {
        let branches = ["main", "Next", "maintenance", "next-2"];
        for (answer, at) in [("1", 0), ("4", 3), ("main", 0), ("mainT", 2), ("NEXT", 1), ("next-", 3)] {
            assert_eq!(chosen(&branches, answer), Choice::This(at), "{answer}");
        }
        assert_eq!(chosen(&["a", "A"], "A"), Choice::This(1));
    }

    #[test]
    fn a_number_counts_before_a_text() {
        let numbers = ["20", "1", "q"];
        assert_eq!(chosen(&numbers, "1"), Choice::This(0));
        assert_eq!(chosen(&numbers, "20"), Choice::This(0));
        assert_eq!(chosen(&numbers, "3"), Choice::This(2));
        assert_eq!(chosen(&numbers, "q"), Choice::None);
        assert_eq!(chosen(&numbers, "Q"), Choice::None);
    }

    #[test]
    fn what_is_not_clear_says_why() {
        let again = |answer: &str| match chosen(&["main", "maintenance"], answer) {
            Choice::Again(why) => why,
            other => panic!("{other:?}"),
        };
        assert_eq!(again(""), None);
        let none = |answer: &str| {
            format!("`{answer}` is none of them; type a number from 1 to 2, or how one begins, then Enter.")
        };
        for answer in ["0", "3", "x"] {
            assert_eq!(again(answer), Some(none(answer)));
        }
        let several = "`ma` begins 2 of them; type a number from 1 to 2, or more of it.";
        assert_eq!(again("ma"), Some(several.to_owned()));
    }
}
