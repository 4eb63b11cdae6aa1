//! Counts what happened in a git repository in a period: commits, who made them, which files they changed most.
//!
//! ```text
//! $ toolhost call repo_stats --plugin librepo_stats.so path=src since=2026-01-01 top=2
//! 61 commits by 3 authors since 2026-01-01, 12 files changed
//!
//! Authors, by commits:
//! 40 Ann <ann@example.org>
//! 20 Ben <ben@example.org>
//! and 1 more
//!
//! Files, by commits that changed them:
//! 31 lib.rs
//! 9 parse.rs
//! and 10 more
//! ```
//!
//! It asks git, 2.37 or later, through the host, which has to allow that. Authors are told apart by name and address, as
//! the repository's `.mailmap` has them. Merges count as commits, and change no files. A renamed file counts under each
//! of its names. Days are those of UTC, by the dates of the commits, not of their writing.
//!
//! The way of one call: [`period`], which commits; [`git`], what git is asked; [`tally`], its answer, counted; [`text`],
//! what the model reads.

mod git;
mod period;
mod tally;
#[cfg(test)]
mod tests;
mod text;

use std::path::{Path, PathBuf};

use jiff::civil::Date;
use serde_json::to_value;
use toolhost_plugin_sdk::prelude::*;

use crate::git::Git;
use crate::period::Period;
use crate::tally::{Stats, Tally};

export_plugin!(|pi: CustomToolApi| RepoStats { pi });

struct RepoStats {
    pi: CustomToolApi,
}

/// Which commits are counted, and how many lines the answer may have.
#[derive(Deserialize, JsonSchema)]
#[schemars(example = json!({"since": "2026-01-01", "until": "2026-03-31"}))]
struct Params {
    /// The root of a repository, or a directory in one: then only what changed below it counts. Inside the session's
    /// directory, relative to it or absolute. Left out: the session's directory itself.
    #[serde(default)]
    path: PathBuf,
    /// The first day, as `2026-01-31`. Left out: since the first commit.
    #[schemars(with = "Option<String>", regex(pattern = DAY))]
    since: Option<Date>,
    /// The last day, which counts too. Left out: until now.
    #[schemars(with = "Option<String>", regex(pattern = DAY))]
    until: Option<Date>,
    /// How many authors and how many files to name at most.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 1000))]
    top: usize,
}

const DAY: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$";

fn ten() -> usize {
    10
}

impl CustomTool for RepoStats {
    const NAME: &'static str = "repo_stats";
    const LABEL: &'static str = "Repository Statistics";
    const DESCRIPTION: &'static str = "Counts a git repository's commits, by author and by file, in a period.\n\
        Says how many commits of the current branch there are, who made most of them, and which files they changed most \
        often. Merges count as commits, but change no files.";
    const EFFECT: Effect = Effect::ReadOnly;
    const PARALLEL: bool = true;
    type Params = Params;

    async fn execute(&self, params: Params, call: ToolCall) -> ToolResult {
        let period = Period::new(params.since, params.until)?;
        let directory = self.directory(&params.path).await?;
        let git = Git::new(&self.pi, &directory);
        let prefix = git.prefix().await?;
        call.update("looking for commits");
        let commits = git.commits(&period, &prefix).await?;
        let mut tally = Tally::default();
        let mut waiting = git::batches(&commits);
        while let Some(batch) = waiting.pop() {
            if !git.count(batch, &prefix, &mut tally).await? {
                waiting.extend(git::halves(batch));
                continue;
            }
            call.update(format!("{} of {} commits", tally.commits(), commits.len()));
        }
        let stats = tally.stats(params.top);
        Ok(AgentToolResult::text(text::text(&stats, &period)).with_details(to_value(&stats)?))
    }

    fn output_schema(&self) -> Option<Value> {
        Some(schema_of::<Stats>())
    }
}

impl RepoStats {
    /// The directory that a model means, without symlinks, inside the session's.
    async fn directory(&self, path: &Path) -> Result<PathBuf, ToolError> {
        let directory = self.pi.resolve_inside(path)?;
        let metadata = tokio::fs::metadata(&directory).await;
        if !metadata.map_err(|error| ToolError::from(error).context(path.display()))?.is_dir() {
            return Err(format!("{}: is no directory", path.display()).into());
        }
        Ok(directory)
    }
}
