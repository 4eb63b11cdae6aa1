use super::*;
use crate::blame::crash;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use rustix::process::{Resource, Rlimit, WaitOptions, getrlimit, setrlimit, waitpid};

#[test]
fn a_library_is_all_of_what_is_mapped_from_its_file() {
    let maps = "\
7f00000000-7f00001000 r--p 00000000 fe:00 12 /cache/a/libp.so
7f00001000-7f00003000 r-xp 00001000 fe:00 12 /cache/a/libp.so
7f00003000-7f00004000 rw-p 00000000 00:00 0
7f00004000-7f00005000 rw-p 00002000 fe:00 12 /cache/a/libp.so
7f00005000-7f00006000 r-xp 00000000 fe:01 12 /lib/libother.so
7f00006000-7f00007000 rw-p 00000000 00:00 0 [stack]
";
    assert_eq!(range(maps, 0x7f_0000_1fff), Some(0x7f_0000_0000..0x7f_0000_5000));
    assert_eq!(range(maps, 0x7f_0000_5000), Some(0x7f_0000_5000..0x7f_0000_6000));
    assert_eq!(range(maps, 0x7f_0000_6fff), None);
    assert_eq!(range(maps, 8), None);
    assert_eq!(range("what is this", 8), None);
}

/// What the process of a case does, and in which directory.
const CASE: &str = "TOOLHOST_TEST_CASE";
const DIRECTORY: &str = "TOOLHOST_TEST_DIRECTORY";

/// Says in a process of its own that there are plugins 1 and 2, and ends it as the case says.
#[test]
fn one_process() {
    let (Some(case), Some(directory)) = (std::env::var_os(CASE), std::env::var_os(DIRECTORY)) else { return };
    let run = begin(Path::new(&directory)).unwrap();
    for number in [1, 2] {
        let text = |prefix: &str| format!("{prefix}{number}");
        let (hash, name, version, path) = (text("h"), text("p"), text("1."), text("/"));
        run.write(&Entry { number, hash, name, version, path, range: None });
    }
    assert_eq!(run.enter(1), 0);
    match case.to_str().unwrap() {
        "alone" => {}
        "beside itself" => stay(run, 1),
        "beside another" => stay(run, 2),
        "back from another" => {
            assert_eq!(run.enter(2), 1);
            run.leave(1);
        }
        "left" => run.leave(0),
        "a thread that ended" => drop(thread::spawn(|| run.enter(2)).join().unwrap()),
        "more threads than slots" => {
            (0..shared::SLOTS).for_each(|_| stay(run, 0));
            stay(run, 2);
        }
        "more threads than slots, for a while" => {
            (0..shared::SLOTS).for_each(|_| stay(run, 0));
            thread::spawn(|| run.leave(run.enter(2))).join().unwrap();
        }
        "no memory" => {
            let limit = getrlimit(Resource::As);
            setrlimit(Resource::As, Rlimit { current: Some(64 << 20), ..limit }).unwrap();
        }
        "a forked child" => {
            fork(|| std::process::abort(), Some(libc::SIGABRT));
            // The end of its thread clears the breadcrumb.
            fork(|| std::process::exit(0), None);
            std::process::exit(0);
        }
        case => panic!("{case}"),
    }
    std::process::abort();
}

/// Leaves a thread in the code of this plugin.
fn stay(run: &'static Run, number: u32) {
    let (sender, entered) = mpsc::channel();
    thread::spawn(move || {
        run.enter(number);
        sender.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    entered.recv().unwrap();
}

fn fork(work: fn() -> !, signal: Option<i32>) {
    // SAFETY: the child ends at once, by functions that take no lock that another thread could have held.
    match unsafe { libc::fork() } {
        0 => work(),
        child => {
            let child = rustix::process::Pid::from_raw(child);
            let (_, status) = waitpid(child, WaitOptions::empty()).unwrap().unwrap();
            assert_eq!((status.terminating_signal(), status.exit_status()), (signal, signal.is_none().then_some(0)));
        }
    }
}

#[test]
fn the_one_plugin_whose_code_ran_is_named() {
    for (case, named) in [
        ("alone", Some("p1")),
        ("beside itself", Some("p1")),
        ("beside another", None),
        ("back from another", Some("p1")),
        ("left", None),
        ("a thread that ended", Some("p1")),
        ("more threads than slots", None),
        ("more threads than slots, for a while", Some("p1")),
        ("no memory", None),
        ("a forked child", None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "blame::run::tests::one_process"]);
        let output = command.env(CASE, case).env(DIRECTORY, directory.path()).output().unwrap();
        let ended = if case == "a forked child" { None } else { Some(libc::SIGABRT) };
        assert_eq!(output.status.signal(), ended, "{case}: {}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(output.status.code(), ended.is_none().then_some(0), "{case}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{case}");
        let crashes = crash::take(directory.path());
        assert_eq!(crashes.iter().map(|crash| crash.plugin.name.as_str()).next(), named, "{case}");
        assert!(crashes.iter().all(|crash| crash.signal == "SIGABRT"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "{case}");
    }
}
