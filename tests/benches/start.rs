//! What a start with 200 plugins costs, against a bare `dlopen` of the same files.
//!
//! Each measurement is a process of its own: no library is ever closed, and each that is open makes the next one dearer.
#![allow(missing_docs)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use criterion::Criterion;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;
use tokio::runtime::Builder;
use toolhost_core::SessionOptions;
use toolhost_loader::{FirstSight, Host};
use toolhost_tests::{Artifact, Artifacts, Fixture, write_many};

const ARTIFACTS: Artifacts = Artifacts::new(env!("CARGO_TARGET_TMPDIR"));
const PLUGINS: usize = 200;
const SAMPLES: usize = 10;
/// The argument by which this program starts itself: the kind of start, the plugins, the cache and, for first sights, the
/// program that takes them.
const CHILD: &str = "--start";

fn main() {
    let args: Vec<String> = env::args().collect();
    match args.iter().position(|arg| arg == CHILD) {
        Some(at) => println!("{}", start(&args[at + 1..]).as_nanos()),
        None => {
            let mut criterion = Criterion::default().configure_from_args();
            bench(&mut criterion);
            criterion.final_summary();
        }
    }
}

/// How long a start takes in this process.
fn start(args: &[String]) -> Duration {
    let [kind, plugins, cache, program] = args else { panic!("{CHILD} KIND PLUGINS CACHE PROGRAM") };
    let plugins = Path::new(plugins);
    if kind == "bare_dlopen" {
        return dlopen(plugins);
    }
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime can be started");
    let mut builder = Host::builder().cache_dir(cache).plugin(plugins);
    match &**kind {
        "cold" | "opened" => {}
        "first_sight" => builder = builder.open_late(true).first_sight(FirstSight::new(program).arg("first-sight")),
        "known" => builder = builder.open_late(true),
        other => panic!("there is no start `{other}`"),
    }
    let start = Instant::now();
    let session = runtime.block_on(async {
        let host = builder.build().await.expect("a host can be built");
        host.session(SessionOptions::new("bench")).await.session
    });
    let taken = start.elapsed();
    assert_eq!(session.tools().len(), PLUGINS);
    taken
}

fn dlopen(directory: &Path) -> Duration {
    let entries = directory.read_dir().expect("the plugins are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let start = Instant::now();
    for path in &paths {
        // SAFETY: opening the fixture runs no constructor of its own.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.expect("it opens");
        std::mem::forget(library);
    }
    start.elapsed()
}

/// The plugins and a cache that knows them.
struct Files {
    directory: TempDir,
    program: PathBuf,
}

impl Files {
    fn new() -> Self {
        // Where this is only tried out, what is built already serves.
        let toolhost = if cfg!(debug_assertions) { Artifact::Toolhost } else { Artifact::ReleasedToolhost };
        let directory = tempfile::tempdir().expect("there is room for plugins");
        let files = Self { directory, program: ARTIFACTS.path(toolhost) };
        std::fs::create_dir(files.path("plugins")).expect("a directory can be made");
        write_many(&ARTIFACTS.path(Artifact::Released(Fixture::Empty)), &files.path("plugins"), PLUGINS);
        // The last plugins are too new to be known after the first start.
        for _ in 0..2 {
            files.start("known", &files.path("cache"));
        }
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn start(&self, kind: &str, cache: &Path) -> Duration {
        let program = env::current_exe().expect("this program has a path");
        let mut command = Command::new(program);
        command.args([CHILD, kind]).arg(self.path("plugins")).arg(cache).arg(&self.program);
        let output = command.output().expect("this program can be started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let nanoseconds = String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number");
        Duration::from_nanos(nanoseconds)
    }

    /// Starts once, whatever the count: a start is no small thing.
    fn measure(&self, kind: &str, count: u64) -> Duration {
        let fresh = tempfile::tempdir().expect("there is room for a cache");
        let taken = match kind {
            "cold" | "first_sight" => self.start(kind, fresh.path()),
            _ => self.start(kind, &self.path("cache")),
        };
        Duration::from_secs_f64(taken.as_secs_f64() * count as f64)
    }
}

fn bench(criterion: &mut Criterion) {
    let files = Files::new();
    let mut group = criterion.benchmark_group(format!("start_{PLUGINS}"));
    group.sample_size(SAMPLES).warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1));
    for kind in ["bare_dlopen", "cold", "opened", "known", "first_sight"] {
        group.bench_function(kind, |bencher| bencher.iter_custom(|count| files.measure(kind, count)));
    }
    group.finish();
}
