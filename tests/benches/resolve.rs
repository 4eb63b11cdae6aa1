//! What the contract around a tool costs: a call in a session against the same boxed future, a push, a resolve, and
//! the time from asking a call to stop to its outcome.
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use toolhost_core::{
    BoxFuture, CallContext, CallRequest, Cancellation, PendingAction, PendingActionStore, ResolveRequest, RunOptions,
    Session, SessionOptions, Tool, ToolDefinition, ToolOutcome, TurnEvent,
};

/// A tool that does nothing, or waits until it is asked to stop.
struct Scripted {
    definition: ToolDefinition,
    waits: bool,
}

impl Tool for Scripted {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute(&self, call: CallContext) -> BoxFuture<ToolOutcome> {
        let waits = self.waits;
        Box::pin(async move {
            if waits {
                call.cancellation().cancelled().await;
            }
            Ok("".into())
        })
    }
}

fn session(runtime: &Runtime) -> Session {
    let session = Session::new(SessionOptions::new("bench"), runtime.handle().clone());
    for (name, waits) in [("empty", false), ("waits", true)] {
        let mut definition = ToolDefinition::new(name);
        definition.parallel = true;
        session.register(Arc::new(Scripted { definition, waits })).expect("the name is free");
    }
    session
}

fn action() -> PendingAction {
    PendingAction::new("Rename 12 files", |_| std::future::ready(Ok("".into()))).source_tool_name("rename")
}

fn direct(_parameters: Value) -> BoxFuture<ToolOutcome> {
    Box::pin(async { Ok("".into()) })
}

/// From the request to stop to the outcome of a call that obeys at once.
async fn cancelled_call(session: &Session) {
    let cancel = Cancellation::new();
    let call = CallRequest::new("1", "waits", json!({}));
    let mut turn = session.tools().run(vec![call], RunOptions::default().cancel(cancel.clone()));
    cancel.cancel();
    while let Some(event) = turn.next().await {
        black_box(matches!(event, TurnEvent::Done { .. }));
    }
}

fn resolve(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be started");
    let session = session(&runtime);
    let mut group = criterion.benchmark_group("resolve");
    group.bench_function("direct_call", |bencher| {
        bencher.iter(|| runtime.block_on(direct(black_box(json!({})))));
    });
    group.bench_function("session_call", |bencher| {
        bencher.iter(|| runtime.block_on(session.call("empty", black_box(json!({})))));
    });
    group.bench_function("push_pop", |bencher| {
        let store = PendingActionStore::new();
        bencher.iter(|| {
            store.push(action()).expect("the store is open");
            black_box(store.pop())
        });
    });
    group.bench_function("push_resolve", |bencher| {
        let store = session.pending().expect("it keeps them").clone();
        bencher.iter_batched(
            || store.push(action()).expect("the store is open"),
            |_| runtime.block_on(session.resolve(ResolveRequest::apply("r"))),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("cancel_to_outcome", |bencher| {
        bencher.iter(|| runtime.block_on(cancelled_call(&session)));
    });
    group.finish();
}

criterion_group!(benches, resolve);
criterion_main!(benches);
