//! Plugins that are opened only when one of their tools is called.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::{AgentToolResult, EndReason, Session};
use toolhost_loader::{Host, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{bounded, on_every_runtime, open, plugin, settled, texts};

on_every_runtime![
    a_plugin_that_is_known_is_opened_by_the_first_call_and_hears_of_the_start,
    other_settings_are_not_known,
    what_decides_at_run_time_is_not_remembered,
    a_copy_that_went_away_is_made_again_unless_the_file_has_changed,
];

async fn start(cache: &Path, plugin: impl Into<PathBuf>, settings: Value) -> Host {
    let builder = Host::builder().open_late(true).cache_dir(cache).plugin(plugin);
    let host = builder.config("asks", settings.clone()).config("dynamic", settings).build().await.unwrap();
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    host
}

fn names(session: &Session) -> Vec<String> {
    session.tools().visible().map(|tool| tool.name.clone()).collect()
}

/// The definitions on record of the only plugin that is.
fn remembered(cache: &Path) -> Value {
    let index: Value = serde_json::from_slice(&fs::read(cache.join("index.json")).unwrap()).unwrap();
    let files = index["files"].as_object().unwrap();
    assert_eq!(files.len(), 1);
    files.values().next().unwrap()["definitions"].clone()
}

async fn a_plugin_that_is_known_is_opened_by_the_first_call_and_hears_of_the_start() {
    let cache = tempfile::tempdir().unwrap();
    let first =
        open(&start(cache.path(), settled(plugin(Fixture::Life)), json!({})).await, SessionOptions::new("a")).await;
    let tools = names(&first);
    assert!(tools.contains(&"log".to_owned()));

    let cwd = tempfile::tempdir().unwrap();
    let log = cwd.path().join("log");
    fs::write(&log, "").unwrap();
    let host = start(cache.path(), settled(plugin(Fixture::Life)), json!({})).await;
    let session = open(&host, SessionOptions::new("b").cwd(cwd.path())).await;
    assert_eq!(names(&session), tools);
    assert_eq!(fs::read_to_string(&log).unwrap(), "", "it was opened");
    let staged = bounded(session.call("log", json!({"labels": ["one"]}))).await.unwrap();
    assert_eq!(staged.to_text(), "staged");
    assert_eq!(fs::read_to_string(&log).unwrap(), "{\"type\":\"start\"}\n");
    bounded(session.end(EndReason::Shutdown)).await;
    let lines = fs::read_to_string(&log).unwrap();
    assert_eq!(lines.lines().filter(|line| line.contains("type")).count(), 2, "{lines}");
    assert!(lines.ends_with("{\"type\":\"shutdown\"}\n"), "{lines}");
}

async fn other_settings_are_not_known() {
    let cache = tempfile::tempdir().unwrap();
    let asks = settled(plugin(Fixture::Asks));
    open(&start(cache.path(), &asks, json!({"retries": 1})).await, SessionOptions::new("a")).await;
    open(&start(cache.path(), &asks, json!({"retries": 1})).await, SessionOptions::new("b")).await;
    let wrong = start(cache.path(), &asks, json!({"retries": "x"})).await;
    let opened = wrong.session(SessionOptions::new("c")).await;
    assert_eq!(opened.errors.iter().map(|error| error.code()).collect::<Vec<_>>(), ["TH0701"]);
    assert_eq!(remembered(cache.path()).as_array().unwrap().len(), 1);
}

async fn what_decides_at_run_time_is_not_remembered() {
    let cache = tempfile::tempdir().unwrap();
    let tools = json!({"tools": [{"name": "made", "schema": {"type": "object"}}]});
    let session =
        open(&start(cache.path(), settled(plugin(Fixture::Dynamic)), tools).await, SessionOptions::new("a")).await;
    assert_eq!(names(&session), ["made"]);
    assert_eq!(remembered(cache.path()), Value::Null);
}

/// A cache that knows this plugin, whose copies are gone, and a session in which it is not open.
async fn without_copies(file: &Path) -> (TempDir, Session) {
    let cache = tempfile::tempdir().unwrap();
    open(&start(cache.path(), settled(file.to_owned()), json!({})).await, SessionOptions::new("a")).await;
    let session = open(&start(cache.path(), file, json!({})).await, SessionOptions::new("b")).await;
    for entry in fs::read_dir(cache.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        }
    }
    (cache, session)
}

async fn a_copy_that_went_away_is_made_again_unless_the_file_has_changed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("second plugin.so");
    fs::copy(plugin(Fixture::Second), &file).unwrap();
    let (_cache, session) = without_copies(&file).await;
    let staged: AgentToolResult = bounded(session.call("second", json!({"label": "a"}))).await.unwrap();
    assert_eq!(staged.to_text(), "staged second");

    let (_cache, session) = without_copies(&file).await;
    fs::copy(plugin(Fixture::Empty), &file).unwrap();
    let failed = bounded(session.call("second", json!({"label": "a"}))).await.unwrap();
    let text = format!(
        "{}: it has changed since this host looked at it, and the copy of what it was is gone; start the host again \
         (TH0405)",
        file.display()
    );
    assert_eq!((failed.to_text(), failed.is_error), (text, true));
    assert_eq!(failed.details.unwrap()["code"], "TH0405");
}
