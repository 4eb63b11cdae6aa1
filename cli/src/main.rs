//! The command-line host for native agent tools.

mod args;
mod blame;
mod block;
mod call;
mod config;
mod error;
mod example;
mod inspect;
mod install;
mod journal;
mod keyboard;
mod list;
mod load;
mod log;
mod output;
mod paths;
mod places;
mod plain;
mod project;
mod quarantine;
mod schema;
mod screen;
mod search;
mod services;
mod settings;
mod show;
mod signals;
mod similar;
mod stdout;
mod trust;

use std::io;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::DefaultFields;

use crate::args::{Args, Command};
use crate::error::CliError;
use crate::output::Output;
use crate::screen::SCREEN;
use crate::signals::Signals;

/// How long tasks that are left over have to be dropped; those that can be take no time.
const LAST_TASKS: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    // Before anything else: what a plugin prints must not end up between the command's own output.
    let output = match stdout::take() {
        Ok(stdout) => Output::new(stdout),
        Err(error) => {
            eprintln!("error: standard output cannot be used: {error}");
            return ExitCode::from(error::FAILED);
        }
    };
    let code = run(output);
    leave(code)
}

fn run(output: Output) -> u8 {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return args::refuse(&error, output),
    };
    log_to_stderr(&output);
    if let Command::FirstSight = args.command {
        return first_sight();
    }
    let output = output.json(args.command.json());
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => return output.fail(&CliError::failed("runtime", format!("no runtime can be started: {error}"))),
    };
    let code = runtime.block_on(async {
        let signals = Signals::listen();
        let outcome = match &args.command {
            Command::List(_) => list::run(&args.plugins, &output, &signals).await,
            Command::Show(show) => show::run(show, &args.plugins, &output, &signals).await,
            Command::Call(call) => call::run(call, &args.plugins, &output, signals).await,
            Command::Config(_) => config::run(&args.plugins, &output),
            Command::Inspect(inspect) => Ok(inspect::run(&inspect.file, &output)),
            Command::Journal(journal) => journal::run(journal.journal_dir.as_deref(), &output),
            Command::Trust(trust) => trust::run(trust, &output, &signals).await,
            Command::Untrust(untrust) => trust::untrust(untrust, &output),
            Command::Block(block) => block::run(block, &output),
            Command::Unblock(unblock) => block::unblock(unblock, &output),
            Command::Install(install) => install::run(install, &output, &signals).await,
            Command::Remove(remove) => install::remove(remove, &output, &signals).await,
            Command::Quarantine(args) => quarantine::run(args, &output),
            Command::FirstSight => Ok(first_sight()),
        };
        outcome.unwrap_or_else(|error| output.fail(&error))
    });
    SCREEN.close();
    let code = output.exit_code(code);
    // What plugins still run is killed as tasks are dropped. A thread of theirs that never ends must not hold up the end
    // of the program.
    runtime.shutdown_timeout(LAST_TASKS);
    code
}

fn first_sight() -> u8 {
    match toolhost_loader::answer_first_sight() {
        Ok(()) => error::OK,
        Err(error) => {
            eprintln!("error: no plugin was looked at: {error}");
            error::USAGE
        }
    }
}

/// A runtime in which a tool that blocks one thread, and a clean-up that blocks another, leave threads for signals and
/// timers, however few processors there are.
fn runtime() -> io::Result<Runtime> {
    const LEAST_WORKERS: usize = 4;
    let workers = thread::available_parallelism().map_or(LEAST_WORKERS, NonZero::get).max(LEAST_WORKERS);
    Builder::new_multi_thread().worker_threads(workers).enable_all().build()
}

/// Ends the process without running what plugins registered for its end: a destructor of theirs that crashes or hangs
/// would turn a change that was applied into a failure.
pub(crate) fn leave(code: u8) -> ! {
    blame::end();
    // SAFETY: `_exit` has no preconditions. Nothing of this program is buffered: standard output is written through,
    // and standard error is unbuffered.
    unsafe { libc::_exit(i32::from(code)) }
}

fn log_to_stderr(output: &Output) {
    let wanted = std::env::var("TOOLHOST_LOG").unwrap_or_else(|_| "warn".to_owned());
    let filter = EnvFilter::try_new(&wanted).unwrap_or_else(|error| {
        output.warn(&format!("TOOLHOST_LOG=`{wanted}` is no filter for the log, so warnings are logged: {error}"));
        EnvFilter::new("warn")
    });
    log_layer().with_env_filter(filter).with_writer(|| screen::Log).init();
}

/// The log's form. Its one colour is not the subscriber's, which could not be told from what plugins log.
fn log_layer() -> SubscriberBuilder<DefaultFields, log::Lines> {
    tracing_subscriber::fmt().with_ansi(false).event_format(log::Lines::new())
}
