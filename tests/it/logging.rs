//! What a plugin logs, through its own copies of `tracing` and `log`, as the host's subscriber gets it.

use std::fmt::Debug;
use std::sync::{Arc, LazyLock, Mutex};

use toolhost_loader::{Host, Session, SessionOptions};
use toolhost_plugin_sdk::prelude::*;
use toolhost_tests::Fixture;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, Layer, Registry};

use crate::support::{bounded, host_of, in_process_of_its_own, open, place, session_of};

/// Keeps what a subscriber is told, each as one JSON object.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Value>>>);

impl Kept {
    fn take(&self) -> Vec<Value> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn add(&self, metadata: &Metadata<'_>, kind: &str, fields: Fields, within: Vec<String>) {
        let (level, target) = (metadata.level().as_str(), metadata.target());
        let mut value = json!({kind: metadata.name(), "level": level, "target": target, "fields": fields.0});
        if kind == "event" {
            value["event"] = Value::Null;
            value["within"] = json!(within);
        }
        self.0.lock().unwrap().push(value);
    }
}

#[derive(Default)]
struct Fields(serde_json::Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Kept {
    fn on_new_span(&self, attributes: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.add(attributes.metadata(), "span", fields, Vec::new());
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        self.add(context.metadata(id).unwrap(), "record", fields, Vec::new());
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let spans = context.event_scope(event).into_iter().flatten().map(|span| span.name().to_owned());
        self.add(event.metadata(), "event", fields, spans.collect());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.add(context.metadata(&id).unwrap(), "close", Fields::default(), Vec::new());
    }
}

/// A session whose plugin sees the level rise at most: cases beside each other have one subscriber each, and the most
/// verbose of them decides for all.
async fn session() -> Session {
    static LISTENS: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Registry::default().with(LevelFilter::INFO)));
    LazyLock::force(&LISTENS);
    session_of(&[Fixture::Logs]).await
}

/// What plugins log on this thread from now on, and nothing else.
fn listen() -> (Kept, DefaultGuard) {
    let kept = Kept::default();
    let filter = EnvFilter::new("off,logs=info");
    (kept.clone(), tracing::subscriber::set_default(Registry::default().with(kept.with_filter(filter))))
}

async fn call(session: &Session, how: &str) -> String {
    session.call("logs", json!({"how": how})).await.unwrap().to_text()
}

fn event(level: &str, target: &str, fields: Value, within: &[&str]) -> Value {
    json!({"event": null, "level": level, "target": target, "fields": fields, "within": within})
}

/// These fields, beside the plugin's name.
fn of_plugin(mut fields: Value) -> Value {
    fields["plugin"] = json!("logs");
    fields
}

/// Takes away the id of the call, which differs from run to run, and says whether every record that has one has the
/// same.
fn without_call(records: &mut [Value]) -> bool {
    let ids: Vec<Value> =
        records.iter_mut().filter_map(|record| record["fields"].as_object_mut()?.remove("call")).collect();
    ids.iter().all(|id| id.as_u64().is_some_and(|id| id > 0) && *id == ids[0])
}

#[tokio::test]
async fn events_arrive_with_level_target_fields_and_the_plugins_name() {
    let session = session().await;
    let (kept, _guard) = listen();
    call(&session, "levels").await;
    let mut records = kept.take();
    assert!(without_call(&mut records));
    let said = |level, text| event(level, "logs", of_plugin(json!({"message": text})), &[]);
    assert_eq!(records, [said("ERROR", "one"), said("WARN", "two"), said("INFO", "three")]);

    call(&session, "fields").await;
    let mut records = kept.take();
    assert!(without_call(&mut records));
    let fields = json!({
        "message": "all kinds", "flag": true, "integer": -3, "unsigned": u64::MAX, "float": 0.5, "nan": "NaN",
        "text": "a\nb", "display": "x", "debug": "Some(1)", "error": "disk full", "plugin_of": "mine",
        "plugin_": "other", "call_": "mine"
    });
    assert_eq!(records, [event("INFO", "logs::elsewhere", of_plugin(fields), &[])]);
}

