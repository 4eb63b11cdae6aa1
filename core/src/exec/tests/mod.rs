//! Real programs, run and stopped.

mod ends;
mod input_output;
mod starting;
mod system;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolhost_protocol::JsonBytes;
use toolhost_protocol::service::KilledBy::{self, Cancellation as Cancelled};

use super::*;

/// Longer than anything takes here, and shorter than patience.
const LIMIT: Duration = Duration::from_secs(60);

fn caller(cwd: &Path) -> Caller {
    Caller {
        plugin: "tests".to_owned(),
        tool: None,
        call: None,
        session: "test".to_owned(),
        cwd: cwd.to_owned(),
        cancellation: Cancellation::new(),
    }
}

fn request<const N: usize>(command: &str, args: [&str; N]) -> ExecRequest {
    let mut request = ExecRequest::new(command);
    request.args = args.map(JsonBytes::from).into();
    request
}

fn sh(script: impl AsRef<str>) -> ExecRequest {
    request("sh", ["-c", script.as_ref()])
}

/// What comes of a request in the directory for temporary files.
async fn run(exec: &LocalExec, request: ExecRequest) -> Outcome {
    let caller = caller(&std::env::temp_dir());
    timeout(LIMIT, exec.run(caller, request)).await.unwrap()
}

/// What a program ends with that ends by itself, and its outputs, which have to be text.
async fn ended(request: ExecRequest) -> (i32, String, String) {
    let result = run(&LocalExec::new(), request).await.unwrap();
    assert!(!result.killed && !result.truncated, "{result:?}");
    let text = |bytes: JsonBytes| String::from_utf8(bytes.0).unwrap();
    (result.code, text(result.stdout), text(result.stderr))
}

async fn refused(request: ExecRequest) -> String {
    let failure = run(&LocalExec::new(), request).await.unwrap_err();
    assert_eq!(failure.code.as_deref(), Some("exec"));
    failure.message
}

/// What comes of a program that ended by itself.
fn result(code: i32, stdout: &str) -> ExecResult {
    let mut result = ExecResult::default();
    (result.code, result.stdout) = (code, stdout.into());
    result
}

/// What comes of a program that was killed.
fn killed(code: i32, killed_by: KilledBy, stdout: &str) -> ExecResult {
    let mut result = result(code, stdout);
    (result.killed, result.killed_by) = (true, Some(killed_by));
    result
}

/// What comes of a program that was killed at a limit of 1 ms.
fn timed_out() -> ExecResult {
    let mut result = killed(143, KilledBy::TimeLimit, "");
    result.time_limit_ms = Some(1);
    result
}

fn ended_with(code: i32, stdout: &str, stderr: &str) -> (i32, String, String) {
    (code, stdout.to_owned(), stderr.to_owned())
}

/// A named pipe through which programs tell something, line by line; it ends when all are gone that have it open.
struct Line {
    path: PathBuf,
    lines: mpsc::UnboundedReceiver<String>,
    _directory: TempDir,
}

impl Line {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        make_pipe(&path);
        let (sender, lines) = mpsc::unbounded_channel();
        let opened = path.clone();
        // A thread that nobody waits for, should nobody ever open the other end.
        std::thread::spawn(move || {
            for line in BufReader::new(File::open(opened).unwrap()).lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self { path, lines, _directory: directory }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// The next line; `None` once everybody is gone who could write one.
    async fn next(&mut self) -> Option<String> {
        timeout(LIMIT, self.lines.recv()).await.unwrap()
    }

    async fn reads(&mut self, line: &str) {
        assert_eq!(self.next().await.as_deref(), Some(line));
    }

    async fn is_over(&mut self) {
        assert_eq!(self.next().await, None);
    }
}

/// A named pipe that holds up whoever reads from it, until this is dropped.
struct Gate {
    path: PathBuf,
    _open: File,
    _directory: TempDir,
}

impl Gate {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        make_pipe(&path);
        let open = File::options().read(true).write(true).open(&path).unwrap();
        Self { path, _open: open, _directory: directory }
    }

    fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
