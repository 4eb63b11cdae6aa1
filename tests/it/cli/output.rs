//! Standard output is the command's own, and what others say cannot steer a terminal.

use std::fs::File;
use std::process::Stdio;

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, Ran, call, good, plugin, stage};
use crate::support::text;

const NOISE: &str = "\
println in the factory
println in the tool
from a child process
raw write to descriptor 1
";

#[test]
fn what_a_plugin_prints_is_on_standard_error() {
    let stdout =
        "printed\nPending: noise (custom_tool)\nPreview hash: {hash}\nApplied: noise (custom_tool)\napplied noise\n";
    let stderr = format!("{NOISE}println in the apply\n");
    let noisy = |options: &[&str]| Home::new().call(&plugin(Fixture::Rude), "prints", &json!({}), options);
    noisy(&["--apply", "why"]).is(0, stdout, &stderr);
    let ran = noisy(&["--apply", "why", "--json"]);
    assert_eq!((ran.code(), &*ran.stderr), (0, &*stderr));
    let json = ran.json();
    let text = |of: &str| json[of]["content"][0]["text"].clone();
    assert_eq!((text("result"), text("resolved")), (json!("printed"), json!("applied noise")));
}

#[test]
fn what_a_plugin_prints_is_between_no_lists_and_errors() {
    let rude = plugin(Fixture::Rude);
    let rude = rude.to_str().unwrap();
    for args in [&["list"][..], &["show", "prints"], &["call", "none"]] {
        let ran = Home::new().run(args.iter().chain(&["--plugin", rude, "--json"]));
        // Its factory ran in a process of its own, of which nothing is shown.
        assert_eq!(ran.stderr, "", "{args:?}");
        assert!(ran.json().is_object(), "{args:?}");
    }
}

#[test]
fn a_plugin_that_opens_standard_output_by_its_name_gets_standard_error() {
    let apply = json!([{"tell": "/dev/stdout", "end": {"result": {"content": []}}}]);
    let actions = json!([{"label": "one", "source": "test", "apply": apply}]);
    let stdout = "staged\nPending: one (test)\nPreview hash: {hash}\nApplied: one (test)\n";
    Home::new().stage(&actions, &["--apply", "loud"]).is(0, stdout, "loud");
}

#[test]
fn what_is_logged_is_on_standard_error() {
    let home = Home::new();
    let logged = |level: &str| {
        let mut command = home.command(stage(&json!([]), &["--json"]));
        command.env("TOOLHOST_LOG", level);
        home.start(command).end()
    };
    let json = json!({"result": {"content": [{"type": "text", "text": "staged"}]}, "resolved": null});
    let loaded = "\
DEBUG toolhost_loader::load: known, and not opened yet plugin=\"stage\" path={stage}
DEBUG toolhost_loader::load: loaded plugin=\"stage\" version=\"0.1.0\" path={stage} fingerprint=\"{hash}\"
";
    logged("toolhost_loader=debug").is_json(0, &json, loaded);
    let warning = "warning: TOOLHOST_LOG=`a=b=c` is no filter for the log, so warnings are logged: error parsing level \
                   filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5\n";
    logged("a=b=c").is_json(0, &json, warning);
}

fn hostile() -> Value {
    let changes = json!([{
        "path": "/x\u{1b}[1m", "kind": "modify", "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-\u{1b}[31mold\n+new\u{202e}\n"
    }]);
    json!([{
        "label": "a\u{1b}[31mb\nApplied: c", "source": "s\u{7}\r", "details": {"changes": changes},
        "apply": [text("r\u{1b}]0;x\u{7}\rz\u{202e}")]
    }])
}

#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let params = json!({"actions": hostile(), "result": {"content": [{"type": "text", "text": "p\u{1b}[2J\nq"}]}});
    let ran = Home::new().call(&plugin(Fixture::Stage), "stage", &params, &["--apply", "why"]);
    let stdout = r#"p\u{1b}[2J
q

