//! One program from its start to its end, on a thread of its own.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use toolhost_protocol::Failure;
use toolhost_protocol::service::{ExecResult, KilledBy};

use super::group::{Group, News};
use super::pipes::Pipes;
use super::program::Program;
use super::{System, failed, without_thread};

/// The code of a program that answers the request to end by exiting with 0, and of one that was stopped before it began.
const TERMINATED: i32 = 128 + Signal::TERM.as_raw();

/// A program to run, and how.
pub(super) struct Job {
    pub(super) program: Program,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) time_limit: Option<Duration>,
    pub(super) output_bytes: usize,
    pub(super) group: Arc<Group>,
    pub(super) system: System,
}

/// What the program was told.
enum Told {
    Nothing,
    ToEnd,
    /// It is not asked any more.
    Killed,
}

/// Whatever way the driving ends, nothing of the program goes on.
struct Driven<'a>(&'a Group);

impl Drop for Driven<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Job {
    /// Runs the program to its end, which may be early.
    pub(super) fn run(mut self) -> Result<ExecResult, Failure> {
        let group = self.group.clone();
        let (started, leader) = mpsc::channel();
        let watching = self.group.clone();
        let watch = Box::new(move || watching.watch(&leader));
        (self.system.start_thread)("toolhost-wait", watch)
            .map_err(|error| without_thread(self.program.name(), &error))?;
        let _driven = Driven(&group);
        let streams = match group.start(self.program.command()) {
            Ok(Some(streams)) => streams,
            Ok(None) => return Ok(never_began()),
            Err(error) => return Err(self.program.not_started(&error)),
        };
        // The watching thread is there until it is told.
        let _ = started.send(streams.pid);
        let pid = streams.pid.as_raw_pid();
        let mut pipes = Pipes::new(streams, self.stdin.take(), self.output_bytes).map_err(|e| self.broken(&e))?;
        let driven = self.drive(&mut pipes).map_err(|error| self.broken(&error))?;
        let Some(cause) = driven else {
            return Err(failed(format!(
                "`{}` was to be killed and is still there, as process {pid}: this user may not be allowed to end it",
                self.program.name()
            )));
        };
        let Some(Ok(status)) = group.reap() else {
            return Err(failed(format!(
                "how `{}` ended is not known: the host process ignores SIGCHLD, or waits for children that are not its own",
                self.program.name()
            )));
        };
        self.drain(&mut pipes).map_err(|error| self.broken(&error))?;
        let mut result = ended(status, group.was_killed().then_some(cause), pipes);
        if result.killed_by == Some(KilledBy::TimeLimit) {
            result.time_limit_ms = self.time_limit.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        }
        Ok(result)
    }

    /// Moves input and output until the program has ended, and returns why it was told to, `Unknown` where it was not.
    /// `None` where it does not end even when it is killed.
    fn drive(&self, pipes: &mut Pipes) -> io::Result<Option<KilledBy>> {
        let (mut told, mut cause) = (Told::Nothing, KilledBy::Unknown);
        let mut until = self.time_limit.and_then(after);
        loop {
            let News { stop, ended } = self.group.news();
            let over = is_over(until);
            match told {
                // Others of the group may be about to clean up, too.
                Told::ToEnd if ended && pipes.is_open() && !over => {}
                _ if ended => return Ok(Some(cause)),
                Told::Nothing if stop || over => {
                    cause = if stop { KilledBy::Cancellation } else { KilledBy::TimeLimit };
                    self.group.signal(Signal::TERM);
                    (told, until) = (Told::ToEnd, after(self.system.grace));
                }
                Told::ToEnd if over => {
                    self.group.signal(Signal::KILL);
                    (told, until) = (Told::Killed, after(self.system.patience));
                }
                Told::Killed if over => return Ok(None),
                _ => {}
            }
            pipes.turn(self.group.bell(), until)?;
        }
    }

    /// Reads what is left, which is all there where nobody outside of the group holds a pipe.
    fn drain(&self, pipes: &mut Pipes) -> io::Result<()> {
        pipes.close_input();
        let until = after(self.system.grace);
        // Once at least: whatever was written before the end is in the pipes, which hold less than one turn moves.
        while pipes.is_open() {
            // Where the bell still rings, it rings for nothing.
            self.group.news();
            pipes.turn(self.group.bell(), until)?;
            if is_over(until) {
                break;
            }
        }
        Ok(())
    }

    fn broken(&self, error: &io::Error) -> Failure {
        failed(format!("`{}` was killed, since its pipes cannot be used: {error}", self.program.name()))
    }
}

/// `None` where that is never.
fn after(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

fn ended(status: ExitStatus, killed_by: Option<KilledBy>, pipes: Pipes) -> ExecResult {
    let mut result = ExecResult::default();
    result.killed_by = killed_by.or(status.signal().map(|_| KilledBy::Signal));
    result.killed = result.killed_by.is_some();
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    result.code = code.filter(|&code| code != 0 || !result.killed).unwrap_or(TERMINATED);
    let (stdout, stderr, truncated) = pipes.into_outputs();
    (result.stdout, result.stderr, result.truncated) = (stdout.into(), stderr.into(), truncated);
    result
}

/// What comes of a program that was stopped before it began.
pub(super) fn never_began() -> ExecResult {
    let mut result = ExecResult::default();
    (result.code, result.killed, result.killed_by) = (TERMINATED, true, Some(KilledBy::Cancellation));
    result
}
