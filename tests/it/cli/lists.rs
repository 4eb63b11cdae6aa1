//! `list` and `show`.

use std::fs;

use serde_json::{Value, json};
use toolhost_tests::{Artifact, Fixture};

use super::support::{ECHOED, Home, plugin};
use crate::support::{ARTIFACTS, settled};

const NO_PLUGIN: &str = "it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note";
const EXPORT: &str = "export the plugin with `export_plugin!` of toolhost-plugin-sdk";

#[test]
fn the_table_shows_every_visible_tool() {
    let (stage, second) = (plugin(Fixture::Stage), plugin(Fixture::Second));
    let ran = Home::new().run(["list", "--plugin", stage.to_str().unwrap(), "--plugin", second.to_str().unwrap()]);
    let table = "\
NAME     LABEL    DESCRIPTION                                     PLUGIN  VERSION
stage    Stage    Stages what its parameters say.                 stage   0.1.0
echo     Echo     Returns its parameters                          stage   0.1.0
updates  Updates  Streams numbers                                 stage   0.1.0
waits    Waits    Waits until it is asked to stop                 stage   0.1.0
spawned  Spawned  Leaves a task behind                            stage   0.1.0
tokio    Tokio    Uses a runtime that nobody set up               stage   0.1.0
foreign  Foreign  Stages in another session                       stage   0.1.0
second   Second   Stages one action without a word of its source  second  0.1.0
";
    ran.is(0, table, "");
}

#[test]
fn a_program_gets_the_tools_and_the_errors() {
    let (second, bad) = (plugin(Fixture::Second), plugin(Fixture::NoPlugin));
    let evidence = [format!("a file of {} bytes", fs::metadata(&bad).unwrap().len())];
    let error = json!({
        "code": "TH0204", "stage": "inspect", "path": bad, "cause": NO_PLUGIN, "evidence": evidence, "fix": EXPORT
    });
    let tool = json!({
        "name": "second", "label": "Second", "description": "Stages one action without a word of its source",
        "effect": "changes", "plugin": "second", "version": "0.1.0", "path": second
    });
    let (second, bad) = (second.to_str().unwrap(), bad.to_str().unwrap());
    let home = Home::new();
    let ran = home.run(["list", "--json", "--plugin", second, "--plugin", bad]);
    ran.is_json(0, &json!({"tools": [tool], "errors": [error], "shadowed": [], "disabled": []}), "");
    home.run(["list", "--json", "--plugin", bad]).is_json(
        2,
        &json!({"tools": [], "errors": [error], "shadowed": [], "disabled": []}),
        "",
    );
}

