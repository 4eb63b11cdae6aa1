//! `--config`: the settings of plugins.

use serde_json::{Value, json};
use toolhost_tests::Fixture;

use super::support::{Home, Ran, ask, plugin};

const FORM: &str = "write --config PLUGIN=JSON, or --config PLUGIN=@FILE with a file that holds the JSON";

const CORRECT: &str =
    "correct the plugin's settings: --config asks=JSON, or `[plugins.asks]` in toolhost.toml (`HostBuilder::config`)";

/// What the plugin that asks finds with these options.
fn with(home: &Home, options: &[&str]) -> Ran {
    home.run(ask(&json!({"steps": ["settings"]}), options))
}

/// Runs it as it is and with `--json`: the same code, message and fix.
#[track_caller]
fn refused(home: &Home, options: &[&str], code: &str, message: &str, fix: &str) {
    with(home, options).is(2, "", &format!("error: {message}\n  fix: {fix}\n"));
    let json = json!({"error": {"code": code, "message": message, "fix": fix}});
    with(home, &[options, &["--json"]].concat()).is_json(2, &json, "");
}

#[test]
fn a_plugin_gets_its_settings() {
    let home = Home::new();
    with(&home, &[]).is(0, "[{\"greeting\":\"\",\"retries\":0}]\n", "");
    with(&home, &["--config", "asks={\"retries\": 3}"]).is(0, "[{\"greeting\":\"\",\"retries\":3}]\n", "");
    home.file("settings.json", "\u{feff}{\"greeting\": \"a=b\"}\n");
    with(&home, &["--config", "asks=@settings.json"]).is(0, "[{\"greeting\":\"a=b\",\"retries\":0}]\n", "");
}

#[test]
fn several_plugins_have_settings_of_their_own() {
    let second = plugin(Fixture::Second);
    let second = ["--plugin", second.to_str().unwrap(), "--config", "second=[1]"];
    let options = [&second[..], &["--config", "asks={\"greeting\":\"hi\"}"]].concat();
    with(&Home::new(), &options).is(0, "[{\"greeting\":\"hi\",\"retries\":0}]\n", "");
}

#[test]
fn settings_are_there_for_lists_too() {
    let asks = plugin(Fixture::Asks);
    let args = ["list", "--plugin", asks.to_str().unwrap(), "--config", "asks={\"retries\":-1}", "--json"];
    let cause =
        "the factory of `asks` failed: the plugin's setting `retries`: invalid value: integer `-1`, expected u8";
    let ran = Home::new().run(args);
    let printed: Value = serde_json::from_str(&ran.stdout).unwrap();
    let evidence = printed["errors"][0]["evidence"].clone();
    let error = json!({
        "code": "TH0701", "stage": "create", "path": asks, "cause": cause, "evidence": evidence, "fix": CORRECT
    });
    ran.is_json(2, &json!({"tools": [], "errors": [error], "shadowed": [], "disabled": []}), "");
    let (sdk, interface) = (env!("CARGO_PKG_VERSION"), toolhost_abi::ABI_VERSION);
    let plugin = format!("the plugin asks 0.1.0, built with SDK {sdk} (interface {interface}) and rustc ");
    assert!(evidence[0].as_str().unwrap().starts_with(&plugin), "{evidence}");
}

#[test]
fn a_wrong_setting_is_named_with_its_plugin() {
    let asks = plugin(Fixture::Asks);
    let cases = [
        ("{\"retries\": \"x\"}", "the plugin's setting `retries`: invalid type: string \"x\", expected u8"),
        ("{\"retry\": 1}", "the plugin's setting `retry`: unknown field `retry`, expected `retries` or `greeting`"),
        ("7", "the plugin's settings: invalid type: integer `7`, expected struct Settings"),
    ];
    for (settings, reason) in cases {
        let message = format!("no tool is loaded: {}: the factory of `asks` failed: {reason} (TH0701)", asks.display());
        refused(&Home::new(), &["--config", &format!("asks={settings}")], "no-tools", &message, CORRECT);
    }
}

#[test]
fn settings_that_cannot_be_read_are_refused() {
    let home = Home::new();
    home.file("settings.json", "{}");
    home.file("bad.json", "{\n");
    let cases = [
        ("asks", "`asks` is no PLUGIN=JSON", FORM),
        ("={}", "`={}` is no PLUGIN=JSON", FORM),
        (
            "asks={",
            "the settings of `asks` are no valid JSON: EOF while parsing an object at line 1 column 1",
            "give JSON, such as --config asks='{\"key\":\"value\"}'",
        ),
        (
            "asks=settings.json",
            "the settings of `asks` are no valid JSON: expected value at line 1 column 1",
            "write --config asks=@settings.json to read that file",
        ),
        (
            "asks=@bad.json",
            "the settings of `asks` in bad.json are no valid JSON: EOF while parsing an object at line 2 column 0",
            "mend the file",
        ),
        (
            "asks=@nowhere",
            "the settings of `asks` cannot be read from nowhere: No such file or directory (os error 2)",
            "write --config asks=@FILE with an existing file",
        ),
    ];
    for (given, message, fix) in cases {
        refused(&home, &["--config", given], "config", message, fix);
    }
    let twice = ["--config", "asks={}", "--config", "asks={}"];
    let fix = "put all of a plugin's settings into one --config";
    refused(&home, &twice, "config", "the plugin `asks` was given settings twice", fix);
}

#[test]
fn settings_that_no_plugin_would_read_are_refused() {
    let home = Home::new();
    let message =
        |name: &str| format!("--config gives settings to `{name}`, and no plugin of that name is loaded, only `asks`");
    refused(&home, &["--config", "aks={}"], "config", &message("aks"), "write --config asks=...");
    let fix = "give the name of a plugin that is loaded, or add its file with --plugin";
    refused(&home, &["--config", "web={}"], "config", &message("web"), fix);
    // Where the plugin may be the one that cannot be loaded, that is what to mend.
    let bad = plugin(Fixture::NoPlugin);
    let fix = format!(
        "{} could not be loaded, since it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note; \
         export the plugin with `export_plugin!` of toolhost-plugin-sdk",
        bad.display()
    );
    let options = ["--plugin", bad.to_str().unwrap(), "--config", "web={}"];
    refused(&home, &options, "config", &message("web"), &fix);
}

#[test]
fn settings_stay_out_of_what_is_said() {
    let secret = json!({"greeting": "hunter2", "retries": Value::Null});
    let ran = with(&Home::new(), &["--config", &format!("asks={secret}")]);
    assert_eq!((ran.code(), ran.stdout.contains("hunter2"), ran.stderr.contains("hunter2")), (2, false, false));
}
