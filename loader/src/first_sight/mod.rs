//! The first look at a plugin's running code, in a process of its own: what ends that process ends nothing else.

mod child;
mod wire;

pub use child::answer_first_sight;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_core::service::{ExecRequest, ExecResult, KilledBy};
use toolhost_core::{Caller, LocalExec, ToolDefinition};

use crate::bundle::Bundle;
use crate::{Ending, LoadErrorKind, LoadLimits, PluginInfo};
use wire::{Answer, FORMAT, Request};

/// How much of what the process prints is kept.
const OUTPUT: u64 = 64 * 1024;
/// How long it may take beyond what a factory may.
const MARGIN: Duration = Duration::from_secs(5);

/// How new plugins are looked at before this process opens them: in a child process, which opens the plugin, runs its
/// factory once, without any service of the host, and says what its tools are.
///
/// The child has a time limit, bounded memory, no core dump, a process group of its own that ends with it, and the
/// environment that [`LocalExec`] passes on. This is no sandbox: it has this user's rights.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // What the child runs. Of a program's own, it is best the first thing that `main` does.
/// if std::env::args().nth(1).as_deref() == Some("--first-sight") {
///     toolhost_loader::answer_first_sight()?;
///     std::process::exit(0);
/// }
/// let first_sight = toolhost_loader::FirstSight::new(std::env::current_exe()?).arg("--first-sight");
/// let builder = toolhost_loader::Host::builder().first_sight(first_sight);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct FirstSight {
    program: PathBuf,
    args: Vec<OsString>,
    memory: u64,
    exec: LocalExec,
}

impl FirstSight {
    /// A child process of this program, which has to call [`answer_first_sight`] and end right after it.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>) -> Self {
        const MEMORY: u64 = 8 << 30;
        let exec = LocalExec::new().output_bytes(OUTPUT);
        Self { program: program.into(), args: Vec::new(), memory: MEMORY, exec }
    }

    /// The same, with another argument for the program.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The same, with another limit of the child's address space; 8 GiB by default.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }
}

/// What a child is to look at.
pub(crate) struct Look<'a> {
    pub(crate) info: &'a PluginInfo,
    pub(crate) bundle: &'a Bundle,
    /// The copy of the plugin.
    pub(crate) copy: &'a Path,
    pub(crate) config: &'a Value,
    pub(crate) limits: &'a LoadLimits,
}

impl Look<'_> {
    /// Looks at a plugin, and returns what its tools say of themselves; `None` where it has none, or one of them cannot
    /// say. May block.
    pub(crate) fn take(
        &self,
        first_sight: &FirstSight,
        runtime: &Handle,
    ) -> Result<Option<Vec<ToolDefinition>>, LoadErrorKind> {
        let failed = |error: io::Error| LoadErrorKind::NotLookedAt { reason: error.to_string() };
        let directory = tempfile::tempdir().map_err(failed)?;
        let answer = directory.path().join("answer.json");
        let ended = runtime.block_on(self.run(first_sight, &answer))?;
        let answer = fs::read(&answer).ok().filter(|_| ended.code == 0);
        let ending = match answer.and_then(|answer| serde_json::from_slice(&answer).ok()) {
            Some(Answer::Tools(tools)) => return Ok(Some(tools)),
            Some(Answer::Refused) => return Ok(None),
            Some(Answer::TimedOut) => Ending::Hang { limit: self.limits.factory },
            None => ending(&ended, self.limit()),
        };
        let said = last_line(&ended.stderr.0);
        Err(LoadErrorKind::EndsProcess { plugin: self.info.name.clone(), ending, said })
    }

    fn limit(&self) -> Duration {
        self.limits.factory + MARGIN
    }

    async fn run(&self, first_sight: &FirstSight, answer: &Path) -> Result<ExecResult, LoadErrorKind> {
        let request = Request {
            format: FORMAT,
            parent: rustix::process::getpid().as_raw_pid(),
            copy: self.copy.into(),
            file: (&*self.info.path).into(),
            fingerprint: self.info.fingerprint.clone(),
            metadata: self.bundle.metadata.clone(),
            config: self.config.clone(),
            answer: answer.into(),
            factory_ms: u64::try_from(self.limits.factory.as_millis()).unwrap_or(u64::MAX),
            tools: self.limits.tools,
            definition_bytes: self.limits.definition_bytes,
            memory: first_sight.memory,
        };
        let not_run = |reason: String| LoadErrorKind::NotLookedAt { reason };
        let mut run = ExecRequest::new(first_sight.program.as_os_str().as_bytes().to_vec());
        run.args = first_sight.args.iter().map(|arg| arg.as_bytes().to_vec().into()).collect();
        run.stdin = Some(serde_json::to_vec(&request).map_err(|error| not_run(error.to_string()))?.into());
        run.time_limit_ms = Some(u64::try_from(self.limit().as_millis()).unwrap_or(u64::MAX));
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let caller = Caller::outside_of_sessions(&self.info.name, cwd);
        first_sight.exec.run(caller, run).await.map_err(|failure| not_run(failure.message))
    }
}

fn ending(ended: &ExecResult, limit: Duration) -> Ending {
    match ended.killed_by {
        Some(KilledBy::TimeLimit) => Ending::Hang { limit },
        Some(_) => Ending::Signal { number: ended.code - 128, name: signal_name(ended.code - 128) },
        None => Ending::Exit { code: ended.code },
    }
}

fn signal_name(number: i32) -> Option<&'static str> {
    let known = [
        (Signal::SEGV, "SIGSEGV"),
        (Signal::BUS, "SIGBUS"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::TERM, "SIGTERM"),
        (Signal::SYS, "SIGSYS"),
        (Signal::TRAP, "SIGTRAP"),
    ];
    known.iter().find(|(signal, _)| signal.as_raw() == number).map(|(_, name)| *name)
}

/// What it said last, which is mostly why it ended.
fn last_line(stderr: &[u8]) -> Option<String> {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(stderr);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LONGEST).collect())
}