#[tokio::test]
async fn spans_arrive_as_spans() {
    let session = session().await;
    let (kept, _guard) = listen();
    let around = tracing::info_span!(target: "logs", "of the host");
    let entered = around.enter();
    kept.take();
    call(&session, "spans").await;
    drop(entered);
    let mut records = kept.take();
    assert!(without_call(&mut records));
    let span = |kind: &str, name: &str, fields: Value| json!({kind: name, "level": "INFO", "target": "logs", "fields": fields});
    let said = |text: &str, within: &[&str]| event("INFO", "logs", of_plugin(json!({"message": text})), within);
    let expected = [
        span("span", "outer", of_plugin(json!({"n": 1, "call_": "mine"}))),
        span("record", "outer", json!({"later": "known now"})),
        span("record", "outer", json!({"plugin_": "other"})),
        span("span", "inner", of_plugin(json!({}))),
        said("within", &["inner", "outer", "of the host"]),
        said("beside", &["of the host"]),
        span("close", "inner", json!({})),
        span("close", "outer", json!({})),
    ];
    assert_eq!(records, expected);
}

#[tokio::test]
async fn records_of_log_arrive_like_events() {
    let session = session().await;
    let (kept, _guard) = listen();
    call(&session, "log").await;
    let mut records: Vec<Value> = kept.take().into_iter().filter(|record| record.get("event").is_some()).collect();
    assert!(without_call(&mut records));
    let fields = of_plugin(json!({"message": "by log, 7"}));
    assert_eq!(records, [event("WARN", "logs::old", fields, &["around"])]);
}

#[tokio::test]
async fn a_value_that_logs_as_it_is_written_does_not_go_round_in_circles() {
    let session = session().await;
    let (kept, _guard) = listen();
    call(&session, "nested").await;
    let mut records = kept.take();
    assert!(without_call(&mut records));
    let said = |fields: Value| event("INFO", "logs", of_plugin(fields), &[]);
    assert_eq!(records, [said(json!({"message": "inner"})), said(json!({"message": "outer", "value": "Chatty"}))]);
}

/// The places are kept for as long as the process runs, and others want some of their own.
#[test]
fn a_plugin_with_too_many_places_still_logs() {
    in_process_of_its_own("logging::a_plugin_with_too_many_places_still_logs", async {
        let session = session().await;
        let kept = Kept::default();
        let filter = EnvFilter::new("off,logs=info,toolhost_loader=info");
        let _guard = tracing::subscriber::set_default(Registry::default().with(kept.clone().with_filter(filter)));
        call(&session, "places").await;
        let records = kept.take();
        let texts: Vec<_> = records.iter().map(|record| record["fields"]["message"].clone()).collect();
        let expected: Vec<_> = (0..2_100).map(|n| json!(format!("place {n}"))).collect();
        assert_eq!(texts, expected);
        let last = &records[2_099];
        assert_eq!(last["fields"]["plugin"], "logs");
        assert_eq!(last["fields"]["target"], "logs::places");
    });
}

