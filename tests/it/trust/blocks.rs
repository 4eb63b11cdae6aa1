//! What is blocked wins over every kind of trust, whenever it becomes so.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toolhost_core::{CallError, EndReason, ResolveStatus};
use toolhost_loader::{Block, BlockList, Host, LoadError, ResolveRequest, SessionOptions, Trust, UnopenedPlugin};
use toolhost_plugin_sdk::prelude::*;
use toolhost_tests::Fixture;

use super::{LOADED, Place, codes};
use crate::support::{apply, discard, labels, open, settled, stage_one, store};

fn block(target: &str, reason: &str) -> Block {
    Block::new(target.parse().unwrap(), reason)
}

fn list(place: &Place) -> BlockList {
    BlockList::new(place.path("blocked.json"))
}

/// A host of this fixture, which heeds the list.
async fn watching(place: &Place, fixture: Fixture) -> Host {
    let builder = place.builder().blocks_from(place.path("other.json")).blocks_from(place.path("blocked.json"));
    let host = builder.plugin(place.copy(fixture)).build().await.unwrap();
    assert_eq!(codes(&host), LOADED);
    host
}

#[tokio::test]
async fn a_block_of_any_form_on_any_list_wins_over_any_trust() {
    let place = Place::new();
    let file = place.copy(Fixture::Constructor);
    let hash = place.trust(&file);
    let path = file.display();
    for (target, hits) in [
        (hash.as_str(), true),
        ("constructor", true),
        ("constructor@0.1.0", true),
        ("constructor@0.1.1", false),
        ("other", false),
    ] {
        for trust in [Trust::Given, Trust::Owned, Trust::Recorded] {
            let expected: &[&str] = if hits { &["TH0304"] } else { &LOADED };
            let builder = || place.builder().plugin_trusted(&file, trust);
            let given = builder().block(block(target, "it leaks")).build().await.unwrap();
            assert_eq!(codes(&given), expected, "{target} {trust:?}");
            list(&place).block(block(target, "it leaks")).unwrap();
            let listed = builder().blocks_from(place.path("blocked.json")).build().await.unwrap();
            assert_eq!(codes(&listed), expected, "{target} {trust:?}");
            list(&place).unblock(&target.parse().unwrap()).unwrap();
            if hits {
                assert!(!place.path("cache").exists(), "it was copied, to be opened");
                let file = place.path("blocked.json");
                let text = |by: &str, fix: &str| {
                    format!(
                        "{path}: `constructor` 0.1.0 is blocked by {by}: it leaks; use another version; {fix} (TH0304)"
                    )
                };
                let by_program = text("this program", "this program blocks this one by itself (`HostBuilder::block`)");
                assert_eq!(given.load_errors()[0].to_string(), by_program);
                let fix = format!("to use this one all the same, `toolhost unblock {target}` (`BlockList::unblock`)");
                assert_eq!(listed.load_errors()[0].to_string(), text(&file.display().to_string(), &fix));
                assert!(listed.load_errors()[0].evidence[2].starts_with(&format!("blocked as {target} since 20")));
            } else {
                fs::remove_dir_all(place.path("cache")).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_library_that_is_blocked_blocks_what_brings_it() {
    let place = Place::new();
    let file = place.copy(Fixture::Sibling);
    let source = std::path::Path::new(toolhost_tests::FIXTURES).with_file_name("sibling").join("dep.c");
    let library = place.path("plugins/libtoolhost_dep.so");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-DANSWER=9"]).arg(source).arg("-o").arg(&library);
    assert!(cc.status().unwrap().success());
    let inspected = UnopenedPlugin::read(&file).unwrap();
    assert_eq!(inspected.libraries().collect::<Vec<_>>(), [std::path::Path::new("libtoolhost_dep.so")]);
    let hash = std::process::Command::new("sha256sum").arg(&library).output().unwrap().stdout;
    let hash = String::from_utf8(hash).unwrap()[..64].to_owned();
    assert_ne!(hash, inspected.plugin().fingerprint);
    let host = place.builder().plugin(&file).block(block(&hash, "r")).build().await.unwrap();
    assert_eq!(codes(&host), ["TH0304"]);
    // Who may write it counts as for the plugin itself.
    super::mode(&library, 0o666);
    let host = place.host(&file, Trust::Owned).await;
    assert_eq!(codes(&host), ["TH0303"]);
    assert!(host.load_errors()[0].kind.to_string().contains("libtoolhost_dep.so can be written by others"));
}

#[tokio::test]
async fn a_list_that_cannot_be_used_lets_nothing_be_loaded() {
    let place = Place::new();
    let file = place.copy(Fixture::Second);
    fs::write(place.path("blocked.json"), r#"{"format": 9}"#).unwrap();
    let host = place.builder().plugin(&file).blocks_from(place.path("blocked.json")).build().await.unwrap();
    assert_eq!(codes(&host), ["TH0305"]);
    let text = format!(
        "{}: whether it may be loaded cannot be decided: the block list {} has format 9, and this program knows formats \
         up to 1; update this program (TH0305)",
        file.display(),
        place.path("blocked.json").display()
    );
    assert_eq!(host.load_errors()[0].to_string(), text);
}

#[tokio::test]
async fn what_becomes_blocked_between_two_calls_is_not_called_again() {
    let place = Place::new();
    let host = watching(&place, Fixture::Stage).await;
    let session = open(&host, SessionOptions::new("test")).await;
    let call = async || session.call("echo", json!({"text": "hi"})).await;
    assert!(call().await.is_ok());
    list(&place).block(block("stage@0.1.0", "it leaks")).unwrap();
    let refused = call().await.unwrap_err();
    let reason = "plugin stage is blocked: it leaks".to_owned();
    assert_eq!(refused, CallError::Refused { tool: "echo".to_owned(), reason });
    assert_eq!(refused.for_model(), "`echo` was not called: plugin stage is blocked: it leaks.");
    // Nor is its factory.
    let opened = host.session(SessionOptions::new("late")).await;
    assert_eq!(opened.errors.iter().map(LoadError::code).collect::<Vec<_>>(), ["TH0304"]);
    assert!(opened.session.tools().is_empty());
    list(&place).unblock(&"stage@0.1.0".parse().unwrap()).unwrap();
    assert!(call().await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_blocked_before_it_is_opened_is_not_opened_by_a_call() {
    let place = Place::new();
    let file = settled(place.copy(Fixture::Constructor));
    let builder = || place.builder().blocks_from(place.path("blocked.json")).plugin(&file).open_late(true);
    // The first start gets to know its tools.
    let first = builder().build().await.unwrap();
    open(&first, SessionOptions::new("first")).await;
    let later = builder().build().await.unwrap();
    let session = open(&later, SessionOptions::new("later")).await;
    list(&place).block(block("constructor", "it leaks")).unwrap();
    let refused = session.call("opened", json!({})).await.unwrap_err();
    assert_eq!(refused.to_string(), "`opened` was not called: plugin constructor is blocked: it leaks");
    list(&place).unblock(&"constructor".parse().unwrap()).unwrap();
    assert_eq!(session.call("opened", json!({})).await.unwrap().to_text(), "opened");
}

/// An action whose apply and reject write this file.
fn writes(file: &PathBuf) -> serde_json::Value {
    json!({"label": "Write it", "source": "test", "apply": [{"tell": file}], "reject": {"tell": file}})
}

const DISCARDED: &str = "Discarded: Write it. Plugin stage is blocked: it leaks";

#[tokio::test]
async fn what_a_blocked_plugin_staged_is_discarded_and_nothing_of_it_runs() {
    let place = Place::new();
    let file = place.path("written");
    for (ask, blocked) in [("apply", true), ("discard", true), ("apply", false), ("discard", false)] {
        let host = watching(&place, Fixture::Stage).await;
        let session = open(&host, SessionOptions::new("test")).await;
        let id = stage_one(&session, writes(&file)).await;
        if blocked {
            list(&place).block(block("stage", "it leaks")).unwrap();
        }
        let result = if ask == "apply" { apply(&session, "r").await } else { discard(&session, "r").await };
        assert_eq!(file.exists(), !blocked, "{ask}");
        assert_eq!(labels(&session), [""; 0]);
        if blocked {
            let details =
                json!({"action": "discard", "reason": "r", "sourceToolName": "test", "label": "Write it", "id": id});
            let content = json!([{"type": "text", "text": DISCARDED}]);
            assert_eq!(result, json!({"content": content, "details": details, "isError": true}));
            list(&place).unblock(&"stage".parse().unwrap()).unwrap();
        } else {
            fs::remove_file(&file).unwrap();
        }
    }
}

#[tokio::test]
async fn at_the_end_of_a_session_nothing_of_a_blocked_plugin_runs() {
    let place = Place::new();
    let file = place.path("written");
    let host = watching(&place, Fixture::Stage).await;
    let session = open(&host, SessionOptions::new("test")).await;
    stage_one(&session, writes(&file)).await;
    list(&place).block(block("stage", "it leaks")).unwrap();
    let ended = session.end(EndReason::Shutdown).await;
    let [resolution] = &ended.discarded[..] else { panic!("{ended:?}") };
    assert_eq!((&resolution.status, resolution.result.to_text().as_str()), (&ResolveStatus::Withdrawn, DISCARDED));
    assert!(!file.exists());
}

/// Set when something of the linked plugin is dropped.
static DROPPED: AtomicBool = AtomicBool::new(false);

struct Drops;

impl Drop for Drops {
    fn drop(&mut self) {
        DROPPED.store(true, Ordering::SeqCst);
    }
}

struct Stages {
    pi: CustomToolApi,
}

impl CustomTool for Stages {
    const NAME: &'static str = "stages";
    const LABEL: &'static str = "Stages";
    const DESCRIPTION: &'static str = "Stages a change that notices when it is dropped";
    type Params = NoParams;

    async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
        let drops = Arc::new(Drops);
        self.pi.push_pending_action(PendingAction::new("Drop it", move |_| {
            let _held = drops.clone();
            async { Ok("".into()) }
        }))?;
        Ok("staged".into())
    }
}

#[tokio::test]
async fn a_linked_plugin_is_blocked_by_its_name_and_its_destructors_do_not_run() {
    let place = Place::new();
    let linked = || toolhost_plugin_sdk::link("built-in", "1.2.3", |pi: CustomToolApi| Stages { pi });
    let host = Host::builder().linked(linked()).block(block("built-in@1.2.3", "r")).build().await.unwrap();
    assert_eq!(codes(&host), ["TH0304"]);
    assert_eq!(host.load_errors()[0].evidence[0], "the plugin built-in 1.2.3, linked into this program");

    let host = Host::builder().linked(linked()).blocks_from(place.path("blocked.json")).build().await.unwrap();
    let session = open(&host, SessionOptions::new("test")).await;
    let stage = async || session.call("stages", json!({})).await.unwrap();
    stage().await;
    session.resolve(ResolveRequest::apply("r")).await;
    assert!(DROPPED.swap(false, Ordering::SeqCst));
    stage().await;
    list(&place).block(block("built-in", "r")).unwrap();
    assert_eq!(session.resolve(ResolveRequest::apply("r")).await.status, ResolveStatus::Withdrawn);
    assert!(!store(&session).has_pending());
    drop((session, host));
    assert!(!DROPPED.load(Ordering::SeqCst));
}
