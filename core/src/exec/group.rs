//! A program and whatever it starts: one process group, signalled only while that is safe.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::mpsc::Receiver;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::{ioctl_fionbio, retry_on_intr};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

/// Sends a signal to every process of a group.
pub(super) type SendSignal = fn(Pid, Signal) -> rustix::io::Result<()>;

/// The group of one program, shared by who drives it, who waits for its end and who may stop it.
///
/// The system gives a process's id to another one as soon as the first is reaped. So the group is signalled under a
/// lock, and only while its leader, running or ended, is not reaped yet.
pub(super) struct Group {
    state: Mutex<State>,
    /// Rings at whatever the driver has to look at. Both ends are kept: ringing late must not be an error.
    bell: PipeReader,
    ringer: PipeWriter,
    send: SendSignal,
}

#[derive(Default)]
struct State {
    /// Absent before the start and once it is reaped.
    leader: Option<Child>,
    stop: bool,
    ended: bool,
    killed: bool,
    left: bool,
}

/// What the driver has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct News {
    /// Somebody wants the program to stop.
    pub(super) stop: bool,
    /// The leader ended; it may be reaped without waiting.
    pub(super) ended: bool,
}

/// Our ends of the program's pipes; none for what it reads where that is not a pipe.
pub(super) struct Streams {
    pub(super) pid: Pid,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

impl Group {
    pub(super) fn new(send: SendSignal) -> io::Result<Self> {
        let (bell, ringer) = io::pipe()?;
        ioctl_fionbio(&bell, true)?;
        Ok(Self { state: Mutex::default(), bell, ringer, send })
    }

    /// Starts the program, which has to lead a group of its own; `None`, and nothing is started, where it was stopped
    /// before. The lock is held meanwhile, so that a stop finds either nothing or what there is to stop.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Option<Streams>> {
        let mut state = self.lock();
        if state.stop {
            return Ok(None);
        }
        let mut leader = command.spawn()?;
        let pid = Pid::from_child(&leader);
        let streams =
            Streams { pid, stdin: leader.stdin.take(), stdout: leader.stdout.take(), stderr: leader.stderr.take() };
        state.leader = Some(leader);
        Ok(Some(streams))
    }

    /// Waits for the end of the leader, whose id comes once it is started. Meant for a thread of its own.
    pub(super) fn watch(&self, started: &Receiver<Pid>) {
        let Ok(pid) = started.recv() else {
            return;
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let seen = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
        let mut state = self.lock();
        state.ended = true;
        if seen.is_err() {
            // Somebody else has reaped it, and its id may be another's.
            state.leader = None;
        }
        let left = state.left;
        drop(state);
        if left {
            let _ = self.reap();
        }
        self.ring();
    }

    /// Asks the driver to stop the program.
    pub(super) fn ask_to_stop(&self) {
        self.lock().stop = true;
        self.ring();
    }

    /// Kills the group at once, and lets nothing start any more.
    pub(super) fn kill(&self) {
        self.lock().stop = true;
        self.signal(Signal::KILL);
        self.ring();
    }

    /// Signals every process of the group.
    pub(super) fn signal(&self, signal: Signal) {
        let mut state = self.lock();
        let Some(leader) = &state.leader else {
            return;
        };
        let pid = Pid::from_child(leader);
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let running = match retry_on_intr(|| waitid(WaitId::Pid(pid), options)) {
            Ok(ended) => ended.is_none(),
            // Somebody else has reaped it.
            Err(_) => return,
        };
        if (self.send)(pid, signal).is_ok() && running {
            state.killed = true;
        }
    }

    /// Kills what is left of the group and reaps the leader, which has to have ended. `None` where it is reaped already.
    pub(super) fn reap(&self) -> Option<io::Result<ExitStatus>> {
        let mut leader = self.lock().leader.take()?;
        // Nobody else reaps what is no longer in reach of others, so that its id is still its own.
        let _ = (self.send)(Pid::from_child(&leader), Signal::KILL);
        Some(leader.wait())
    }

    /// Kills what is still there, and leaves it to the watching thread to reap it.
    pub(super) fn leave(&self) {
        self.signal(Signal::KILL);
        let mut state = self.lock();
        state.left = true;
        let ended = state.ended;
        drop(state);
        if ended {
            let _ = self.reap();
        }
    }

    /// Whether the leader was signalled while it still ran.
    pub(super) fn was_killed(&self) -> bool {
        self.lock().killed
    }

    /// What there is to look at; the bell is silent until there is more.
    pub(super) fn news(&self) -> News {
        let mut rung = [0; 16];
        // Without a ring this fails at once.
        let _ = (&self.bell).read(&mut rung);
        let state = self.lock();
        News { stop: state.stop, ended: state.ended }
    }

    pub(super) fn bell(&self) -> &PipeReader {
        &self.bell
    }

    /// Each of the few who ring does so once, so that this never blocks.
    fn ring(&self) {
        let _ = (&self.ringer).write(&[1]);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
