//! Whose tool has a name, and which file counts once.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use toolhost_loader::SessionOptions;
use toolhost_tests::Fixture;

use crate::support::{host, host_of, plugin, texts};

fn left_out(number: usize, reason: &str) -> String {
    format!(
        "{}: tool number {number} of `names` was left out: {reason}; change the tool, or ask the plugin's author to \
         (TH0801)",
        plugin(Fixture::Names).display()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_left_out_for_its_name_and_the_rest_of_its_plugin_is_there() {
    let host = host_of(&[Fixture::Stage, Fixture::Names]).await;
    let opened = host.session(SessionOptions::new("test")).await;
    let not_allowed = "the tool name \"not a name\" is not allowed: use 1 to 64 of a-z, A-Z, 0-9, `_` and `-`";
    let no_object = "the parameters of tool `text` have no usable schema: its type has to be `object`";
    let expected = [
        left_out(1, "the tool name `resolve` is reserved for the host"),
        left_out(2, not_allowed),
        left_out(3, "the tool name `echo` is taken by stage 0.1.0"),
        left_out(4, no_object),
    ];
    assert_eq!(texts(&opened.errors), expected);
    assert_eq!(opened.session.call("kept", json!({})).await.unwrap().to_text(), "kept");
    assert_eq!(opened.session.tools().origin("echo").unwrap().plugin, "stage");
    let echoed = opened.session.call("echo", json!({"text": "x"})).await.unwrap();
    assert_eq!(echoed.to_text(), r#"{"text":"x","digit":null}"#);
    let resolved = opened.session.call("resolve", json!({"action": "apply", "reason": ""})).await.unwrap();
    assert_eq!(resolved.to_text(), "No pending action to resolve. Nothing to apply or discard.");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_plugin_keeps_the_name() {
    let host = host_of(&[Fixture::Names, Fixture::Stage]).await;
    let opened = host.session(SessionOptions::new("test")).await;
    let text = format!(
        "{}: tool number 2 of `stage` was left out: the tool name `echo` is taken by names 0.1.0; change the tool, or \
         ask the plugin's author to (TH0801)",
        plugin(Fixture::Stage).display()
    );
    assert_eq!(texts(&opened.errors).last(), Some(&text));
    assert_eq!(opened.session.call("echo", json!({})).await.unwrap().to_text(), "echo");
    assert!(opened.session.tools().definition("stage").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_repeated_paths_load_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::copy(plugin(Fixture::Second), path("a.so")).unwrap();
    symlink(path("a.so"), path("b.so")).unwrap();
    fs::hard_link(path("a.so"), path("c.so")).unwrap();
    symlink(directory.path(), path("loop")).unwrap();
    let paths = [path("b.so"), directory.path().to_owned(), path("a.so"), path("loop/c.so"), path("loop")];
    let host = host(paths).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    assert_eq!(host.plugins().map(|plugin| plugin.path.clone()).collect::<Vec<_>>(), [path("b.so")]);
    let opened = host.session(SessionOptions::new("test")).await;
    assert_eq!(texts(&opened.errors), Vec::<String>::new());
    assert_eq!(opened.session.tools().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_load_in_the_order_in_which_they_are_named_and_those_of_a_directory_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for (name, fixture) in [("b.so", Fixture::Second), ("a.so", Fixture::Names), ("readme.md", Fixture::NoPlugin)] {
        fs::copy(plugin(fixture), directory.path().join(name)).unwrap();
    }
    let host = host([plugin(Fixture::Stage), directory.path().to_owned()]).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    let names: Vec<&str> = host.plugins().map(|plugin| plugin.name.as_str()).collect();
    assert_eq!(names, ["stage", "names", "second"]);
}
