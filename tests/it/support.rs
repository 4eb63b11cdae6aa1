//! What the cases have in common: hosts, sessions, actions to stage, named pipes.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use toolhost_core::{Event, EventStream, NextEvent, Pending};
use toolhost_loader::{AgentToolResult, Host, LoadError, PendingActionStore, Session, SessionOptions};
use toolhost_tests::{Artifact, Artifacts, FIXTURES, Fixture};

pub(crate) const ARTIFACTS: Artifacts = Artifacts::new(env!("CARGO_TARGET_TMPDIR"));

/// Runs each of these cases on both kinds of runtime that a host may have, as `case::current_thread` and
/// `case::multi_thread`.
macro_rules! on_every_runtime {
    ($($case:ident),+ $(,)?) => {
        $(mod $case {
            #[tokio::test]
            async fn current_thread() {
                super::$case().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn multi_thread() {
                super::$case().await;
            }
        })+
    };
}
pub(crate) use on_every_runtime;

/// Builds a fixture.
pub(crate) fn plugin(fixture: Fixture) -> PathBuf {
    ARTIFACTS.path(Artifact::Plugin(fixture))
}

/// A file that has not changed for a moment: before that, a host does not count on seeing its next change.
pub(crate) fn settled(path: PathBuf) -> PathBuf {
    const MOMENT: Duration = Duration::from_millis(150);
    let metadata = fs::metadata(&path).unwrap();
    let changed = UNIX_EPOCH + Duration::new(metadata.ctime() as u64, metadata.ctime_nsec() as u32);
    while changed.elapsed().is_ok_and(|age| age < MOMENT) {
        std::thread::yield_now();
    }
    path
}

/// A host of these files, good and bad.
pub(crate) async fn host<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Host {
    let builder = Host::builder().cache_dir(ARTIFACTS.directory().join("cache"));
    paths.into_iter().fold(builder, |builder, path| builder.plugin(path)).build().await.unwrap()
}

/// A host of these fixtures, all of which load.
pub(crate) async fn host_of(fixtures: &[Fixture]) -> Host {
    let host = host(fixtures.iter().map(|fixture| plugin(*fixture))).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    host
}

/// A session of a host of this plugin alone.
pub(crate) async fn session_with(plugin: Artifact, options: SessionOptions) -> Session {
    let host = host([ARTIFACTS.path(plugin)]).await;
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    open(&host, options).await
}

/// A session of this host, for which every tool can be made.
pub(crate) async fn open(host: &Host, options: SessionOptions) -> Session {
    let opened = bounded(host.session(options)).await;
    assert_eq!(texts(&opened.errors), Vec::<String>::new());
    opened.session
}

/// A session with the tools of these fixtures.
pub(crate) async fn session_of(fixtures: &[Fixture]) -> Session {
    open(&host_of(fixtures).await, SessionOptions::new("test")).await
}

/// A session with the tools of the fixture that stages.
pub(crate) async fn session() -> Session {
    session_of(&[Fixture::Stage]).await
}

pub(crate) fn store(session: &Session) -> &PendingActionStore {
    session.pending().unwrap()
}

pub(crate) fn texts(errors: &[LoadError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Stages these actions by one call. Returns their ids, in the order of the actions.
pub(crate) async fn stage(session: &Session, actions: Value) -> Vec<String> {
    let result = session.call("stage", json!({"actions": actions})).await.unwrap();
    assert_eq!(result.to_text(), "staged");
    let pending = result.details.unwrap()["pending"].take();
    pending.as_array().unwrap().iter().map(|action| action["id"].as_str().unwrap().to_owned()).collect()
}

/// Stages this action. Returns its id.
pub(crate) async fn stage_one(session: &Session, action: Value) -> String {
    stage(session, json!([action])).await.remove(0)
}

/// Calls `resolve` as a model does. Returns the result as JSON.
pub(crate) async fn resolve(session: &Session, parameters: Value) -> Value {
    serde_json::to_value(session.call("resolve", parameters).await.unwrap()).unwrap()
}

pub(crate) async fn apply(session: &Session, reason: &str) -> Value {
    resolve(session, json!({"action": "apply", "reason": reason})).await
}

pub(crate) async fn discard(session: &Session, reason: &str) -> Value {
    resolve(session, json!({"action": "discard", "reason": reason})).await
}

/// A result's JSON with one text and these details.
pub(crate) fn said(text: &str, details: Value) -> Value {
    json!({"content": [{"type": "text", "text": text}], "details": details})
}

/// The same for a result that reports a failure.
pub(crate) fn failed(text: &str, details: Value) -> Value {
    json!({"content": [{"type": "text", "text": text}], "details": details, "isError": true})
}

/// The end of a script that returns this text.
pub(crate) fn text(text: &str) -> Value {
    json!({"end": {"result": AgentToolResult::text(text)}})
}

/// The end of a script that fails with this message.
pub(crate) fn fail(message: &str) -> Value {
    json!({"end": {"fail": {"message": message}}})
}

/// The labels of what is pending, the topmost first.
pub(crate) fn labels(session: &Session) -> Vec<String> {
    store(session).list().iter().map(|pending| pending.label().to_owned()).collect()
}

pub(crate) fn top(session: &Session) -> Arc<Pending> {
    store(session).peek().unwrap()
}

/// The place, as a panic names it, where this code stands in a fixture's source file.
pub(crate) fn place(file: &str, code: &str) -> String {
    let source = fs::read_to_string(Path::new(FIXTURES).with_file_name(file)).unwrap();
    let lines: Vec<usize> = (1..).zip(source.lines()).filter(|(_, line)| line.contains(code)).map(|(n, _)| n).collect();
    let [line] = lines[..] else { panic!("`{code}` stands in {file} at {lines:?}") };
    format!("{file}:{line}")
}

/// Runs a case in a process of its own, where nothing else happens: the test with this name runs itself once more.
pub(crate) fn in_process_of_its_own(test: &str, case: impl Future<Output = ()>) {
    const INSIDE: &str = "TOOLHOST_TEST_INSIDE";
    if std::env::var_os(INSIDE).is_some_and(|inside| inside == test) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(bounded(case));
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let ran = command.args(["--exact", test, "--nocapture"]).env(INSIDE, test).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
    assert!(ran.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

/// Replaces each first text in a file by the second, which is as long.
pub(crate) fn patch(path: &Path, changes: &[(&[u8], &[u8])]) {
    let mut bytes = fs::read(path).unwrap();
    for (old, new) in changes {
        assert_eq!(old.len(), new.len());
        let places: Vec<usize> = (0..=bytes.len() - old.len()).filter(|&at| bytes[at..].starts_with(old)).collect();
        assert!(!places.is_empty());
        for at in places {
            bytes[at..at + new.len()].copy_from_slice(new);
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Polls once, so that the work begins, and wakes nobody.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The smallest executor: polls on this thread, and sleeps until it is woken.
pub(crate) fn block_on<F: Future + Unpin>(future: &mut F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

/// Far more than anything takes here. It is no part of any case: it only ends one that would hang.
const LIMIT: Duration = Duration::from_secs(60);

/// The future's output, or a panic where it hangs.
pub(crate) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    in_time(future).await.expect("it does not end")
}

/// The future's output, where it does not hang. A thread of its own takes the time: the runtime cannot where a plugin
/// holds up all of its threads.
async fn in_time<T>(future: impl Future<Output = T>) -> Option<T> {
    let (ended, end) = mpsc::channel::<()>();
    let (hang, hangs) = oneshot::channel();
    std::thread::spawn(move || {
        if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
            let _ = hang.send(());
        }
    });
    let output = tokio::select! {
        output = future => Some(output),
        Ok(()) = hangs => None,
    };
    drop(ended);
    output
}

/// What happens next in a session.
pub(crate) async fn next_event(events: &mut EventStream) -> Event {
    match bounded(events.next()).await {
        Some(NextEvent::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

/// A named pipe at which a plugin waits until the test lets it go, or through which it tells the test something.
///
/// Nobody waits at it for ever: a wait of the test is bounded, and one of a plugin ends with the pipe.
pub(crate) struct Pipe {
    path: PathBuf,
    _directory: TempDir,
    /// Opened at the end, and closed after the directory is gone.
    last: Option<File>,
}

impl Pipe {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        make_pipe(&path);
        Self { path, _directory: directory, last: None }
    }

    pub(crate) fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Ends when a plugin waits at the pipe, which it does until what this returns is dropped.
    pub(crate) async fn reached(&self) -> File {
        self.waited(|path| File::options().write(true).open(path).unwrap()).await
    }

    /// Whether a plugin waits at the pipe now.
    pub(crate) fn is_reached(&self) -> bool {
        use rustix::fs::{Mode, OFlags, open};
        open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()).is_ok()
    }

    /// What a plugin writes into the pipe, once it has.
    pub(crate) async fn told(&self) -> String {
        self.waited(|path| fs::read_to_string(path).unwrap()).await
    }

    /// What comes of waiting for the other end. Where that takes too long, the thread that waits is let go first: the
    /// runtime could not end without it.
    async fn waited<T: Send + 'static>(&self, wait: impl FnOnce(PathBuf) -> T + Send + 'static) -> T {
        let path = self.path.clone();
        let Some(waited) = in_time(tokio::task::spawn_blocking(move || wait(path))).await else {
            drop(both_ends(&self.path));
            panic!("nobody opened the other end of {}", self.path.display());
        };
        waited.unwrap()
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.last = both_ends(&self.path).ok();
    }
}

/// Opens a pipe in a way that waits for nobody, and lets everybody go who waits for the other end.
fn both_ends(path: &Path) -> std::io::Result<File> {
    File::options().read(true).write(true).open(path)
}

pub(crate) fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
