//! A host that puts one plugin through everything, round after round. `cargo xtask matrix` and `cargo xtask memcheck`
//! run it; the plugin has the tools of the fixture `stage`.

// What does not hold ends the process.
#![allow(clippy::unwrap_used)]

mod held;
mod round;
mod wrong;

use std::path::PathBuf;
use std::process;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use std::{env, fmt};

use tokio::runtime::{Builder, Runtime};

use crate::held::Held;
use crate::round::Round;

const USAGE: &str = "\
usage: scenario run PLUGIN ROUNDS      load, call, stage, apply, discard, end; so many times
       scenario growth PLUGIN ROUNDS   the same; fails where it holds ever more
       scenario refused PLUGIN CODE    fails unless the plugin is refused with this code
       scenario overrun                writes beyond a block of the heap, as a checker of memory must notice
       scenario leak                   forgets a block of the heap, as a checker of memory must notice";

/// Far more than a round takes, under a checker of memory too. It is no part of any check: it only ends one that hangs.
const LIMIT: Duration = Duration::from_secs(300);

fn main() {
    let args: Vec<_> = env::args_os().skip(1).collect();
    let texts: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let plugin = || PathBuf::from(&args[1]);
    match texts[..] {
        ["run", _, rounds] => Rounds::new(plugin()).run(number(rounds), || {}),
        ["growth", _, rounds] => growth(plugin(), number(rounds)),
        ["refused", _, code] => Rounds::new(plugin()).refused(code),
        ["overrun"] => wrong::overrun(),
        ["leak"] => wrong::leak(),
        _ => fail(USAGE),
    }
}

fn number(text: &str) -> usize {
    text.parse().unwrap_or_else(|_| fail(format_args!("`{text}` is no number of rounds\n{USAGE}")))
}

fn fail(why: impl fmt::Display) -> ! {
    eprintln!("{why}");
    process::exit(1)
}

/// Rounds in one runtime, under an eye that ends the process where one hangs.
struct Rounds {
    runtime: Runtime,
    round: Round,
    alive: Sender<()>,
}

impl Rounds {
    fn new(plugin: PathBuf) -> Self {
        let (alive, is_alive) = mpsc::channel();
        thread::spawn(move || {
            while match is_alive.recv_timeout(LIMIT) {
                Ok(()) => true,
                Err(RecvTimeoutError::Disconnected) => false,
                Err(RecvTimeoutError::Timeout) => fail(format_args!("a round has not ended within {LIMIT:?}")),
            } {}
        });
        let mut runtime = Builder::new_multi_thread();
        // Few threads that come and go.
        let runtime = runtime.worker_threads(2).max_blocking_threads(4).enable_all().build().unwrap();
        Self { runtime, round: Round::new(plugin), alive }
    }

    fn run(&self, rounds: usize, mut after_each: impl FnMut()) {
        for _ in 0..rounds {
            self.runtime.block_on(self.round.run());
            self.alive.send(()).unwrap();
            after_each();
        }
    }

    fn refused(&self, code: &str) {
        let errors = self.runtime.block_on(self.round.load_errors());
        let codes: Vec<_> = errors.iter().map(|error| error.code()).collect();
        if codes != [code] {
            fail(format_args!("it was to be refused with {code}, and the errors are {errors:?}"));
        }
        println!("{}", errors[0]);
    }
}

/// How many rounds are measured at the beginning and at the end; what is in flight differs from round to round.
const WINDOW: usize = 100;

/// Compares the least that is held within a window of rounds, before and after all others.
fn growth(plugin: PathBuf, number: usize) {
    held::check();
    let rounds = Rounds::new(plugin);
    let least = || {
        let mut least = Held::now();
        rounds.run(WINDOW, || least = least.least(Held::now()));
        least
    };
    // What is made once, and kept, is made by then.
    rounds.run(WINDOW, || {});
    let before = least();
    rounds.run(number, || {});
    let after = least();
    let number = number + WINDOW;
    let grown = before.grown(after, number);
    if !grown.is_empty() {
        fail(format_args!("it grows: {}", grown.join("; ")));
    }
    println!("before: {before}\nafter {number} rounds: {after}");
}
