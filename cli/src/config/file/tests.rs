use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

fn user(text: &str) -> Result<Content, String> {
    parsed(text, Owner::User)
}

fn parsed(text: &str, owner: Owner) -> Result<Content, String> {
    parse(text, owner)
        .map_err(|Problem { at: (line, column), message, fix }| format!("{line}:{column}: {message}; {fix}"))
}

fn at<T>(value: T, line: usize) -> At<T> {
    At { value, line }
}

/// One of everything.
const WHOLE: &str = "\
\u{feff}# What I set.
directories = [\"~/my plugins\", 'rel/ä']
disabled = [
  \"old\",
]
[limits]
factory-seconds = 0.5
tools = 0x10
definition-bytes = 2_000
[plugins.asks]
retries = 3
[plugins.\"a b\"]
deep = { list = [1.5, true, \"x\"], since = 2026-11-30 }
";

#[test]
fn every_key_is_read_with_its_line() {
    let content = user(WHOLE).unwrap();
    assert_eq!(content.directories, [at("~/my plugins".to_owned(), 2), at("rel/ä".to_owned(), 2)]);
    assert_eq!(content.disabled, [at("old".to_owned(), 4)]);
    assert_eq!((content.factory_seconds, content.tools), (Some(at(0.5, 7)), Some(at(16, 8))));
    assert_eq!(content.definition_bytes, Some(at(2000, 9)));
    assert_eq!(content.plugins["asks"]["retries"], at(json!(3), 11));
    let deep = json!({"list": [1.5, true, "x"], "since": "2026-11-30"});
    assert_eq!(content.plugins["a b"]["deep"], at(deep, 13));
    assert_eq!(user("").unwrap(), Content::default());
}

#[test]
fn the_file_in_the_documentation_is_one() {
    let docs = include_str!("../../../../docs/cli.md");
    let text = docs.split("\n```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let content = user(text).unwrap();
    assert_eq!((content.directories.len(), content.disabled.len()), (1, 1));
    assert_eq!((content.factory_seconds.unwrap().value, content.tools.unwrap().value), (10.0, 128));
    assert_eq!(content.definition_bytes.unwrap().value, 1_048_576);
    assert_eq!(content.plugins["word-count"]["retries"].value, json!(3));
}

#[test]
fn an_unknown_key_is_named_with_its_place_and_the_right_one() {
    let cases = [
        ("\ndirectorys = []", "2:1: there is no key `directorys`; write `directories`"),
        ("Disabled = []", "1:1: there is no key `Disabled`; write `disabled`"),
        (
            "[limits]\n  factory_seconds = 1",
            "2:3: there is no key `factory_seconds` under `[limits]`; write `factory-seconds`",
        ),
        ("limits.tool = 1", "1:8: there is no key `tool` under `[limits]`; write `tools`"),
        ("[plugin.asks]\nretries = 3", "1:2: there is no key `plugin`; write `plugins`"),
        (
            "zzz = 1",
            "1:1: there is no key `zzz`; use one of `directories`, `disabled`, `limits`, `plugins`, or remove it",
        ),
        // The first one that stands there, whatever the alphabet says.
        (
            "zzzz = 1\naaaa = 1",
            "1:1: there is no key `zzzz`; use one of `directories`, `disabled`, `limits`, `plugins`, or remove it",
        ),
        (
            "ä = 1\n\"b\\u001b\" = 1",
            "1:1: invalid unquoted key, expected letters, numbers, `-`, `_`; mend the file, which is TOML",
        ),
    ];
    for (text, error) in cases {
        assert_eq!(user(text).unwrap_err(), error);
    }
}

#[test]
fn a_value_of_another_type_is_named_with_what_it_has_to_be() {
    let list = "write it as in: disabled = [\"one\", \"another\"]";
    let cases = [
        ("disabled = \"a\"", format!("1:12: `disabled` has to be a list of texts, and is a text; {list}")),
        ("disabled = [\"a\", 1]", format!("1:18: `disabled` has to be a list of texts, and is 1; {list}")),
        ("disabled = [\"\"]", "1:13: an entry of `disabled` is empty; remove it".to_owned()),
        ("limits = 1", "1:10: `limits` has to be a table, and is 1; write it as in: [limits]".to_owned()),
        (
            "limits.tools = 0",
            "1:16: `tools` has to be a whole number from 1 to 1000, and is 0; write it as in: tools = 128".to_owned(),
        ),
        (
            "limits.tools = -1",
            "1:16: `tools` has to be a whole number from 1 to 1000, and is -1; write it as in: tools = 128".to_owned(),
        ),
        (
            "limits.factory-seconds = nan",
            "1:26: `factory-seconds` has to be a number from 0.001 to 3600, and is nan; write it as in: factory-seconds = \
             10"
            .to_owned(),
        ),
        (
            "limits.definition-bytes = 99999999999999999999",
            "1:27: `definition-bytes` has to be a whole number from 1 to 1073741824, and is 99999999999999999999; write \
             it as in: definition-bytes = 128"
            .to_owned(),
        ),
        (
            "plugins.asks = 1",
            "1:16: `plugins.asks` has to be a table of the plugin's settings, and is 1; write it as in: [plugins.asks]"
                .to_owned(),
        ),
        (
            "plugins.asks.a = [inf]",
            "1:19: `inf` is no number that a plugin can be given; write another number, or a text".to_owned(),
        ),
        (
            "plugins.asks.a = 99999999999999999999",
            "1:18: `99999999999999999999` is no number that a plugin can be given; write another number, or a text"
                .to_owned(),
        ),
    ];
    for (text, error) in cases {
        assert_eq!(user(text).unwrap_err(), error);
    }
}

#[test]
fn a_project_cannot_add_directories() {
    let why = "a project's file cannot add directories, since plugins in them would run merely because a directory was \
               entered; put the plugins into the project's .toolhost/plugins, or `directories` into your own toolhost.toml";
    assert_eq!(parsed("\ndirectories = []", Owner::Project).unwrap_err(), format!("2:1: {why}"));
    let error = "1:1: there is no key `trust`; use one of `disabled`, `limits`, `plugins`, or remove it";
    assert_eq!(parsed("trust = [\"a\"]", Owner::Project).unwrap_err(), error);
    assert!(parsed("disabled = [\"a\"]\nlimits.tools = 1\nplugins.a.b = 1", Owner::Project).is_ok());
}

#[test]
fn no_depth_takes_more_of_the_stack_than_there_is() {
    let deep = "a.".repeat(100_000);
    for text in [format!("{deep}a = 1"), format!("[{deep}a]"), format!("plugins.a.b = {}", "[".repeat(100_000))] {
        let error = user(&text).unwrap_err();
        assert!(error.ends_with("mend the file, which is TOML"), "{}", &error[..100]);
    }
}

/// Pieces of which files are made, right and wrong.
fn piece() -> impl Strategy<Value = String> {
    let known = "directories|disabled|limits|plugins|factory-seconds|tools|definition-bytes|asks|a b";
    prop_oneof![
        4 => prop::sample::select(known.split('|').map(str::to_owned).collect::<Vec<_>>()),
        4 => prop::sample::select(" = |\n|[|]|[[|]]|.|,|{|}|\"|'|\"\"\"|#|\r\n|\u{feff}|\0".split('|').map(str::to_owned).collect::<Vec<_>>()),
        2 => prop::sample::select("1|-1|1.5|nan|inf|true|2026-11-30|0x1F|1e999|99999999999999999999".split('|').map(str::to_owned).collect::<Vec<_>>()),
        1 => any::<String>(),
    ]
}

/// Whether it can be read, and, where it cannot, whether the place that is named is there.
fn reads(text: &str) -> Result<(), TestCaseError> {
    for owner in [Owner::User, Owner::Project] {
        if let Err(Problem { at: (line, column), message, fix }) = parse(text, owner) {
            let lines = text.split('\n').count();
            prop_assert!((1..=lines).contains(&line), "line {line} of {lines}");
            let length = text.split('\n').nth(line - 1).unwrap_or_default().chars().count();
            prop_assert!((1..=length + 1).contains(&column), "column {column} of {length}");
            prop_assert!(!message.is_empty() && !fix.is_empty());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused_at_a_place_that_is_there(text: String) {
        reads(&text)?;
    }

    #[test]
    fn any_pieces_of_files_are_read_or_refused(pieces in vec(piece(), 0..40)) {
        reads(&pieces.concat())?;
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_read_or_refused(at in 0..WHOLE.len(), length in 0..20_usize, with in piece()) {
        let bytes = [&WHOLE.as_bytes()[..at], with.as_bytes(), &WHOLE.as_bytes()[(at + length).min(WHOLE.len())..]].concat();
        reads(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn settings_come_back_as_they_were_written(key in "[a-z \"\\\\ä.]{1,8}", text: String, number: i64) {
        // JSON's texts are TOML's, but for what JSON does not escape.
        prop_assume!(!text.contains('\u{7f}'));
        let (quoted, value) = (json!(key), json!(text));
        let content = user(&format!("[plugins.p]\n{quoted} = {value}\nN = {number}")).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&content.plugins["p"][&key].value, &value);
        prop_assert_eq!(&content.plugins["p"]["N"], &At { value: json!(number), line: 3 });
    }
}