#[test]
fn a_tool_is_shown_with_its_parameters_and_an_example() {
    let plugin = plugin(Fixture::Stage);
    let show = |options: &[&str]| {
        let args = ["show", "echo", "--plugin", plugin.to_str().unwrap()];
        Home::new().run(args.iter().chain(options))
    };
    let text = "\
echo  Echo
from plugin stage 0.1.0 ({stage})

Returns its parameters

It only reads.

Parameters
  text  string, required
  digit  integer

Example
  toolhost call echo --plugin {stage} --params '{\"text\":\"text\"}'
";
    show(&[]).is(0, text, "");
    let digit = json!({"type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 9});
    let parameters = json!({
        "type": "object", "additionalProperties": false, "required": ["text"],
        "properties": {"text": {"type": "string"}, "digit": digit}
    });
    let json = json!({
        "name": "echo", "label": "Echo", "description": "Returns its parameters", "effect": "readOnly",
        "plugin": "stage", "version": "0.1.0", "path": "{stage}", "parameters": parameters,
        "example": {"text": "text"}
    });
    show(&["--json"]).is_json(0, &json, "");
}

#[test]
fn titles_and_schemas_of_results_are_said_where_a_tool_has_them() {
    let asks = plugin(Fixture::Asks);
    let run = |args: &[&str]| Home::new().run(args.iter().chain(&["--plugin", asks.to_str().unwrap()]));
    let table = "\
NAME  LABEL  TITLE           DESCRIPTION                      PLUGIN  VERSION
ask   Ask                    Asks what its parameters say     asks    0.1.0
draw  Draw   Draw a Picture  Renders what its parameters say  asks    0.1.0
";
    run(&["list"]).is(0, table, "");
    let shown = run(&["show", "draw"]).stdout;
    let (head, rest) = shown.split_once("\n\n").unwrap();
    assert_eq!(
        head,
        format!("draw  Draw\nshown by clients as Draw a Picture\nfrom plugin asks 0.1.0 ({})", asks.display())
    );
    let details = "

Details of its results
  draw  any, always there
      How the result is rendered.

Example
";
    assert!(rest.contains(details), "{rest}");
    let tools = run(&["list", "--json"]).json()["tools"].take();
    let schema = &tools[1]["outputSchema"];
    assert_eq!((&tools[0]["title"], &tools[1]["title"]), (&Value::Null, &json!("Draw a Picture")));
    assert_eq!((&tools[0]["outputSchema"], &schema["required"]), (&Value::Null, &json!(["draw"])));
    let tool = run(&["show", "draw", "--json"]).json();
    assert_eq!((&tool["title"], &tool["outputSchema"]), (&tools[1]["title"], schema));
}

#[test]
fn the_example_that_is_shown_runs() {
    let home = Home::new();
    // A path that has to be quoted.
    let plugin = home.work("it's a plugin.so");
    fs::copy(ARTIFACTS.path(Artifact::BatchRename), &plugin).unwrap();
    let ran = home.run(["show", "batch_rename_preview", "--plugin", plugin.to_str().unwrap()]);
    assert_eq!((ran.code(), &*ran.stderr), (0, ""));
    let line = ran.stdout.lines().last().unwrap().strip_prefix("  toolhost ").unwrap();
    home.file("IMG_1.JPG", "");
    home.run(shlex::split(line).unwrap().iter().map(String::as_str).chain(["--apply", "why"])).is(
        0,
        "1 file to rename:\nIMG_1.JPG -> trip_1.JPG\nNothing is renamed yet.\nPending: Batch rename: 1 file \
         (batch_rename_preview)\nPreview hash: {hash}\nApplied: Batch rename: 1 file \
         (batch_rename_preview)\nRenamed 1 file. Reason: why\n",
        "",
    );
    assert_eq!(home.names(), ["it's a plugin.so", "trip_1.JPG"]);
}

#[test]
fn a_hidden_tool_stands_in_no_list_and_can_be_called() {
    let ran = Home::new().call(&plugin(Fixture::Second), "hidden", &json!({}), &[]);
    ran.is(0, "here\n", "");
}

#[test]
fn a_list_needs_no_journal_and_leaves_none() {
    let home = Home::new();
    let plugin = plugin(Fixture::Stage);
    assert_eq!(home.run(["list", "--plugin", plugin.to_str().unwrap()]).code(), 0);
    assert_eq!(home.echo(&plugin, &[]).stdout, ECHOED);
    home.run(["journal"]).is(0, "", "Nothing is on record in {home}/state/toolhost/journal.\n");
}

#[test]
fn a_later_list_opens_no_plugin_and_a_call_opens_the_one_it_needs() {
    let home = Home::new();
    let constructor = settled(plugin(Fixture::Constructor));
    let constructor = ["--plugin", constructor.to_str().unwrap()];
    // Its constructor leaves a file beside the copy that is opened.
    let opened = || {
        let copies = fs::read_dir(home.path("cache/toolhost/plugins")).unwrap();
        let mut directories = copies.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        directories.next().unwrap().join(format!("libconstructor.{}.opened", std::env::consts::DLL_EXTENSION))
    };
    let first = home.run([&["list"], &constructor[..]].concat());
    fs::remove_file(opened()).unwrap();
    let later = home.run([&["list"], &constructor[..]].concat());
    assert_eq!(later.stdout, first.stdout);
    home.run([&["show", "opened"], &constructor[..]].concat());
    assert!(!opened().exists());
    home.run([&["call", "opened"], &constructor[..]].concat()).is(0, "opened\n", "");
    assert!(opened().exists());
}
