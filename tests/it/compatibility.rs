//! Plugins and hosts of different versions of the interface. The next version is an imagined one, and so is its host:
//! the least that can open a plugin and call it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use serde_json::{Value, json};
use toolhost_abi_next::Bytes;
use toolhost_abi_next::abi_stable::StableAbi;
use toolhost_abi_next::abi_stable::abi_stability::abi_checking::{
    CheckingGlobals, check_layout_compatibility_with_globals,
};
use toolhost_abi_next::abi_stable::library::{AbiHeaderRef, LibHeader};
use toolhost_abi_next::abi_stable::sabi_trait::TD_Opaque;
use toolhost_abi_next::abi_stable::std_types::{RResult, RSlice, RStr, RVec};
use toolhost_abi_next::async_ffi::{FfiFuture, FutureExt};
use toolhost_abi_next::call::{Call, CallObject};
use toolhost_abi_next::change::ChangeObject;
use toolhost_abi_next::host::{Host, HostObject};
use toolhost_abi_next::root::PluginRootRef;
use toolhost_abi_next::tool::ToolObject;
use toolhost_tests::Fixture;

use crate::support::{apply, bounded, host_of, labels, plugin, session_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_the_next_version_finds_what_is_new_absent_and_works() {
    let host = host_of(&[Fixture::Later]).await;
    assert_eq!(host.plugins().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(), ["later"]);

    let session = session_of(&[Fixture::Later]).await;
    let result = session.call("later", json!({})).await.unwrap();
    // What the method answers where the host has none.
    assert_eq!(result.to_text(), "the host's clock says 0");
    assert_eq!(labels(&session), ["at 0"]);
    assert_eq!(apply(&session, "why not").await["content"][0]["text"], "applied at 0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_of_the_next_version_finds_what_is_new_in_a_host_of_it() {
    let host = NextHost::default();
    let root = host.open(&plugin(Fixture::Later), Fits::BothWays);
    assert_eq!(root.weight().map(|weight| weight()), Some(3));
    let [tool] = &host.tools(root).await[..] else { panic!("it has one tool") };
    assert_eq!(tool.weight(), 2);
    assert_eq!(host.call(tool, json!({})).await, "the host's clock says 7");
    assert_eq!(host.pushed(), "at 7");
    assert_eq!(host.apply().await, "applied at 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_the_next_version_finds_what_is_new_absent_in_a_plugin_of_today() {
    let host = NextHost::default();
    let root = host.open(&plugin(Fixture::Second), Fits::TheirsInOurs);
    assert!(root.weight().is_none());
    let tools = host.tools(root).await;
    let [tool, _hidden] = &tools[..] else { panic!("it has two tools, and not {}", tools.len()) };
    assert_eq!(parsed(&tool.definition())["name"], "second");
    assert_eq!(tool.weight(), 0);
    assert_eq!(host.call(tool, json!({"label": "a"})).await, "staged second");
    assert_eq!(host.pushed(), "a");
    assert_eq!(host.apply().await, "second applied a: why not");
}

/// How the layouts of a plugin and the next version agree.
#[derive(Debug, PartialEq)]
enum Fits {
    BothWays,
    /// The plugin's is the beginning of ours.
    TheirsInOurs,
}

/// A host of the next version, for one session, that keeps the last action that was pushed.
#[derive(Clone, Default)]
struct NextHost {
    pushed: Arc<Mutex<Option<(Value, ChangeObject)>>>,
}

impl NextHost {
    /// Opens a plugin for good.
    fn open(&self, path: &Path, expected: Fits) -> PluginRootRef {
        // SAFETY: a fixture has no constructor of its own that does anything. The library is never closed.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.unwrap();
        // SAFETY: the fixtures export an object of this type under this name.
        let header: AbiHeaderRef = unsafe { *library.get(b"toolhost_plugin_abi_stable").unwrap() };
        std::mem::forget(library);
        let header = header.upgrade().unwrap();
        assert_eq!(fits(header), expected);
        // SAFETY: the layout was checked right above.
        unsafe { header.init_root_module_with_unchecked_layout::<PluginRootRef>() }.unwrap()
    }

    async fn tools(&self, root: PluginRootRef) -> RVec<ToolObject> {
        let host = HostObject::from_value(self.clone(), TD_Opaque);
        let request = json!({"protocol": 1, "sessionId": "test", "cwd": "/", "pluginDir": "/"});
        let created = bounded(root.create()(host, bytes(&request))).await;
        created.into_result().unwrap_or_else(|failure| panic!("{}", parsed(&failure)))
    }

    /// The text that the tool answers.
    async fn call(&self, tool: &ToolObject, params: Value) -> String {
        text(bounded(tool.execute(bytes(&params), CallObject::from_value(OneCall, TD_Opaque))).await)
    }

    /// The label of the last action.
    fn pushed(&self) -> String {
        self.pushed.lock().unwrap().as_ref().unwrap().0["label"].as_str().unwrap().to_owned()
    }

    /// Applies the last action. The text that it answers.
    async fn apply(&self) -> String {
        let (_, change) = self.pushed.lock().unwrap().take().unwrap();
        text(bounded(change.apply(RVec::from_slice(b"why not"))).await)
    }
}

fn fits(header: &LibHeader) -> Fits {
    let (ours, theirs) = (<PluginRootRef as StableAbi>::LAYOUT, header.layout().unwrap());
    let fits = |a, b| check_layout_compatibility_with_globals(a, b, &CheckingGlobals::new()).is_ok();
    match (fits(ours, theirs), fits(theirs, ours)) {
        (true, true) => Fits::BothWays,
        (false, true) => Fits::TheirsInOurs,
        neither => panic!("{neither:?}"),
    }
}

fn bytes(value: &Value) -> RVec<u8> {
    value.to_string().into_bytes().into()
}

fn parsed(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap()
}

fn text(answer: Bytes) -> String {
    let json = answer.into_result().unwrap_or_else(|failure| panic!("{}", parsed(&failure)));
    parsed(&json)["content"][0]["text"].as_str().unwrap().to_owned()
}

impl Host for NextHost {
    fn push_pending_action(&self, _call: u64, head: RVec<u8>, change: ChangeObject) -> Bytes {
        *self.pushed.lock().unwrap() = Some((parsed(&head), change));
        RResult::ROk(bytes(&json!({"id": "1"})))
    }

    fn log_level(&self) -> u8 {
        0
    }

    fn log(&self, _level: u8, _record: RSlice<'_, u8>) {}

    fn call(&self, _call: u64, _method: RStr<'_>, _json: RVec<u8>) -> FfiFuture<Bytes> {
        std::future::ready(RResult::RErr(bytes(&json!({"message": "no services"})))).into_ffi()
    }

    fn clock(&self) -> u64 {
        7
    }
}

/// A call that is neither watched nor cancelled.
#[derive(Clone)]
struct OneCall;

impl Call for OneCall {
    fn id(&self) -> u64 {
        1
    }

    fn update(&self, _json: RVec<u8>) -> bool {
        false
    }

    fn is_cancelled(&self) -> bool {
        false
    }

    fn cancelled(&self) -> FfiFuture<()> {
        std::future::pending().into_ffi()
    }
}
