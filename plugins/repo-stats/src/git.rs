//! What git is asked.

use std::path::Path;
use std::time::Duration;

use toolhost_plugin_sdk::prelude::*;

use crate::period::Period;
use crate::tally::Tally;

/// How long one run of git may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);
/// How many commits are counted at most. The list of them has 8 MB.
const MOST_COMMITS: usize = 200_000;
/// How many commits one run of git tells of.
const BATCH: usize = 1_000;

/// git in one directory, for one call.
pub(crate) struct Git<'a> {
    pi: &'a CustomToolApi,
    directory: &'a Path,
}

impl<'a> Git<'a> {
    pub(crate) fn new(pi: &'a CustomToolApi, directory: &'a Path) -> Self {
        Self { pi, directory }
    }

    /// What names of the repository begin with below the directory: `src/`, or nothing at its root.
    pub(crate) async fn prefix(&self) -> Result<Vec<u8>, ToolError> {
        let output = self.run(&["rev-parse", "--show-prefix"], Vec::new()).await?;
        if output.code == 128 && output.stderr_text().contains("not a git repository") {
            return Err(format!("{}: is in no git repository", self.directory.display()).into());
        }
        let mut prefix = output.require_success()?.stdout;
        prefix.truncate(prefix.strip_suffix(b"\n").map_or(prefix.len(), <[u8]>::len));
        let head = self.run(&["rev-parse", "--verify", "--quiet", "HEAD"], Vec::new()).await?;
        if head.code == 1 && head.stderr.is_empty() {
            return Err(format!("{}: its repository has no commits yet", self.directory.display()).into());
        }
        head.require_success()?;
        Ok(prefix)
    }

    /// The names of the commits that count, the newest first.
    pub(crate) async fn commits(&self, period: &Period, prefix: &[u8]) -> Result<Vec<String>, ToolError> {
        let most = format!("--max-count={}", MOST_COMMITS + 1);
        let period = period.arguments();
        // Without it, a branch does not count whose changes its merge did not take.
        let mut arguments = vec!["rev-list", "--full-history", &most];
        arguments.extend(period.iter().map(String::as_str));
        arguments.push("HEAD");
        arguments.extend(below(prefix));
        let output = self.run(&arguments, Vec::new()).await?.require_success()?;
        let commits: Vec<String> = output.stdout_text().lines().map(str::to_owned).collect();
        if output.truncated || commits.len() > MOST_COMMITS {
            return Err(format!("there are more than {MOST_COMMITS} commits; ask for a shorter period").into());
        }
        Ok(commits)
    }

    /// Counts what these commits say. Returns false, and counts nothing, where that was too much for one run.
    pub(crate) async fn count(&self, commits: &[String], prefix: &[u8], tally: &mut Tally) -> Result<bool, ToolError> {
        let mut arguments = vec![
            "log",
            "--stdin",
            "--no-walk=unsorted",
            "-z",
            "--name-only",
            "--relative",
            "--no-renames",
            "--no-follow",
            "--no-show-signature",
            "--no-notes",
            "--encoding=UTF-8",
            Tally::FORMAT,
        ];
        arguments.extend(below(prefix));
        let output = self.run(&arguments, commits.join("\n").into_bytes()).await?.require_success()?;
        if output.truncated && commits.len() > 1 {
            return Ok(false);
        }
        tally.read(&output.stdout, output.truncated)?;
        Ok(true)
    }

    async fn run(&self, arguments: &[&str], stdin: Vec<u8>) -> Result<ExecOutput, ToolError> {
        let options = ExecOptions::new()
            .cwd(self.directory)
            // Errors are told apart by their text.
            .env("LC_ALL", "C")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .stdin(stdin)
            .time_limit(TIME_LIMIT);
        let output = self.pi.exec("git", arguments, options).await;
        let output = output.map_err(|error| error.context("repo_stats asks git"))?;
        if output.timed_out() {
            let (what, limit) = (arguments.first().unwrap_or(&""), TIME_LIMIT.as_secs());
            return Err(format!("`git {what}` was killed, as it is after {limit} s; ask for a shorter period").into());
        }
        Ok(output)
    }
}

/// Which files count. At the root there is no choice to make: git would leave out commits that change none.
fn below(prefix: &[u8]) -> &'static [&'static str] {
    if prefix.is_empty() { &["--"] } else { &["--", "."] }
}

/// Commits in portions, the newest last.
pub(crate) fn batches(commits: &[String]) -> Vec<&[String]> {
    commits.rchunks(BATCH).collect()
}

/// A portion in two, the newest last.
pub(crate) fn halves(batch: &[String]) -> [&[String]; 2] {
    let (newer, older) = batch.split_at(batch.len() / 2);
    [older, newer]
}
