//! New plugins are looked at in a process of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_loader::{FirstSight, Host, HostBuilder, LoadLimits, SessionOptions};
use toolhost_tests::{Artifact, Fixture};

use crate::support::{ARTIFACTS, bounded, on_every_runtime, open, plugin, settled, texts};

on_every_runtime![
    what_ends_its_process_is_not_loaded_and_the_host_lives,
    what_hangs_is_not_loaded,
    what_fails_there_fails_here_and_says_why,
    what_a_plugin_leaves_behind_is_gone,
    a_child_that_cannot_be_started_is_an_error,
    the_same_bytes_are_looked_at_once,
];

fn first_sight() -> FirstSight {
    FirstSight::new(ARTIFACTS.path(Artifact::Toolhost)).arg("first-sight")
}

fn builder(cache: &TempDir, fixture: Fixture, settings: Value) -> HostBuilder {
    let builder = Host::builder().cache_dir(cache.path()).plugin(settled(plugin(fixture)));
    builder.first_sight(first_sight()).config("hostile", settings)
}

async fn load(builder: HostBuilder) -> Host {
    bounded(builder.build()).await.unwrap()
}

/// The only error of a host, without the path and the fix.
async fn refusal(builder: HostBuilder) -> (&'static str, String) {
    let host = load(builder).await;
    let [error] = host.load_errors() else { panic!("{:?}", texts(host.load_errors())) };
    assert_eq!(host.plugins().count(), 0);
    (error.code(), error.kind.to_string())
}

async fn what_ends_its_process_is_not_loaded_and_the_host_lives() {
    let opened = "`hostile` was opened in a process of its own, and";
    for (settings, text) in [
        (json!("abort"), format!("{opened} that crashed (SIGABRT); it said last: about to abort")),
        (json!("segfault"), format!("{opened} that crashed (SIGSEGV)")),
        (json!({"exit": 3}), format!("{opened} it ended that with exit code 3")),
        (json!({"exit": 0}), format!("{opened} it ended that with exit code 0")),
    ] {
        let cache = tempfile::tempdir().unwrap();
        assert_eq!(refusal(builder(&cache, Fixture::Hostile, settings)).await, ("TH0502", text));
    }
    let cache = tempfile::tempdir().unwrap();
    let text = "`stillborn` was opened in a process of its own, and that crashed (SIGABRT)".to_owned();
    assert_eq!(refusal(builder(&cache, Fixture::Stillborn, Value::Null)).await, ("TH0502", text));

    let settings = json!({"allocate": 4_usize << 30});
    let small = first_sight().memory_bytes(2 << 30);
    let (code, text) = refusal(builder(&cache, Fixture::Hostile, settings).first_sight(small)).await;
    assert_eq!(code, "TH0502");
    assert!(text.contains("that crashed (SIGABRT); it said last: "), "{text}");
}

async fn what_hangs_is_not_loaded() {
    let cache = tempfile::tempdir().unwrap();
    let limits = LoadLimits::default().with_factory(Duration::from_millis(50));
    let refused = refusal(builder(&cache, Fixture::Hostile, json!("hang")).limits(limits)).await;
    let text = "`hostile` was opened in a process of its own, and that did not come to an end within 0.05 s";
    assert_eq!(refused, ("TH0502", text.to_owned()));
}

async fn what_fails_there_fails_here_and_says_why() {
    let cache = tempfile::tempdir().unwrap();
    let host = load(builder(&cache, Fixture::Hostile, json!("panic"))).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    let opened = bounded(host.session(SessionOptions::new("test"))).await;
    assert_eq!(opened.errors.iter().map(|error| error.code()).collect::<Vec<_>>(), ["TH0701"]);
    assert!(opened.errors[0].to_string().contains("no luck"));

    for harmless in [json!("print"), json!("thread"), json!("nothing")] {
        let cache = tempfile::tempdir().unwrap();
        let host = load(builder(&cache, Fixture::Hostile, harmless).open_late(true)).await;
        let session = open(&host, SessionOptions::new("test")).await;
        assert_eq!(session.tools().visible().map(|tool| &*tool.name).collect::<Vec<_>>(), ["harmless", "harms"]);
    }
}

async fn what_a_plugin_leaves_behind_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    let host = load(builder(&directory, Fixture::Hostile, json!({"fork": file})).open_late(true)).await;
    assert_eq!(host.plugins().count(), 1);
    let pid = fs::read_to_string(&file).unwrap().parse().unwrap();
    // Killed it is; it is gone once its new parent has noticed.
    while is_running(pid) {
        std::thread::yield_now();
    }
}

fn is_running(pid: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat"));
    let is_zombie = state.is_ok_and(|state| state.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')));
    !is_zombie && test_kill_process(Pid::from_raw(pid).unwrap()).is_ok()
}

async fn a_child_that_cannot_be_started_is_an_error() {
    let cache = tempfile::tempdir().unwrap();
    let nowhere = FirstSight::new("/nowhere/toolhost");
    let (code, text) = refusal(builder(&cache, Fixture::Second, Value::Null).first_sight(nowhere)).await;
    assert_eq!(code, "TH0503");
    assert!(text.starts_with("no process could be started to look at it: `/nowhere/toolhost` was not run"), "{text}");
}

/// A program that counts how often it looks.
fn counting(directory: &Path) -> (PathBuf, PathBuf) {
    let (program, count) = (directory.join("count"), directory.join("counted"));
    let toolhost = ARTIFACTS.path(Artifact::Toolhost);
    let script = format!("#!/bin/sh\necho x >> '{}'\nexec '{}' first-sight\n", count.display(), toolhost.display());
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    (program, count)
}

async fn the_same_bytes_are_looked_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let (program, count) = counting(directory.path());
    for late in [true, false, true] {
        let builder = builder(&directory, Fixture::Hostile, json!("nothing")).open_late(late);
        let host = load(builder.first_sight(FirstSight::new(&program))).await;
        let session = open(&host, SessionOptions::new("test")).await;
        assert_eq!(bounded(session.call("harmless", json!({}))).await.unwrap().to_text(), "no harm done");
    }
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
    // What ends its process is looked at again: it may depend on more than its bytes.
    let other = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let builder = builder(&other, Fixture::Stillborn, Value::Null).first_sight(FirstSight::new(&program));
        assert_eq!(refusal(builder).await.0, "TH0502");
    }
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\nx\nx\n");
}
