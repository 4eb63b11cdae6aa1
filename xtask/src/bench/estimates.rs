//! What criterion leaves on disk: for each benchmark `new/estimates.json`, in ns, and its names in `new/benchmark.json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde_json::Value;

/// The median of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measurement {
    pub(super) group: String,
    pub(super) entry: String,
    pub(super) median_ns: f64,
}

/// The latest measurement of every benchmark, or of those measured since a time.
pub(super) fn read(criterion: &Path, since: Option<SystemTime>) -> Result<Vec<Measurement>> {
    let mut found = Vec::new();
    if criterion.is_dir() {
        find_latest(criterion, &mut found)?;
    }
    let mut measurements = Vec::with_capacity(found.len());
    for directory in found {
        if since.is_none_or(|since| measured(&directory).is_none_or(|time| time >= since)) {
            measurements.push(read_one(&directory)?);
        }
    }
    Ok(measurements)
}

/// Every directory `new` with estimates in it.
fn find_latest(directory: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("could not list {}", directory.display()))?;
    for entry in entries {
        let path = entry.with_context(|| format!("could not list {}", directory.display()))?.path();
        if path.ends_with("new") && path.join("estimates.json").is_file() {
            found.push(path);
        } else if path.is_dir() {
            find_latest(&path, found)?;
        }
    }
    Ok(())
}

fn measured(directory: &Path) -> Option<SystemTime> {
    fs::metadata(directory.join("estimates.json")).and_then(|data| data.modified()).ok()
}

fn read_one(directory: &Path) -> Result<Measurement> {
    let names = read_json(&directory.join("benchmark.json"))?;
    let estimates_path = directory.join("estimates.json");
    let median = read_json(&estimates_path)?.pointer("/median/point_estimate").and_then(Value::as_f64);
    let median_ns =
        median.with_context(|| format!("{} holds no median; is criterion newer?", estimates_path.display()))?;
    let name = |key: &str| names.get(key).and_then(Value::as_str);
    let group = name("group_id").with_context(|| format!("{} names no group", directory.display()))?;
    let parts: Vec<_> = [name("function_id"), name("value_str")].into_iter().flatten().collect();
    // A benchmark outside any group is a group of its own.
    let entry = if parts.is_empty() { group.to_owned() } else { parts.join("/") };
    Ok(Measurement { group: group.to_owned(), entry, median_ns })
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn write(root: &Path, path: &str, names: &str, median: f64) {
        let directory = root.join(path);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("benchmark.json"), names).unwrap();
        let estimates = format!(
            r#"{{"mean":{{"point_estimate":1.0}},"median":{{"confidence_interval":{{}},"point_estimate":{median},"standard_error":0.1}}}}"#
        );
        fs::write(directory.join("estimates.json"), estimates).unwrap();
    }

    #[test]
    fn reads_the_latest_of_each_benchmark() {
        let root = tempfile::tempdir().unwrap();
        let grouped = r#"{"group_id":"abi_call","function_id":"through_abi","value_str":null}"#;
        write(root.path(), "abi_call/through_abi/new", grouped, 75.5);
        write(root.path(), "abi_call/through_abi/base", grouped, 99.0);
        let sized = r#"{"group_id":"load","function_id":"whole","value_str":"64"}"#;
        write(root.path(), "load/whole/64/new", sized, 10.0);
        write(root.path(), "alone/new", r#"{"group_id":"alone","function_id":null,"value_str":null}"#, 3.0);

        let mut read = read(root.path(), None).unwrap();
        read.sort_by(|a, b| a.group.cmp(&b.group));
        let list: Vec<_> = read.iter().map(|m| (m.group.as_str(), m.entry.as_str(), m.median_ns)).collect();
        assert_eq!(list, [("abi_call", "through_abi", 75.5), ("alone", "alone", 3.0), ("load", "whole/64", 10.0)]);
    }

    #[test]
    fn leaves_out_what_was_measured_before() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "old/new", r#"{"group_id":"old"}"#, 1.0);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert_eq!(read(root.path(), Some(later)).unwrap(), []);
        assert_eq!(read(&root.path().join("missing"), None).unwrap(), []);
    }

    #[test]
    fn a_file_without_a_median_is_named() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), "x/new", r#"{"group_id":"x"}"#, 1.0);
        fs::write(root.path().join("x/new/estimates.json"), "{}").unwrap();
        let error = read(root.path(), None).unwrap_err().to_string();
        assert!(error.contains("x/new/estimates.json holds no median"), "{error}");
    }
}
