//! Renames many files at once: previews every new name, and renames all of them or none.
//!
//! The way of one call: [`params`], what the model sent; [`rules`], the new names; [`plan`], all checks; [`order`],
//! which rename comes first; [`text`], the preview. And once it is applied: [`verify`], that nothing changed;
//! [`mod@apply`], one [`mod@rename`] after the other, none of which can overwrite anything.

use std::sync::Arc;

use serde_json::Value;
use toolhost_plugin_sdk::prelude::*;
use toolhost_plugin_sdk::{Dependency, FileState};

use crate::apply::{ApplyError, apply};
use crate::params::Params;
use crate::plan::Plan;
use crate::rules::Rules;
use crate::text::{count, dropped, preview};

mod apply;
mod dirs;
mod fingerprint;
mod order;
mod params;
mod plan;
mod problem;
mod rename;
mod rules;
mod text;
mod verify;

export_plugin!(|pi: CustomToolApi| BatchRenamePreview { pi });

struct BatchRenamePreview {
    pi: CustomToolApi,
}

impl CustomTool for BatchRenamePreview {
    const NAME: &'static str = "batch_rename_preview";
    const LABEL: &'static str = "Batch Rename Preview";
    const DESCRIPTION: &'static str = "Previews the renaming of files and defers it to resolve.\n\
        Finds and replaces in file names by regular expression, changes case, adds numbers. Nothing is renamed before \
        resolve applies the preview; then all files are renamed or none, and nothing is ever overwritten. All problems \
        are reported at once.";
    const EFFECT: Effect = Effect::Stages;
    type Params = Params;

    async fn execute(&self, params: Params, call: ToolCall) -> ToolResult {
        let rules = Rules::new(&params)?;
        let cwd = self.pi.cwd().to_owned();
        let plan = tokio::task::spawn_blocking(move || Plan::new(&cwd, &params.files, &rules)).await??;
        let preview = preview(&plan);
        if plan.is_empty() {
            return Ok(preview.into());
        }
        call.push_pending_action(BatchRename { plan: Arc::new(plan) })?;
        Ok(format!("{preview}\nNothing is renamed yet.").into())
    }
}

/// A plan that waits for a decision.
struct BatchRename {
    plan: Arc<Plan>,
}

impl BatchRename {
    fn changes(&self) -> Value {
        self.plan.renames().fold(Changes::new(), |changes, (old, new)| changes.rename(old, new)).into_details()
    }
}

impl StagedChange for BatchRename {
    fn label(&self) -> String {
        format!("Batch rename: {}", count(self.plan.len(), "file"))
    }

    async fn apply(&self, reason: &str) -> ToolResult {
        let plan = Arc::clone(&self.plan);
        match tokio::task::spawn_blocking(move || apply(&plan)).await? {
            Ok(()) => {
                let renamed = count(self.plan.len(), "file");
                Ok(AgentToolResult::text(format!("Renamed {renamed}. Reason: {reason}")).with_details(self.changes()))
            }
            Err(stale @ ApplyError::Stale(_)) => Err(ToolError::stale(stale.to_string())),
            Err(failed @ ApplyError::Failed(_)) => Err(failed.into()),
        }
    }

    async fn reject(&self, reason: &str) -> RejectResult {
        Ok(Some(dropped(&self.plan, reason).into()))
    }

    fn source_tool_name(&self) -> Option<String> {
        Some(BatchRenamePreview::NAME.to_owned())
    }

    fn details(&self) -> Option<Value> {
        Some(self.changes())
    }

    // The sources by what tells them apart, since to hash thousands of photos would take minutes. The plan says which
    // targets are free: only it knows that `a` and `A` may be one name.
    fn depends_on(&self) -> Vec<Dependency> {
        let sources = self.plan.entries().iter().map(|entry| {
            // A file that is gone already has no state, and so differs from whatever is there later.
            let state = entry.from.path().symlink_metadata().map(|metadata| FileState::of(&metadata));
            Dependency::unchanged(entry.from.path(), state.unwrap_or_default())
        });
        let free = self.plan.entries().iter().filter(|entry| !entry.target_moves_away);
        sources.chain(free.map(|entry| Dependency::absent(entry.to.path()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn staged(root: &Path) -> BatchRename {
        staged_by(root, json!({"files": ["IMG_1.JPG"], "find": "IMG", "replace": "trip"}))
    }

    fn staged_by(root: &Path, params: Value) -> BatchRename {
        let params: Params = serde_json::from_value(params).unwrap();
        let rules = Rules::new(&params).unwrap();
        BatchRename { plan: Arc::new(Plan::new(root, &params.files, &rules).unwrap()) }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_staged_rename_says_what_it_changes_and_does_it() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        fs::write(root.join("IMG_1.JPG"), "").unwrap();
        let staged = staged(&root);
        let changes = json!({"changes": [{"path": root.join("trip_1.JPG"), "kind": "rename", "oldPath": root.join("IMG_1.JPG")}]});
        assert_eq!(staged.label(), "Batch rename: 1 file");
        assert_eq!(staged.source_tool_name().as_deref(), Some("batch_rename_preview"));
        assert_eq!(staged.details(), Some(changes.clone()));
        let result = run(staged.apply("better names")).unwrap();
        assert_eq!(result, AgentToolResult::text("Renamed 1 file. Reason: better names").with_details(changes));
        assert!(root.join("trip_1.JPG").exists());
    }

    #[test]
    fn a_staged_rename_depends_on_the_names_that_nothing_has_yet() {
        let tmp = tempfile::tempdir().unwrap();
        let root = tmp.path().canonicalize().unwrap();
        for name in ["a", "aa", "b"] {
            fs::write(root.join(name), name).unwrap();
        }
        let chain = staged_by(&root, json!({"files": ["a", "aa", "b"], "find": "a+", "replace": "${0}a"}));
        assert_eq!(chain.plan.len(), 2);
        let unchanged = |name: &str| {
            let path = root.join(name);
            Dependency::unchanged(&path, FileState::of(&path.symlink_metadata().unwrap()))
        };
        assert_eq!(chain.depends_on(), [unchanged("a"), unchanged("aa"), Dependency::absent(root.join("aaa"))]);
    }

    #[test]
    fn a_discard_says_what_it_dropped() {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("IMG_1.JPG"), "").unwrap();
        let said = run(staged(tmp.path()).reject("not now")).unwrap().unwrap();
        let text = "Nothing was renamed. Reason: not now\nDropped, 1 file:\nIMG_1.JPG -> trip_1.JPG";
        assert_eq!(said, AgentToolResult::text(text));
        assert!(tmp.path().join("IMG_1.JPG").exists());
    }

    #[test]
    fn a_rename_that_is_stale_says_so_by_its_code() {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("IMG_1.JPG"), "").unwrap();
        let staged = staged(tmp.path());
        fs::remove_file(tmp.path().join("IMG_1.JPG")).unwrap();
        let error = run(staged.apply("")).unwrap_err();
        let message = "the files changed since the preview, so nothing was renamed; discard it and preview again:\n\
                       - IMG_1.JPG: is gone";
        assert_eq!(error, ToolError::stale(message));
    }
}