modify "/x\u{1b}[1m"
@@ -1 +1 @@
-\u{1b}[31mold
+new\u{202e}
Pending: a\u{1b}[31mb\nApplied: c (s\u{7}\r)
Preview hash: {hash}
Applied: a\u{1b}[31mb\nApplied: c (s\u{7}\r)
r\u{1b}]0;x\u{7}\rz\u{202e}
"#;
    ran.is(0, stdout, "");
}

#[test]
fn control_characters_in_what_is_discarded_or_on_record_are_shown_and_not_obeyed() {
    let home = Home::new();
    let label = r"a\u{1b}[31mb\nApplied: c (s\u{7}\r)";
    let stderr = format!(
        "Discarded, since the session ended without a decision: {label}\nTo apply, run the command again with --apply REASON, and --expect HASH for this preview.\n"
    );
    let ran = home.stage(&hostile(), &[]);
    assert_eq!((ran.code(), ran.stderr), (0, stderr));
    let journal = home.run(["journal"]).stdout;
    let line = journal.lines().nth(1).unwrap();
    assert!(line.ends_with(&format!("  {label}: discarded; reason: the session ended without a decision")), "{line}");
    let failed = json!([{"label": "one", "source": "test", "apply": [{"end": {"fail": {"message": "\u{1b}[2J"}}}]}]);
    let ran = home.stage(&failed, &["--apply", "why"]);
    let stderr = "error: Not applied: one (test)\n    Apply failed: \\u{1b}[2J\nDiscarded, since the session ended: one (test)\n";
    ran.is(1, "staged\nPending: one (test)\nPreview hash: {hash}\n", stderr);
}

#[test]
fn an_image_is_told_of() {
    let image = |kind: &str| json!({"type": "image", "data": "aGVsbG8=", "mimeType": kind});
    let result = json!({"content": [image("image/png"), image("x\u{1b}[2J\ny")]});
    let ran = Home::new().call(&plugin(Fixture::Stage), "stage", &json!({"actions": [], "result": result}), &[]);
    ran.is(0, "[image: image/png, 5 bytes]\n[image: x\\u{1b}[2J\\ny, 5 bytes]\n", "");
}

/// Runs a command whose output goes there.
fn into(stdout: impl Into<Stdio>, args: Vec<String>) -> Ran {
    let home = Home::new();
    let mut command = home.command(args);
    command.stdout(stdout);
    home.start(command).end()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn output_that_is_lost_is_a_failure() {
    let full = || File::options().write(true).open("/dev/full").unwrap();
    let warning = "warning: standard output cannot be written: No space left on device (os error 28)\n";
    let stage_plugin = plugin(Fixture::Stage);
    let stage_plugin = stage_plugin.to_str().unwrap();
    let commands = [
        stage(&json!([]), &[]),
        stage(&json!([]), &["--json"]),
        words(&["list", "--plugin", stage_plugin]),
        words(&["show", "echo", "--plugin", stage_plugin]),
        words(&["journal", "--json"]),
        words(&["--version"]),
        words(&["--help"]),
    ];
    for command in commands {
        let ran = into(full(), command.clone());
        assert_eq!((ran.code(), &*ran.stderr), (1, warning), "{command:?}");
    }
    // Another failure keeps its code.
    let ran = into(full(), call(&plugin(Fixture::Stage), "none", &json!({}), &["--json"]));
    ran.is(2, "", warning);
}

#[test]
fn what_is_applied_is_applied_though_output_is_lost() {
    let home = Home::new();
    let mut command = home.command(stage(&json!([good("one")]), &["--apply", "why"]));
    command.stdout(File::options().write(true).open("/dev/full").unwrap());
    assert_eq!(home.start(command).end().code(), 1);
    assert!(home.run(["journal"]).stdout.ends_with("  one (test): applied; reason: why\n"));
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    for options in [&["--apply", "why"][..], &["--apply", "why", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        into(writer, stage(&json!([good("one")]), options)).is(0, "", "");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    into(writer, words(&["--help"])).is(0, "", "");
}
