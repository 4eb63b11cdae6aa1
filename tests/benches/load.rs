//! What loading one plugin costs, against a bare `dlopen` of the same file, and which stage takes how much of it.
//!
//! The loader has a span around each stage of a load; what this program listens to them with is part of their times.
//! Every load is of a fresh copy, and no library is ever closed, so that each measurement makes only a few.
#![allow(missing_docs)]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use toolhost_core::SessionOptions;
use toolhost_loader::Host;
use toolhost_tests::{Artifact, Artifacts, Fixture};
use tracing::span::Id;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

const ARTIFACTS: Artifacts = Artifacts::new(env!("CARGO_TARGET_TMPDIR"));
/// How often a measurement really loads; the rest is taken to be as quick.
const LOADS: u64 = 4;
const SAMPLES: usize = 40;
/// The spans of the stages.
const STAGES: [&str; 4] = ["inspect", "stage", "open", "check"];
/// What each stage took since it was last asked for, in nanoseconds.
static TIMES: [AtomicU64; STAGES.len()] = [const { AtomicU64::new(0) }; STAGES.len()];

/// A copy of the plugin in a directory of its own, which is also one for the host's copy.
struct Copy {
    directory: TempDir,
}

impl Copy {
    fn new(original: &Path) -> Self {
        let directory = tempfile::tempdir().expect("there is room for a copy");
        fs::copy(original, directory.path().join("empty.so")).expect("there is room for a copy");
        Self { directory }
    }

    fn plugin(&self) -> PathBuf {
        self.directory.path().join("empty.so")
    }

    fn host(&self, runtime: &Runtime) -> Host {
        let builder = Host::builder().cache_dir(self.directory.path().join("cache")).plugin(self.plugin());
        let host = runtime.block_on(builder.build()).expect("a host can be built");
        assert_eq!(host.plugins().count(), 1);
        host
    }
}

/// Measures `work` on a few fresh copies, as if it were done `count` times.
fn measure(original: &Path, count: u64, mut work: impl FnMut(&Copy) -> Duration) -> Duration {
    let done = count.clamp(1, LOADS);
    let total: Duration = (0..done).map(|_| work(&Copy::new(original))).sum();
    Duration::from_secs_f64(total.as_secs_f64() * count as f64 / done as f64)
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let kept = work();
    let elapsed = start.elapsed();
    // Whatever was made is not unmade within the measured time, and a library never.
    std::mem::forget(kept);
    elapsed
}

/// Adds up the time within the stages' spans, each of which lies on one thread.
struct Stopwatch;

thread_local! {
    static ENTERED: Cell<Option<Instant>> = const { Cell::new(None) };
}

fn stage_of<S: tracing::Subscriber + for<'a> LookupSpan<'a>>(id: &Id, context: &Context<'_, S>) -> Option<usize> {
    let span = context.span(id)?;
    STAGES.iter().position(|stage| *stage == span.name())
}

impl<S: tracing::Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Stopwatch {
    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        if stage_of(id, &context).is_some() {
            ENTERED.set(Some(Instant::now()));
        }
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        if let (Some(entered), Some(stage)) = (ENTERED.take(), stage_of(id, &context)) {
            TIMES[stage].fetch_add(entered.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

/// The time that one stage takes within a whole load.
fn stage_time(copy: &Copy, runtime: &Runtime, stage: usize) -> Duration {
    TIMES[stage].store(0, Ordering::Relaxed);
    std::mem::forget(copy.host(runtime));
    Duration::from_nanos(TIMES[stage].load(Ordering::Relaxed))
}

fn load(criterion: &mut Criterion) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be started");
    let original = ARTIFACTS.path(Artifact::Released(Fixture::Empty));
    let mut group = criterion.benchmark_group("load");
    group.sample_size(SAMPLES).warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(1));

    group.bench_function("bare_dlopen", |bencher| {
        bencher.iter_custom(|count| {
            measure(&original, count, |copy| {
                let path = copy.plugin();
                // SAFETY: opening the fixture runs no constructor of its own, and it is never closed.
                timed(|| unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.expect("it opens"))
            })
        });
    });
    group.bench_function("whole", |bencher| {
        bencher.iter_custom(|count| measure(&original, count, |copy| timed(|| copy.host(&runtime))));
    });
    let copy = Copy::new(&original);
    let host = copy.host(&runtime);
    group.bench_function("create", |bencher| {
        bencher.iter(|| runtime.block_on(host.session(SessionOptions::new("bench"))));
    });
    // Last, since the spans cost nothing until somebody listens.
    let subscriber = tracing_subscriber::registry().with(Stopwatch);
    tracing::subscriber::set_global_default(subscriber).expect("nobody listens yet");
    for (stage, name) in STAGES.into_iter().enumerate() {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|count| measure(&original, count, |copy| stage_time(copy, &runtime, stage)));
        });
    }
    group.finish();
}

criterion_group!(benches, load);
criterion_main!(benches);
