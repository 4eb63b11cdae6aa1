//! One million actions, pushed and then resolved: what each takes of time and of memory while it is pending.
#![allow(missing_docs)]

use std::fs;
use std::time::Instant;

use serde_json::json;
use tokio::runtime::Builder;
use toolhost_core::{PendingAction, ResolveRequest, Session, SessionOptions};

const ACTIONS: u32 = 1_000_000;

fn action(number: u32) -> PendingAction {
    PendingAction::new(format!("Rename {number} files"), |_| std::future::ready(Ok("".into())))
        .source_tool_name("batch_rename_preview")
        .details(json!({"changes": [{"path": "/photos/b.jpg", "kind": "rename", "oldPath": "/photos/a.jpg"}]}))
}

/// The memory of this process that is in use, in bytes.
fn resident() -> u64 {
    const PAGE: u64 = 4096;
    let statm = fs::read_to_string("/proc/self/statm").expect("the system says what it gave");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("the second field counts pages") * PAGE
}

fn main() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be started");
    let session = Session::new(SessionOptions::new("bench"), runtime.handle().clone());
    let store = session.pending().expect("it keeps them");

    let (before, started) = (resident(), Instant::now());
    for number in 0..ACTIONS {
        store.push(action(number)).expect("the store is open");
    }
    let (pushed, memory) = (started.elapsed(), resident() - before);

    let started = Instant::now();
    runtime.block_on(async {
        for _ in 0..ACTIONS {
            assert!(session.resolve(ResolveRequest::apply("r")).await.status.is_success());
        }
    });
    let resolved = started.elapsed();
    assert!(!store.has_pending());

    println!("{ACTIONS} actions, each with a label, a source and one change in its details:");
    println!("  push     {:>6} ns each", pushed.as_nanos() / u128::from(ACTIONS));
    println!("  resolve  {:>6} ns each", resolved.as_nanos() / u128::from(ACTIONS));
    println!("  memory   {:>6} bytes each while pending", memory / u64::from(ACTIONS));
}
