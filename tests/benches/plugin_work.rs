//! What a plugin adds to typed parameters, to large ones, to a wait and to a log line: each beside the same code as a
//! tool of the host's own.
#![allow(missing_docs)]

use std::hint::black_box;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use toolhost_core::{BoxFuture, CallContext, Failure, Session, SessionOptions, Tool, ToolDefinition, ToolOutcome};
use toolhost_loader::Host;
use toolhost_tests::{Artifact, Artifacts, Fixture};
use tracing::Dispatch;

#[path = "../fixtures/measure/src/work.rs"]
mod work;

const ARTIFACTS: Artifacts = Artifacts::new(env!("CARGO_TARGET_TMPDIR"));

/// The tool of the fixture `measure`, without the plugin around it.
struct Native(ToolDefinition);

impl Tool for Native {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async move {
            let params = serde_json::from_value(call.parameters().clone());
            let params = params.map_err(|error| Failure::new(error.to_string()))?;
            Ok(work::work(params).await.into())
        })
    }
}

/// The tool in process, and through the interface.
fn sessions(runtime: &Runtime) -> [(&'static str, Session); 2] {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache"));
    let building = builder.plugin(ARTIFACTS.path(Artifact::Released(Fixture::Measure))).build();
    let host = runtime.block_on(building).expect("a host can be built");
    let plugin = runtime.block_on(host.session(SessionOptions::new("bench"))).session;
    let native = Session::new(SessionOptions::new("bench"), runtime.handle().clone());
    let definition = plugin.tools().definition("measure").expect("the plugin has the tool").clone();
    native.register(Arc::new(Native(definition))).expect("the name is free");
    [("in_process", native), ("through_abi", plugin)]
}

/// The time of so many calls, one after the other, within one task.
fn calls(runtime: &Runtime, session: &Session, parameters: &Value, count: u64) -> Duration {
    runtime.block_on(async {
        let mut taken = Duration::ZERO;
        for _ in 0..count {
            let parameters = parameters.clone();
            let start = Instant::now();
            let result = black_box(session.call("measure", parameters).await);
            taken += start.elapsed();
            assert!(result.is_ok_and(|result| !result.is_error));
        }
        taken
    })
}

/// So many lines, in as many calls as that takes.
fn lines(runtime: &Runtime, session: &Session, count: u64) -> Duration {
    let rounds = count.div_ceil(work::LINES.into());
    let taken = calls(runtime, session, &json!({"work": "log", "text": ""}), rounds);
    taken.mul_f64(count as f64 / (rounds * u64::from(work::LINES)) as f64)
}

fn plugin_work(criterion: &mut Criterion) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime can be started");
    let sessions = sessions(&runtime);
    let typed = json!({"work": "count", "text": "forty-eight characters of the author's own words", "lines": [1, 2], "deep": true});
    assert_eq!(typed.to_string().len(), 100);
    let large = json!({"work": "echo", "text": "x".repeat(1024 * 1024)});
    let wait = json!({"work": "wait", "text": ""});
    for (name, parameters) in [("typed_call", typed), ("megabyte_call", large), ("waiting_call", wait)] {
        let mut group = criterion.benchmark_group(name);
        for (entry, session) in &sessions {
            group.bench_function(*entry, |bencher| {
                bencher.iter_custom(|count| calls(&runtime, session, &parameters, count));
            });
        }
        group.finish();
    }
    let each = |mut group: BenchmarkGroup<'_, WallTime>| {
        for (entry, session) in &sessions {
            group.bench_function(*entry, |bencher| bencher.iter_custom(|count| lines(&runtime, session, count)));
        }
        group.finish();
    };
    each(criterion.benchmark_group("log_line_off"));
    let subscriber = tracing_subscriber::fmt().with_writer(io::sink).with_ansi(false).finish();
    tracing::dispatcher::with_default(&Dispatch::new(subscriber), || each(criterion.benchmark_group("log_line_on")));
}

criterion_group!(benches, plugin_work);
criterion_main!(benches);
