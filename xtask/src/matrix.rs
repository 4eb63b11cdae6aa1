//! `cargo xtask matrix`: plugins that are built in many ways, each in a host that puts it through everything.

mod combination;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::build::metadata;
use crate::scenario::{self, Scenario};
pub(crate) use combination::Combination;
use combination::Expected;

/// How often each plugin goes through the scenario. From the second time on, the host has it loaded already.
const ROUNDS: &str = "3";

/// Which combinations to try.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only the two that differ most.
    pub slice: bool,
    /// Only the one with this name.
    pub only: Option<String>,
}

/// Builds a plugin in each way, runs the same scenario in a host with it, and prints a table of the results.
///
/// # Errors
///
/// When a combination is unknown, cannot be built, or does not fare as expected; all others are tried first.
pub fn run(out: &mut dyn Write, options: &Options) -> Result<()> {
    let combinations = options.combinations()?;
    eprintln!("Building the host; the first time this takes some minutes ...");
    let scenario = Scenario::build()?;
    let count = combinations.len();
    let mut number = 0;
    report(out, &combinations, |combination| {
        number += 1;
        eprintln!("{number} of {count}: {combination}");
        attempt(&scenario, combination)
    })
}

/// Builds the plugin of this combination. The next one of the same sources takes its place.
pub(crate) fn plugin(combination: Combination) -> Result<PathBuf> {
    let manifest_path = crate::workspace_manifest();
    let target_dir = metadata(&manifest_path)?.target_directory.join("matrix");
    combination.build(&manifest_path.with_file_name("tests"), target_dir.into()).cdylib()
}

impl Options {
    fn combinations(&self) -> Result<Vec<Combination>> {
        let all = if self.slice { Combination::slice() } else { Combination::all() };
        let Some(name) = &self.only else { return Ok(all) };
        let found = all.iter().find(|combination| combination.to_string() == *name).copied();
        let found = found.with_context(|| {
            let names: Vec<_> = all.iter().map(Combination::to_string).collect();
            format!("there is no combination `{name}`; name one of: {}", names.join(", "))
        })?;
        Ok(vec![found])
    }
}

/// What a combination came to.
struct Fared {
    size: u64,
    /// How long the scenario took, with the start of the host.
    took: Duration,
}

fn attempt(scenario: &Scenario, combination: Combination) -> Result<Fared> {
    let plugin = plugin(combination)?;
    let size = size(&plugin)?;
    let started = Instant::now();
    let path = plugin.to_str().context("the path of the plugin is not UTF-8")?;
    let mut command = match combination.expected() {
        Expected::Runs => scenario.command(["run", path, ROUNDS]),
        Expected::Refused(code) => scenario.command(["refused", path, code]),
    };
    scenario::run(&mut command).with_context(|| format!("the scenario failed with {path}"))?;
    Ok(Fared { size, took: started.elapsed() })
}

fn size(file: &Path) -> Result<u64> {
    Ok(fs::metadata(file).with_context(|| format!("could not look at {}", file.display()))?.len())
}

/// Tries all combinations, then prints the table. A failure is shown as it happens, with the command that repeats it.
fn report(
    out: &mut dyn Write,
    combinations: &[Combination],
    mut attempt: impl FnMut(Combination) -> Result<Fared>,
) -> Result<()> {
    let mut rows = Vec::new();
    let mut failed = Vec::new();
    for &combination in combinations {
        let fared = attempt(combination);
        if let Err(error) = &fared {
            writeln!(out, "\n{combination} failed: {error:#}\nrepeat it: {}\n", repeat(combination))?;
            failed.push(combination);
        }
        rows.push((combination, fared.ok()));
    }
    write_table(out, &rows)?;
    ensure!(!rows.is_empty(), "there was nothing to try");
    if failed.is_empty() {
        return Ok(());
    }
    let commands: Vec<_> = failed.iter().map(|&combination| format!("\n  {}", repeat(combination))).collect();
    bail!(
        "{} of {} combinations failed; the output above says why. Repeat with:{}",
        failed.len(),
        rows.len(),
        commands.concat()
    )
}

fn repeat(combination: Combination) -> String {
    format!("cargo xtask matrix --only {combination}")
}

fn write_table(out: &mut dyn Write, rows: &[(Combination, Option<Fared>)]) -> Result<()> {
    let width = rows.iter().map(|(combination, _)| combination.to_string().len()).max().unwrap_or(0).max(11);
    writeln!(out, "{:width$}  {:>8}  {:>8}  result", "combination", "size", "time")?;
    for (combination, fared) in rows {
        let Some(Fared { size, took }) = fared else {
            writeln!(out, "{combination:width$}  {:>8}  {:>8}  FAILED", "", "")?;
            continue;
        };
        let result = match combination.expected() {
            Expected::Runs => "runs".to_owned(),
            Expected::Refused(code) => format!("refused with {code}, as it must be"),
        };
        writeln!(out, "{combination:width$}  {:>5} kB  {:>6.1} s  {result}", size / 1000, took.as_secs_f64())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(name: &str) -> Combination {
        Options { only: Some(name.to_owned()), slice: false }.combinations().unwrap()[0]
    }

    #[test]
    fn an_unknown_combination_gets_the_names_of_all() {
        let options = Options { only: Some("stage-9".to_owned()), slice: true };
        let error = options.combinations().unwrap_err().to_string();
        assert_eq!(error, "there is no combination `stage-9`; name one of: stage-0, stage-s-fat-stripped");
    }

    #[test]
    fn the_table_has_what_ran_and_what_was_refused() {
        let mut out = Vec::new();
        let fared = |size| Ok(Fared { size, took: Duration::from_millis(1234) });
        let combinations = [only("stage-s-fat-stripped"), only("stage-0-abort")];
        report(&mut out, &combinations, |_| fared(801_999)).unwrap();
        let expected = "\
combination               size      time  result
stage-s-fat-stripped    801 kB     1.2 s  runs
stage-0-abort           801 kB     1.2 s  refused with TH0208, as it must be
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_failure_stops_nothing_and_says_how_to_repeat_it() {
        let mut out = Vec::new();
        let combinations = [only("stage-0"), only("stage-3-thin")];
        let error = report(&mut out, &combinations, |combination| {
            ensure!(combination.to_string() != "stage-0", "it crashed");
            Ok(Fared { size: 2_000_000, took: Duration::from_secs(2) })
        });
        let expected = "
stage-0 failed: it crashed
repeat it: cargo xtask matrix --only stage-0

combination       size      time  result
stage-0                           FAILED
stage-3-thin   2000 kB     2.0 s  runs
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let expected = "1 of 2 combinations failed; the output above says why. Repeat with:\n  \
            cargo xtask matrix --only stage-0";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
