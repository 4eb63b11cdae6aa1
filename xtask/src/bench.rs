//! `cargo xtask bench`: runs the benches and compares every entry with its peer.

mod estimates;
mod machine;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::build::{cargo, metadata};
use crate::shell::command_line;
use estimates::Measurement;

/// The package that holds the benches.
const PACKAGE: &str = "toolhost-tests";

/// The entry that the others of its group are compared with. A group that is not listed is compared with its entry
/// whose name starts with `baseline`.
const PEERS: &[(&str, &str)] = &[
    ("abi_call", "in_process"),
    ("load", "bare_dlopen"),
    ("log_line_off", "in_process"),
    ("log_line_on", "in_process"),
    ("megabyte_call", "in_process"),
    ("resolve", "direct_call"),
    ("start_200", "bare_dlopen"),
    ("typed_call", "in_process"),
    ("waiting_call", "in_process"),
];

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Runs only the benchmarks whose `group/entry` contains this.
    pub filter: Option<String>,
    /// Measures nothing and prints what the last runs left.
    pub last: bool,
}

/// Runs the benches, then prints each entry's median and its ratio to the group's peer, below what was measured on.
///
/// # Errors
///
/// When the benches fail, there is no measurement or it cannot be read, or `out` cannot be written to.
pub fn run(out: &mut dyn Write, options: &Options) -> Result<()> {
    let manifest_path = crate::workspace_manifest();
    let criterion = metadata(&manifest_path)?.target_directory.join("criterion").into_std_path_buf();
    let started = SystemTime::now();
    if !options.last {
        measure(&manifest_path, &criterion, options.filter.as_deref())?;
    }

    let mut measurements = estimates::read(&criterion, (!options.last).then_some(started))?;
    if let Some(filter) = &options.filter {
        measurements.retain(|m| format!("{}/{}", m.group, m.entry).contains(filter));
    }
    if measurements.is_empty() {
        bail!("no measurements in {}; run `cargo xtask bench`, or change the filter", criterion.display());
    }
    writeln!(out, "{}", machine::description())?;
    write_groups(out, measurements)
}

fn measure(manifest_path: &Path, criterion: &Path, filter: Option<&str>) -> Result<()> {
    let mut command = cargo();
    // The measurements go where we look for them, whatever criterion takes for the target directory.
    command.env("CRITERION_HOME", criterion);
    command.args(["bench", "--locked", "--package", PACKAGE, "--manifest-path"]).arg(manifest_path);
    if let Some(filter) = filter {
        command.args(["--", filter]);
    }
    // Our own stdout is for the table alone.
    command.stdout(Stdio::from(std::io::stderr()));
    let line = command_line(&command);
    let status = command.status().with_context(|| format!("could not run cargo\ncommand: {line}"))?;
    if !status.success() {
        bail!("the benches failed ({status}); the output above says why\ncommand: {line}");
    }
    Ok(())
}

fn write_groups(out: &mut dyn Write, measurements: Vec<Measurement>) -> Result<()> {
    let mut groups: BTreeMap<String, Vec<Measurement>> = BTreeMap::new();
    for measurement in measurements {
        groups.entry(measurement.group.clone()).or_default().push(measurement);
    }
    for (group, entries) in groups {
        write_group(out, &group, entries)?;
    }
    Ok(())
}

/// The peer first, then the slowest first: a whole comes before its parts.
fn write_group(out: &mut dyn Write, group: &str, mut entries: Vec<Measurement>) -> Result<()> {
    let peer = entries.iter().find(|entry| is_peer(group, &entry.entry)).cloned();
    let is_first = |m: &Measurement| peer.as_ref().is_some_and(|peer| peer.entry == m.entry);
    entries.sort_by(|a, b| is_first(b).cmp(&is_first(a)).then(b.median_ns.total_cmp(&a.median_ns)));

    match &peer {
        Some(peer) => writeln!(out, "\n{group} (median; ratio to {})", peer.entry)?,
        None => writeln!(out, "\n{group} (median)")?,
    }
    let width = entries.iter().map(|m| m.entry.chars().count()).max().unwrap_or(0);
    for Measurement { entry, median_ns, .. } in &entries {
        write!(out, "  {entry:width$}  {median_ns:>14.2} ns")?;
        match &peer {
            Some(peer) => writeln!(out, "  {:>9.2}", median_ns / peer.median_ns)?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

fn is_peer(group: &str, entry: &str) -> bool {
    match PEERS.iter().find(|(listed, _)| *listed == group) {
        Some((_, peer)) => entry == *peer,
        None => entry.starts_with("baseline"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(measurements: &[(&str, &str, f64)]) -> String {
        let measurement = |&(group, entry, median_ns): &(&str, &str, f64)| Measurement {
            group: group.to_owned(),
            entry: entry.to_owned(),
            median_ns,
        };
        let mut out = Vec::new();
        write_groups(&mut out, measurements.iter().map(measurement).collect()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn compares_each_entry_with_the_peer_of_its_group() {
        let table = table(&[
            ("load", "inspect", 30_000.0),
            ("load", "bare_dlopen", 100_000.0),
            ("load", "whole", 250_000.0),
            ("abi_call", "through_abi", 75.5),
            ("abi_call", "in_process", 50.0),
        ]);
        let expected = "
abi_call (median; ratio to in_process)
  in_process            50.00 ns       1.00
  through_abi           75.50 ns       1.51

load (median; ratio to bare_dlopen)
  bare_dlopen       100000.00 ns       1.00
  whole             250000.00 ns       2.50
  inspect            30000.00 ns       0.30
";
        assert_eq!(table, expected);
    }

    #[test]
    fn other_groups_name_their_baseline_or_have_none() {
        assert!(table(&[("new", "baseline_vec", 10.0), ("new", "list", 20.0)]).contains("ratio to baseline_vec"));
        assert_eq!(table(&[("new", "list", 20.0)]), "\nnew (median)\n  list           20.00 ns\n");
        assert!(!table(&[("abi_call", "baseline", 1.0)]).contains("ratio"));
    }
}
