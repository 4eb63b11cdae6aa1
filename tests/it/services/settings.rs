//! What a factory is told of its session, and of its settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use toolhost_loader::{Host, SessionOptions};
use toolhost_tests::Fixture;

use super::{Program, call, plain};
use crate::support::{ARTIFACTS, host_of, on_every_runtime, open, plugin, texts};

on_every_runtime![
    a_tool_knows_its_session_and_the_lack_of_settings,
    settings_arrive_as_the_plugins_own_type,
    a_wrong_setting_is_an_error_that_names_its_key,
    a_directory_need_not_be_utf_8,
];

async fn host(settings: Value) -> Host {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache")).config("services", settings);
    let host = builder.plugin(plugin(Fixture::Services)).plugin(plugin(Fixture::Second)).build().await.unwrap();
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    host
}

async fn a_tool_knows_its_session_and_the_lack_of_settings() {
    let directory = tempfile::tempdir().unwrap();
    let options = SessionOptions::new("an id \u{1F5FB}").cwd(directory.path());
    let session = open(&host_of(&[Fixture::Services]).await, options.clone()).await;
    let mut expected = json!({
        "cwd": directory.path(),
        "pluginDir": plugin(Fixture::Services).parent().unwrap(),
        "session": "an id \u{1F5FB}",
        "settings": {"maxItems": 0, "servers": [], "tags": {}},
        "value": null,
        "hasUi": false,
    });
    assert_eq!(call(&session, "facts", json!({})).await.1, expected);

    let options = options.services(Program::with_person());
    let session = open(&host_of(&[Fixture::Services]).await, options).await;
    expected["hasUi"] = json!(true);
    assert_eq!(call(&session, "facts", json!({})).await.1, expected);
}

async fn settings_arrive_as_the_plugins_own_type() {
    let settings = json!({
        "maxItems": 255, "servers": [{"host": "a", "mode": "plain"}, {"host": "ü", "mode": "secure"}], "tags": {"x": true}
    });
    let host = host(settings.clone()).await;
    let facts = call(&open(&host, SessionOptions::new("a")).await, "facts", json!({})).await.1;
    assert_eq!((&facts["settings"], &facts["value"]), (&settings, &settings));
    // Settings are a plugin's own.
    let other = open(&host, SessionOptions::new("b")).await;
    assert_eq!(other.call("second", json!({"label": "a"})).await.unwrap().to_text(), "staged second");
}

async fn a_wrong_setting_is_an_error_that_names_its_key() {
    let fields = "expected one of `maxItems`, `servers`, `tags`";
    for (settings, reason) in [
        (json!({"maxItems": 256}), "the plugin's setting `maxItems`: invalid value: integer `256`, expected u8"),
        (json!({"maxitems": 1}), &*format!("the plugin's setting `maxitems`: unknown field `maxitems`, {fields}")),
        (
            json!({"servers": [{"host": "a", "mode": "plain"}, {"host": "b", "mode": "fast"}]}),
            "the plugin's setting `servers[1].mode`: unknown variant `fast`, expected `plain` or `secure`",
        ),
        (json!({"servers": [{"mode": "plain"}]}), "the plugin's setting `servers[0]`: missing field `host`"),
        (json!({"tags": {"x": 1}}), "the plugin's setting `tags.x`: invalid type: integer `1`, expected a boolean"),
        (json!("x"), "the plugin's settings: invalid type: string \"x\", expected struct Settings"),
    ] {
        let opened = host(settings).await.session(SessionOptions::new("a")).await;
        let text = format!(
            "{}: the factory of `services` failed: {reason}; correct the plugin's settings: --config services=JSON, \
             or `[plugins.services]` in toolhost.toml (`HostBuilder::config`) (TH0701)",
            plugin(Fixture::Services).display()
        );
        assert_eq!(texts(&opened.errors), [text]);
        // The rest is there.
        assert!(opened.session.tools().definition("facts").is_none());
        assert!(opened.session.tools().definition("second").is_some());
    }
    call(&plain().await, "facts", json!({})).await;
}

async fn a_directory_need_not_be_utf_8() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().join(OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir(&cwd).unwrap();
    let session = open(&host_of(&[Fixture::Services]).await, SessionOptions::new("a").cwd(&cwd)).await;
    assert_eq!(call(&session, "facts", json!({})).await.1["cwd"], json!(cwd.as_os_str().as_bytes()));
}
