//! `cargo xtask`: what has to build plugins before it runs something.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use xtask::{abi, bench, demo, malloc_check, matrix, memcheck, model_check, plugins, released};

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Builds plugins, and runs what needs built plugins",
    after_help = "Examples:\n  \
        cargo xtask plugins         build every plugin by itself, print where the files are\n  \
        cargo xtask demo            preview, apply and discard renames of real files\n  \
        cargo xtask demo --keep     the same, and leave the files there to look at\n  \
        cargo xtask bench           run all benches, compare each with its peer\n  \
        cargo xtask bench abi_call  run the benches of one group\n  \
        cargo xtask model-check     explore how threads may interleave in the core\n  \
        cargo xtask abi-check       compare the plugin interface with what was frozen of its version\n  \
        cargo xtask released-sdks   call a plugin of every release with today's host\n  \
        cargo xtask matrix          run a plugin that is built in many ways\n  \
        cargo xtask memcheck        look for invalid accesses and for what grows\n  \
        cargo xtask malloc-check    run the integration tests on a checked heap"
)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Builds plugins, each by itself, in release, and prints where the files are
    Plugins {
        /// Only the plugins of these packages; by default all
        names: Vec<String>,
        /// Prints one JSON object: {"directory", "plugins": [{"name", "path"}]}
        #[arg(long)]
        json: bool,
    },
    /// Builds the host and a plugin, then previews, applies and discards renames of real files in a temporary directory
    Demo {
        /// Leaves the temporary directory there at the end
        #[arg(long)]
        keep: bool,
    },
    /// Explores how threads may interleave in the store of pending actions, with a model checker
    ModelCheck,
    /// Fails where the plugin interface is not what was frozen of the version that it states
    AbiCheck,
    /// Freezes the plugin interface as the version that it states
    AbiFreeze,
    /// Builds a plugin with the SDK of every release, by its tag, and calls it with today's host
    ReleasedSdks,
    /// Builds a plugin with many compiler settings and runs each in a host; prints a table
    Matrix {
        /// Only the two combinations that differ most
        #[arg(long)]
        slice: bool,
        /// Only the combination with this name, as the table shows it
        #[arg(long, value_name = "NAME")]
        only: Option<String>,
    },
    /// Runs a plugin under valgrind, and counts what stays after many rounds of load, call, resolve and end
    Memcheck {
        /// Fewer rounds
        #[arg(long)]
        slice: bool,
        /// Installs valgrind with apt-get where it is missing; needs root
        #[arg(long)]
        install: bool,
    },
    /// Runs the integration tests with the checks of the GNU C library's heap
    MallocCheck {
        /// Only the tests in which most memory goes to and fro
        #[arg(long)]
        slice: bool,
    },
    /// Runs the benches and prints each median, with its ratio to the group's peer and what was measured on
    Bench {
        /// Runs only the benchmarks whose GROUP/ENTRY contains this
        filter: Option<String>,
        /// Measures nothing and prints the table of the last runs
        #[arg(long)]
        last: bool,
    },
}

fn main() -> ExitCode {
    match run(Args::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    let mut out = io::stdout().lock();
    match task {
        Task::Plugins { names, json } => {
            plugins::run(&mut out, &names.iter().map(String::as_str).collect::<Vec<_>>(), json)
        }
        Task::Demo { keep } => demo::run(&mut out, keep),
        Task::ModelCheck => model_check::run(),
        Task::AbiCheck => abi::check(&mut out, &abi::directory()),
        Task::AbiFreeze => abi::freeze(&mut out, &abi::directory()),
        Task::ReleasedSdks => released::run(&mut out),
        Task::Matrix { slice, only } => matrix::run(&mut out, &matrix::Options { slice, only }),
        Task::Memcheck { slice, install } => memcheck::run(&mut out, &memcheck::Options { slice, install }),
        Task::MallocCheck { slice } => malloc_check::run(&mut out, slice),
        Task::Bench { filter, last } => bench::run(&mut out, &bench::Options { filter, last }),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
