//! A plugin that is linked into its host's program: the same adapters, and nothing set up that is the program's.

use std::fmt::Debug;
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::runtime::Handle;
use toolhost_loader::{Host, Session, SessionOptions};
use toolhost_plugin_sdk::prelude::*;
use toolhost_tests::Fixture;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

use crate::support::{ARTIFACTS, apply, in_process_of_its_own, labels, on_every_runtime, open, plugin, texts};

on_every_runtime![
    a_linked_plugin_says_what_it_is,
    a_linked_plugin_runs_on_the_runtime_of_its_host,
    a_linked_plugin_comes_before_those_from_files,
    a_linked_plugin_stages_and_panics_like_any_other,
    a_linked_factory_that_panics_as_it_goes_goes_with_its_host,
];

/// Does what it is asked to.
struct Does {
    pi: CustomToolApi,
}

#[derive(Deserialize, JsonSchema)]
struct Params {
    what: What,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum What {
    Log,
    Panic,
    Runtime,
    Stage,
}

/// Where the plugin logs.
static LOGS_AT: Mutex<Option<&Location<'_>>> = Mutex::new(None);

#[track_caller]
fn here() -> &'static Location<'static> {
    Location::caller()
}

impl CustomTool for Does {
    const NAME: &'static str = "does";
    const LABEL: &'static str = "Does";
    const DESCRIPTION: &'static str = "Does what it is asked to";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        match params.what {
            What::Log => {
                *LOGS_AT.lock().unwrap() = Some(here());
                tracing::info!(n = 1, "by tracing");
                log::info!("by log");
                Ok("logged".into())
            }
            What::Panic => panic!("on purpose"),
            What::Runtime => {
                let spawned = tokio::spawn(async { Handle::current().id().to_string() }).await?;
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                Ok(format!("{} {spawned}", Handle::current().id()).into())
            }
            What::Stage => {
                self.pi.push_pending_action(PendingAction::new("Linked", async |reason| match &*reason {
                    "panic" => panic!("in an apply"),
                    reason => Ok(format!("linked: {reason}").into()),
                }))?;
                Ok("staged".into())
            }
        }
    }
}

async fn host() -> Host {
    Host::builder().linked(linked_plugin!(|pi| Does { pi })).build().await.unwrap()
}

async fn session() -> Session {
    open(&host().await, SessionOptions::new("linked")).await
}

async fn does(session: &Session, what: &str) -> String {
    session.call("does", json!({"what": what})).await.unwrap().to_text()
}

async fn a_linked_plugin_says_what_it_is() {
    let host = host().await;
    let plugins: Vec<_> = host.plugins().collect();
    let [plugin] = plugins[..] else { panic!("{plugins:?}") };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!((plugin.name.as_str(), plugin.version.as_str(), plugin.linked), ("toolhost-tests", version, true));
    assert_eq!(plugin.path, std::env::current_exe().unwrap());
    assert_eq!(plugin.fingerprint, format!("linked toolhost-tests {version}"));
    let origin = open(&host, SessionOptions::new("a")).await.tools().origin("does").cloned().unwrap();
    assert_eq!((origin.plugin, origin.fingerprint), (plugin.name.clone(), plugin.fingerprint.clone()));
}

async fn a_linked_plugin_runs_on_the_runtime_of_its_host() {
    let mine = Handle::current().id();
    assert_eq!(does(&session().await, "runtime").await, format!("{mine} {mine}"));
}

async fn a_linked_plugin_comes_before_those_from_files() {
    let linked = toolhost_plugin_sdk::link("first", "1.2.3", |_: CustomToolApi| Second);
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache")).plugin(plugin(Fixture::Second));
    let host = builder.linked(linked).build().await.unwrap();
    assert_eq!(host.plugins().map(|plugin| &*plugin.name).collect::<Vec<_>>(), ["first", "second"]);
    let opened = host.session(SessionOptions::new("a")).await;
    let text = format!(
        "{}: tool number 1 of `second` was left out: the tool name `second` is taken by first 1.2.3; change the tool, or \
         ask the plugin's author to (TH0801)",
        plugin(Fixture::Second).display()
    );
    assert_eq!(texts(&opened.errors), [text]);
    assert_eq!(opened.session.call("second", json!({})).await.unwrap().to_text(), "linked");
    assert_eq!(opened.session.call("hidden", json!({})).await.unwrap().to_text(), "here");
}

