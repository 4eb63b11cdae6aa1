//! Wrong usage: exit code 2, and what to do instead.

use serde_json::json;
use toolhost_tests::Fixture;

use super::support::{Home, call, plugin, stage};

const HELP: &str = "`toolhost --help` shows how it is used";

/// Runs it as it is and with `--json`: the same code, message and fix.
#[track_caller]
fn refused(args: &[&str], code: &str, message: &str, fix: &str) {
    let home = Home::new();
    let shown = message.replace('\n', "\n    ");
    home.run(args).is(2, "", &format!("error: {shown}\n  fix: {fix}\n"));
    let json = json!({"error": {"code": code, "message": message, "fix": fix}});
    home.run(args.iter().chain(&["--json"])).is_json(2, &json, "");
}

/// The same with the plugin that stages.
#[track_caller]
fn refused_call(args: &[&str], code: &str, message: &str, fix: &str) {
    let plugin = plugin(Fixture::Stage);
    let plugin = ["--plugin", plugin.to_str().unwrap()];
    refused(&[args, &plugin].concat(), code, message, fix);
}

#[test]
fn an_unknown_tool_is_refused_with_those_near_it() {
    let fix = "`toolhost list` with the same --plugin shows every tool";
    for command in ["call", "show"] {
        let message = "no tool is named `ecko`; did you mean `echo`?";
        refused_call(&[command, "ecko"], "unknown-tool", message, fix);
        refused_call(&[command, "zzz"], "unknown-tool", "no tool is named `zzz`", fix);
    }
}

#[test]
fn resolve_is_no_tool_to_call() {
    let fix = "call the tool that stages the change, with --apply REASON or --discard REASON";
    refused_call(&["call", "resolve"], "resolve", "here a change is resolved by the call that stages it", fix);
}

#[test]
fn without_a_look_around_a_plugin_has_to_be_named() {
    let fix = "add --plugin PATH, where PATH is a plugin's file or the directory that it was built into, or leave out \
               --no-discovery";
    for args in [&["call", "echo", "text=a"][..], &["show", "echo"], &["list"]] {
        refused(&[args, &["--no-discovery"]].concat(), "no-plugin", "no plugin was named", fix);
    }
}

#[test]
fn parameters_that_the_schema_refuses_are_shown_by_their_path() {
    let fix = "`toolhost show echo` with the same --plugin lists the parameters";
    let message = "invalid parameters for tool `echo`:\n- /digit: 12 is greater than the maximum of 9\nreceived: \
                   {\"digit\":12,\"text\":\"a\"}";
    refused_call(&["call", "echo", "text=a", "digit=12"], "invalid-parameters", message, fix);
}

#[test]
fn parameters_that_cannot_be_read_are_refused() {
    let file = "give JSON, @FILE with an existing file, or - for standard input";
    let cases = [
        ("@nowhere", "nowhere cannot be read: No such file or directory (os error 2)", file),
        ("@", "`@` names no file", file),
        (
            "{",
            "--params is no valid JSON: EOF while parsing an object at line 1 column 1",
            "give an object, such as --params '{\"files\":[\"a.txt\"]}'",
        ),
        ("[]", "--params is valid JSON, but no object", "put the parameters into `{...}`"),
        (
            "-",
            "standard input is no valid JSON: EOF while parsing a value at line 1 column 0",
            "give an object, such as --params '{\"files\":[\"a.txt\"]}'",
        ),
    ];
    for (params, message, fix) in cases {
        refused_call(&["call", "echo", "--params", params], "invalid-parameters", message, fix);
    }
}

#[test]
fn the_name_of_a_file_of_parameters_without_its_sign_is_understood() {
    let home = Home::new();
    home.file("params.json", "{}");
    let plugin = plugin(Fixture::Stage);
    let ran = home.run(["call", "echo", "--plugin", plugin.to_str().unwrap(), "--params", "params.json"]);
    ran.is(
        2,
        "",
        "error: --params is no valid JSON: expected value at line 1 column 1\n  fix: write --params @params.json to \
         read that file\n",
    );
}