/// Others log too in the process of the tests: what a subscriber for all threads gets wants one of its own.
#[test]
fn what_the_plugins_own_threads_log_arrives_too() {
    in_process_of_its_own("logging::what_the_plugins_own_threads_log_arrives_too", async {
        let kept = Kept::default();
        tracing::subscriber::set_global_default(
            Registry::default().with(kept.clone().with_filter(EnvFilter::new("off,logs=info"))),
        )
        .unwrap();
        let session = session_of(&[Fixture::Logs]).await;
        assert_eq!(call(&session, "task").await, "0");
        let events: Vec<_> = kept.take().into_iter().filter(|record| record.get("event").is_some()).collect();
        let fields = json!({"plugin": "logs", "message": "in a task"});
        assert_eq!(events, [event("INFO", "logs", fields, &["task"])]);

        assert_eq!(call(&session, "panics").await, "true true");
        let records = kept.take();
        let said: Vec<_> = records.iter().map(|record| (&record["level"], &record["fields"]["message"])).collect();
        let at = |code: &str, text: &str| json!(format!("panicked at {}: {text}", place("logs/src/lib.rs", code)));
        let task = at(r#"panic!("in a task")"#, "in a task");
        let thread = at(r#"panic!("in a thread")"#, "in a thread");
        assert_eq!(said, [(&json!("ERROR"), &task), (&json!("ERROR"), &thread)]);
        assert_eq!(records[1]["fields"]["thread"], "mine");
    });
}

#[test]
fn the_hosts_level_is_honoured_on_the_plugins_side() {
    in_process_of_its_own("logging::the_hosts_level_is_honoured_on_the_plugins_side", async {
        let session = session_of(&[Fixture::Logs]).await;
        let at = async |level: Option<Level>| {
            let filter = level.map_or(LevelFilter::OFF, LevelFilter::from_level);
            let _guard = tracing::subscriber::set_default(Registry::default().with(filter));
            call(&session, "counted").await
        };
        assert_eq!(at(None).await, "false false");
        assert_eq!(at(Some(Level::INFO)).await, "false false");
        assert_eq!(at(Some(Level::DEBUG)).await, "true true");
        assert_eq!(at(Some(Level::WARN)).await, "false false");
        assert_eq!(at(Some(Level::TRACE)).await, "true true");
        // Of the five, two were wanted, and only those asked for their value.
        assert_eq!(call(&session, "levels").await, "2");
    });
}

#[tokio::test]
async fn a_session_that_is_gone_does_not_take_the_log_along() {
    drop(session().await);
    let host = host_of(&[Fixture::Logs]).await;
    drop(open(&host, SessionOptions::new("first")).await);
    let session = open(&host, SessionOptions::new("second")).await;
    let (kept, _guard) = listen();
    bounded(call(&session, "levels")).await;
    assert_eq!(kept.take().len(), 3);
}

/// Stages as many actions as it is told to, and says of itself only what the type says.
struct Stages<const SAYS_SO: bool> {
    pi: CustomToolApi,
}

#[derive(Deserialize, JsonSchema)]
struct Params {
    actions: usize,
}

impl<const SAYS_SO: bool> CustomTool for Stages<SAYS_SO> {
    const NAME: &'static str = if SAYS_SO { "honest" } else { "reads" };
    const LABEL: &'static str = "Stages";
    const DESCRIPTION: &'static str = "Stages some actions";
    const EFFECT: Effect = if SAYS_SO { Effect::Stages } else { Effect::ReadOnly };
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        for _ in 0..params.actions {
            self.pi.push_pending_action(PendingAction::new("x", async |_reason| Ok("".into())))?;
        }
        Ok("staged".into())
    }
}

#[tokio::test]
async fn a_tool_that_stages_and_says_that_it_only_reads_is_warned_of_once_per_call() {
    let factory = |pi: CustomToolApi| (Stages::<true> { pi: pi.clone() }, Stages::<false> { pi });
    let plugin = toolhost_plugin_sdk::link("mine", "1.0.0", factory);
    let host = Host::builder().linked(plugin).build().await.unwrap();
    let session = open(&host, SessionOptions::new("warned")).await;
    let kept = Kept::default();
    let filter = EnvFilter::new("off,toolhost_core=warn");
    let _guard = tracing::subscriber::set_default(Registry::default().with(kept.clone().with_filter(filter)));
    for (tool, actions) in [("honest", 2), ("reads", 0), ("reads", 2), ("reads", 1)] {
        assert_eq!(session.call(tool, json!({"actions": actions})).await.unwrap().to_text(), "staged");
    }
    let text = "a tool whose effect is `readOnly` has staged a pending action; its effect should be `stages`";
    let warned = |staged: usize| {
        let fields = json!({"message": text, "plugin": "mine", "tool": "reads", "staged": staged});
        event("WARN", "toolhost_core::call::running", fields, &[])
    };
    assert_eq!(kept.take(), [warned(2), warned(1)]);
    assert_eq!(session.pending().unwrap().list().len(), 5);
}
