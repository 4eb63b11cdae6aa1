//! What a call of an empty tool costs through the plugin interface, in process, and as a bare boxed future.
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use toolhost_core::{BoxFuture, CallContext, Session, SessionOptions, Tool, ToolDefinition, ToolOutcome};
use toolhost_loader::{AgentToolResult, Host};
use toolhost_tests::{Artifact, Artifacts, Fixture};

const ARTIFACTS: Artifacts = Artifacts::new(env!("CARGO_TARGET_TMPDIR"));

/// The tool of the fixture `empty`, without the plugin around it.
struct Empty(ToolDefinition);

impl Tool for Empty {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute(&self, _call: CallContext) -> BoxFuture<ToolOutcome> {
        Box::pin(async { Ok(AgentToolResult::default()) })
    }
}

fn through_abi(runtime: &Runtime) -> Session {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache"));
    let building = builder.plugin(ARTIFACTS.path(Artifact::Released(Fixture::Empty))).build();
    let host = runtime.block_on(building).expect("a host can be built");
    runtime.block_on(host.session(SessionOptions::new("bench"))).session
}

fn in_process(runtime: &Runtime, definition: ToolDefinition) -> Session {
    let session = Session::new(SessionOptions::new("bench"), runtime.handle().clone());
    session.register(Arc::new(Empty(definition))).expect("the name is free");
    session
}

/// The time of so many calls, one after the other, within one task.
fn calls(runtime: &Runtime, session: &Session, count: u64) -> Duration {
    runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..count {
            let result = session.call("empty", json!({})).await;
            assert!(black_box(result).is_ok());
        }
        start.elapsed()
    })
}

fn abi_call(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be started");
    let plugin = through_abi(&runtime);
    let definition = plugin.tools().definition("empty").expect("the plugin has the tool").clone();
    let native = in_process(&runtime, definition);
    let boxed: Box<dyn Fn(Value) -> BoxFuture<ToolOutcome>> =
        Box::new(|_| Box::pin(async { Ok(AgentToolResult::default()) }));

    let mut group = criterion.benchmark_group("abi_call");
    group.bench_function("in_process", |bencher| bencher.iter_custom(|count| calls(&runtime, &native, count)));
    group.bench_function("through_abi", |bencher| bencher.iter_custom(|count| calls(&runtime, &plugin, count)));
    group.bench_function("boxed", |bencher| {
        bencher.iter_custom(|count| {
            runtime.block_on(async {
                let start = Instant::now();
                for _ in 0..count {
                    assert!(black_box(black_box(&boxed)(json!({})).await).is_ok());
                }
                start.elapsed()
            })
        });
    });
    group.finish();
}

criterion_group!(benches, abi_call);
criterion_main!(benches);
