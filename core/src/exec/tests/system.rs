//! What the system may refuse, and what others may do to a program.

use std::process::Stdio;
use std::sync::mpsc;

use futures_util::FutureExt;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid};

use super::*;

#[tokio::test]
async fn without_a_thread_nothing_is_run() {
    let directory = tempfile::tempdir().unwrap();
    let refused = async |start_thread: StartThread| {
        let mut exec = LocalExec::new();
        exec.system.start_thread = start_thread;
        exec.run(caller(directory.path()), sh("touch made")).await.unwrap_err()
    };
    let text = "`sh` was not run: the host cannot start another thread (no more); run fewer programs at a time";
    assert_eq!(refused(|_, _| Err(io::Error::other("no more"))).await, failed(text));
    let second = refused(|name, work| match name {
        "toolhost-wait" => Err(io::Error::other("no more")),
        _ => start_thread(name, work),
    });
    assert_eq!(second.await, failed(text));
    assert!(!directory.path().join("made").exists());
}

#[test]
fn without_a_runtime_nothing_is_run() {
    let mut exec = LocalExec::new();
    exec.system.start_thread = |name, _| panic!("{name} was started");
    let refused = exec.run(caller(Path::new("/")), sh(":")).now_or_never().unwrap();
    assert_eq!(refused, Err(failed("`sh` was not run: there is no tokio runtime here")));
}

#[tokio::test]
async fn a_program_that_cannot_be_killed_is_told_and_reaped_when_it_ends() {
    let (mut line, gate) = (Line::new(), Gate::new());
    let mut exec = LocalExec::new();
    (exec.system.grace, exec.system.patience) = (Duration::ZERO, Duration::ZERO);
    exec.system.signal = |_, _| Err(Errno::PERM);
    let mut asked = sh(format!("exec 3>'{}' 4<'{}'; echo $$ >&3; read _ <&4", line.path(), gate.path()));
    asked.time_limit_ms = Some(1);
    let failure = run(&exec, asked).await.unwrap_err();
    let pid = line.next().await.unwrap();
    let text =
        format!("`sh` was to be killed and is still there, as process {pid}: this user may not be allowed to end it");
    assert_eq!(failure, failed(text));
    drop(gate);
    line.is_over().await;
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    let reaped = async {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        while waitid(WaitId::Pid(pid), options).err() != Some(Errno::CHILD) {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, reaped).await.unwrap();
}

fn command(name: &str) -> Command {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).process_group(0);
    command
}

fn kills_nobody(_: Pid, signal: Signal) -> rustix::io::Result<()> {
    panic!("a group was sent {signal:?}");
}

#[test]
fn what_was_stopped_before_is_not_started() {
    let asked = Group::new(kills_nobody).unwrap();
    asked.ask_to_stop();
    assert!(asked.start(&mut command("true")).unwrap().is_none());
    let killed = Group::new(kills_nobody).unwrap();
    killed.kill();
    assert!(killed.start(&mut command("true")).unwrap().is_none());
    assert!(killed.reap().is_none());
}

#[test]
fn a_program_that_had_ended_was_not_killed() {
    let group = Group::new(kill_process_group).unwrap();
    let pid = group.start(&mut command("true")).unwrap().unwrap().pid;
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    group.signal(Signal::TERM);
    assert!(!group.was_killed());
    assert!(group.reap().unwrap().unwrap().success());
    assert!(group.reap().is_none());
}

#[test]
fn a_program_that_somebody_else_has_reaped_is_signalled_no_more() {
    let group = Group::new(kills_nobody).unwrap();
    let pid = group.start(&mut command("true")).unwrap().unwrap().pid;
    waitpid(Some(pid), WaitOptions::empty()).unwrap();
    group.signal(Signal::TERM);
    let (started, leader) = mpsc::channel();
    started.send(pid).unwrap();
    group.watch(&leader);
    assert!(group.news().ended);
    group.kill();
    assert!(group.reap().is_none());
}