/// Has the name of a fixture's tool.
struct Second;

impl CustomTool for Second {
    const NAME: &'static str = "second";
    const LABEL: &'static str = "Second";
    const DESCRIPTION: &'static str = "Is linked";
    type Params = NoParams;

    async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
        Ok("linked".into())
    }
}

async fn a_linked_plugin_stages_and_panics_like_any_other() {
    let session = session().await;
    // Where it was is known to the program's own hook.
    let text = "tool `does` of plugin `toolhost-tests` panicked: on purpose";
    assert_eq!(does(&session, "panic").await, text);
    assert_eq!(does(&session, "stage").await, "staged");
    assert_eq!(apply(&session, "good").await["content"][0]["text"], "linked: good");
    does(&session, "stage").await;
    let text = "Apply failed: plugin `toolhost-tests` panicked: in an apply";
    assert_eq!(apply(&session, "panic").await["content"][0]["text"], text);
    assert_eq!(labels(&session), ["Linked"]);
}

struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("dropping the factory");
    }
}

async fn a_linked_factory_that_panics_as_it_goes_goes_with_its_host() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb(dropped.clone());
    let linked = toolhost_plugin_sdk::link("bomb", "1.0.0", move |_: CustomToolApi| {
        let _kept = &bomb;
        Second
    });
    let host = Host::builder().linked(linked).build().await.unwrap();
    let session = open(&host, SessionOptions::new("a")).await;
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(host);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    assert_eq!(session.call("second", json!({})).await.unwrap().to_text(), "linked");
}

/// Keeps what the program's own subscriber, logger and panic hook hear.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn add(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl<S: Subscriber> Layer<S> for Heard {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        // The loader's own.
        if metadata.target().starts_with("toolhost") {
            return;
        }
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        let place = format!("{}:{}", metadata.file().unwrap(), metadata.line().unwrap());
        self.add(format!("event {} {} {place}{}", metadata.level(), metadata.target(), fields.0));
    }
}

impl log::Log for Heard {
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        self.add(format!("log {} {}: {}", record.level(), record.target(), record.args()));
    }

    fn flush(&self) {}
}

#[test]
fn a_linked_plugin_leaves_log_and_panic_hook_to_the_program() {
    in_process_of_its_own("linked::a_linked_plugin_leaves_log_and_panic_hook_to_the_program", async {
        let heard = Heard::default();
        let hears = heard.clone();
        std::panic::set_hook(Box::new(move |info| {
            hears.add(format!("panic {}: {}", info.location().unwrap().file(), info.payload_as_str().unwrap()));
        }));

        // Nothing is set up for it.
        let session = session().await;
        assert_eq!(does(&session, "log").await, "logged");
        assert!(!tracing::dispatcher::has_been_set());
        assert_eq!(log::max_level(), log::LevelFilter::Off);
        assert_eq!(heard.take(), Vec::<String>::new());

        // What the program sets up hears each thing once, from where the author wrote it.
        log::set_boxed_logger(Box::new(heard.clone())).unwrap();
        log::set_max_level(log::LevelFilter::Info);
        tracing::subscriber::set_global_default(Registry::default().with(heard.clone())).unwrap();
        assert_eq!(does(&session, "log").await, "logged");
        let line = LOGS_AT.lock().unwrap().unwrap().line() + 1;
        let event = format!("event INFO it::linked {}:{line} message=by tracing n=1", file!());
        assert_eq!(heard.take(), [event, "log INFO it::linked: by log".to_owned()]);
        does(&session, "panic").await;
        assert_eq!(heard.take(), [format!("panic {}: on purpose", file!())]);
        assert_eq!(log::max_level(), log::LevelFilter::Info);
    });
}
