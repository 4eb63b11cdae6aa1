//! How programs end: by themselves, in time, or not at all.

use super::*;

/// One that kills at once what it has asked to end.
fn impatient() -> LocalExec {
    with_grace(Duration::ZERO)
}

/// One that waits for ever for what it has asked to end.
fn patient() -> LocalExec {
    with_grace(Duration::MAX)
}

fn with_grace(grace: Duration) -> LocalExec {
    let mut exec = LocalExec::new();
    exec.system.grace = grace;
    exec
}

/// Short sleeps: a shell looks for signals between what it runs.
const FOR_EVER: &str = "while :; do sleep 0.01; done";

/// A program that says through the pipe when it is ready, and holds that open for as long as any of its group lives.
fn ready_then(line: &Line, before: &str, after: &str) -> ExecRequest {
    sh(format!("exec 3>'{}' 2>/dev/null; {before}; echo ready >&3; {after}", line.path()))
}

/// Cancels a request once its program is ready, and returns what comes of it, when all of the group are gone.
async fn cancelled(exec: &LocalExec, before: &str, after: &str) -> ExecResult {
    let mut line = Line::new();
    let caller = caller(&std::env::temp_dir());
    let cancellation = caller.cancellation.clone();
    let running = tokio::spawn(exec.run(caller, ready_then(&line, before, after)));
    line.reads("ready").await;
    cancellation.cancel();
    let result = timeout(LIMIT, running).await.unwrap().unwrap().unwrap();
    line.is_over().await;
    result
}

#[tokio::test]
async fn a_time_limit_is_the_lesser_of_both() {
    let (short, long) = (Duration::from_millis(1), Duration::from_secs(3600));
    let mut asked = request("sleep", ["1000"]);
    assert_eq!(run(&LocalExec::new().time_limit(short), asked.clone()).await.unwrap(), timed_out());
    asked.time_limit_ms = Some(u64::MAX);
    assert_eq!(run(&LocalExec::new().time_limit(short), asked.clone()).await.unwrap(), timed_out());
    asked.time_limit_ms = Some(1);
    assert_eq!(run(&LocalExec::new().time_limit(long), asked).await.unwrap(), timed_out());
    let mut in_time = sh("printf done");
    in_time.time_limit_ms = Some(u64::MAX);
    assert_eq!(run(&LocalExec::new(), in_time).await.unwrap(), result(0, "done"));
}

#[tokio::test]
async fn what_was_said_before_the_end_is_kept() {
    let said = cancelled(&LocalExec::new(), "printf before", FOR_EVER).await;
    assert_eq!(said, killed(143, Cancelled, "before"));
}

#[tokio::test]
async fn a_program_may_clean_up_and_is_still_no_success() {
    let answers = async |code: i32| {
        let trap = format!("trap 'printf cleaned; exit {code}' TERM");
        cancelled(&patient(), &trap, FOR_EVER).await
    };
    assert_eq!(answers(0).await, killed(143, Cancelled, "cleaned"));
    assert_eq!(answers(7).await, killed(7, Cancelled, "cleaned"));
}

#[tokio::test]
async fn a_program_that_does_not_end_when_asked_is_killed() {
    assert_eq!(cancelled(&impatient(), "trap '' TERM", FOR_EVER).await, killed(137, Cancelled, ""));
}

#[tokio::test]
async fn the_grace_is_for_the_whole_group() {
    let mut line = Line::new();
    let caller = caller(&std::env::temp_dir());
    let cancellation = caller.cancellation.clone();
    // The leader ends when it is asked to; what it started cleans up first.
    let worker = format!("trap 'printf cleaned; exit' TERM; echo ready >&3; {FOR_EVER}");
    let asked = sh(format!("exec 3>'{}' 2>/dev/null; ({worker}) & wait", line.path()));
    let running = tokio::spawn(patient().run(caller, asked));
    line.reads("ready").await;
    cancellation.cancel();
    assert_eq!(timeout(LIMIT, running).await.unwrap().unwrap().unwrap(), killed(143, Cancelled, "cleaned"));
    line.is_over().await;
}

#[tokio::test]
async fn a_signal_from_elsewhere_is_a_kill() {
    assert_eq!(
        run(&LocalExec::new(), sh("printf a; kill -KILL $$")).await.unwrap(),
        killed(137, KilledBy::Signal, "a")
    );
    assert_eq!(run(&LocalExec::new(), sh("kill -HUP $$")).await.unwrap(), killed(129, KilledBy::Signal, ""));
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_runs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let caller = caller(directory.path());
    caller.cancellation.cancel();
    let mut exec = LocalExec::new();
    exec.system.start_thread = |name, _| panic!("{name} was started");
    assert_eq!(exec.run(caller, sh("touch made")).await.unwrap(), killed(143, Cancelled, ""));
}

#[tokio::test]
async fn what_a_program_leaves_in_its_group_ends_with_it() {
    let mut line = Line::new();
    let asked = ready_then(&line, "trap '' TERM", &format!("({FOR_EVER}) & printf done"));
    assert_eq!(run(&patient(), asked).await.unwrap(), result(0, "done"));
    line.reads("ready").await;
    line.is_over().await;
}

#[cfg(target_os = "linux")] // Others have no command `setsid`.
#[tokio::test]
async fn a_process_that_left_the_group_is_not_waited_for() {
    let (mut line, gate) = (Line::new(), Gate::new());
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("left");
    make_pipe(&left);
    let left = left.display();
    let leaves =
        format!("exec 3>'{}'; exec 4<'{}'; echo left >'{left}'; read _ <&4; echo last >&3", line.path(), gate.path());
    let asked = sh(format!("setsid sh -c \"{leaves}\" & read _ <'{left}'; printf started"));
    assert_eq!(run(&impatient(), asked).await.unwrap(), result(0, "started"));
    drop(gate);
    line.reads("last").await;
    line.is_over().await;
}

#[tokio::test]
async fn a_future_that_is_dropped_stops_the_program_to_the_end() {
    let mut line = Line::new();
    let asked = ready_then(&line, "trap 'echo asked >&3; exit' TERM", FOR_EVER);
    let running = tokio::spawn(patient().run(caller(&std::env::temp_dir()), asked));
    line.reads("ready").await;
    running.abort();
    line.reads("asked").await;
    line.is_over().await;

    let mut line = Line::new();
    let asked = ready_then(&line, "trap 'echo asked >&3' TERM", FOR_EVER);
    let running = tokio::spawn(LocalExec::new().run(caller(&std::env::temp_dir()), asked));
    line.reads("ready").await;
    running.abort();
    line.reads("asked").await;
    line.is_over().await;
}

#[test]
fn a_runtime_that_is_shut_down_kills_at_once() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut line = Line::new();
    let asked = ready_then(&line, "trap 'echo asked >&3' TERM", FOR_EVER);
    let running = runtime();
    running.spawn(patient().run(caller(&std::env::temp_dir()), asked));
    running.block_on(line.reads("ready"));
    drop(running);
    runtime().block_on(line.is_over());
}

#[tokio::test]
async fn many_run_at_once() {
    let running = (0..32).map(|n| async move {
        let mut asked = request("cat", []);
        let given = n.to_string().repeat(100_000);
        asked.stdin = Some(given.as_str().into());
        assert_eq!(run(&LocalExec::new(), asked).await.unwrap(), result(0, &given));
    });
    futures_util::future::join_all(running).await;
}
