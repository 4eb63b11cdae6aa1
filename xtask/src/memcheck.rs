//! `cargo xtask memcheck`: the scenario under valgrind, and what stays on the heap over many rounds of it.

mod valgrind;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::matrix::{self, Combination};
use crate::scenario::{self, Scenario};
use valgrind::Valgrind;

/// What to check.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Fewer rounds.
    pub slice: bool,
    /// Installs valgrind where it is missing.
    pub install: bool,
}

/// Checks the accesses to memory of some rounds with valgrind, which makes them far slower; and counts what is live
/// before and after many rounds without it.
///
/// # Errors
///
/// When valgrind is missing and cannot be installed, something cannot be built, or a check fails.
pub fn run(out: &mut dyn Write, options: &Options) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        writeln!(out, "memcheck does not apply here: it needs valgrind on Linux, and the GNU C library")?;
        return Ok(());
    }
    let valgrind = Valgrind::find(options.install)?;
    eprintln!("Building the host and a plugin; the first time this takes some minutes ...");
    let scenario = Scenario::build()?;
    let plugin = matrix::plugin(Combination::PLAIN)?;
    // Valgrind makes a round a hundred times slower.
    let (checked, counted) = if options.slice { (3, 500) } else { (100, 10_000) };
    accesses(out, &valgrind, &scenario, &plugin, checked)?;
    growth(out, &scenario, &plugin, counted)
}

fn accesses(out: &mut dyn Write, valgrind: &Valgrind, scenario: &Scenario, plugin: &Path, rounds: usize) -> Result<()> {
    for (wrong, finding) in [("overrun", "Invalid write of size 1"), ("leak", "definitely lost")] {
        valgrind.finds(&scenario.command([wrong]), finding)?;
    }
    eprintln!("Running {rounds} rounds under valgrind ...");
    let mut command = valgrind.command(&rounds_of(scenario, "run", plugin, rounds));
    scenario::run(&mut command).context("valgrind found errors, or the scenario failed")?;
    writeln!(out, "valgrind: no invalid access and nothing lost in {rounds} rounds")?;
    Ok(())
}

/// The scenario itself counts, and fails where there is more in the end.
fn growth(out: &mut dyn Write, scenario: &Scenario, plugin: &Path, rounds: usize) -> Result<()> {
    eprintln!("Running {rounds} rounds, and counting what stays ...");
    let mut command = rounds_of(scenario, "growth", plugin, rounds);
    // Without this, blocks that a thread keeps for itself after they were freed count as live.
    command.env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
    let printed = scenario::run(&mut command).context("something grows, or the scenario failed")?;
    if printed.is_empty() {
        bail!("the scenario does not say what it counted");
    }
    write!(out, "{printed}")?;
    Ok(())
}

fn rounds_of(scenario: &Scenario, what: &str, plugin: &Path, rounds: usize) -> Command {
    scenario.command([what.as_ref(), plugin.as_os_str(), rounds.to_string().as_ref()])
}