#[test]
fn pairs_that_have_no_place_are_refused() {
    let cases = [
        ("txt=a", "there is no parameter `txt`", "use one of: text, digit"),
        ("text", "`text` is no key=value", "write each parameter as key=value, or all of them as --params JSON"),
    ];
    for (pair, message, fix) in cases {
        refused_call(&["call", "echo", pair], "invalid-parameters", message, fix);
    }
    let message = "`text` was given twice, and takes one value";
    refused_call(&["call", "echo", "text=a", "text=b"], "invalid-parameters", message, "give it once");
}

#[test]
fn a_directory_to_work_in_has_to_be_one() {
    let fix = "give a directory that exists after --cwd";
    let message = "nowhere: it cannot be used: No such file or directory (os error 2)";
    refused_call(&["call", "echo", "text=a", "--cwd", "nowhere"], "cwd", message, fix);
    let message = "/dev/null: it is not a directory";
    refused_call(&["call", "echo", "text=a", "--cwd", "/dev/null"], "cwd", message, fix);
}

#[test]
fn a_wrong_command_line_is_explained() {
    let home = Home::new();
    let stderr = "\
error: unrecognized subcommand 'shw'

  tip: a similar subcommand exists: 'show'

Usage: toolhost [OPTIONS] <COMMAND>

For more information, try '--help'.
";
    home.run(["shw"]).is(2, "", stderr);
    let ran = home.run(stage(&json!([]), &["--apply", "a", "--discard", "b"]));
    let stderr = "\
error: the argument '--apply <REASON>' cannot be used with '--discard <REASON>'

Usage: toolhost call --plugin <PATH> --params <JSON|@FILE|-> --apply <REASON> <TOOL> [KEY=VALUE]...

For more information, try '--help'.
";
    ran.is(2, "", stderr);
    let ran = home.run(["--help"]);
    assert_eq!((ran.code(), ran.stdout.lines().nth(2)), (0, Some("Usage: toolhost [OPTIONS] <COMMAND>")));
    home.run(["--version"]).is(0, concat!("toolhost ", env!("CARGO_PKG_VERSION"), "\n"), "");
    let ran = home.run(<[&str; 0]>::default());
    assert_eq!(
        (ran.code(), &*ran.stdout, ran.stderr.lines().nth(2)),
        (2, "", Some("Usage: toolhost [OPTIONS] <COMMAND>"))
    );
}

#[test]
fn a_wrong_command_line_that_asks_for_json_gets_it() {
    let hash = "invalid value 'abc' for '--expect <HASH>': it is no preview hash, which has 64 hexadecimal digits; \
                copy it from the preview";
    let cases: [(&[&str], &str); 6] = [
        (&["--json"], "unexpected argument '--json' found"),
        (&["call", "--json"], "the following required arguments were not provided: <TOOL>"),
        (&["list", "extra", "--json"], "unexpected argument 'extra' found"),
        (
            &["call", "t", "--json", "--params", "{}", "a=b"],
            "the argument '--params <JSON|@FILE|->' cannot be used with '[KEY=VALUE]...'",
        ),
        (
            &["call", "t", "--json", "--expect", &"1".repeat(64)],
            "the following required arguments were not provided: --apply <REASON>",
        ),
        (&["call", "t", "--json", "--apply", "a", "--expect", "abc"], hash),
    ];
    for (args, message) in cases {
        let json = json!({"error": {"code": "usage", "message": message, "fix": HELP}});
        Home::new().run(args).is_json(2, &json, "");
    }
}

#[test]
fn a_decision_needs_a_reason() {
    let plugin = plugin(Fixture::Stage);
    for option in ["--apply", "--discard"] {
        let ran = Home::new().run(call(&plugin, "stage", &json!({"actions": []}), &[option, ""]));
        let stderr = format!(
            "error: a value is required for '{option} <REASON>' but none was supplied\n\nFor more information, try \
             '--help'.\n"
        );
        ran.is(2, "", &stderr);
    }
}
