//! Renames many files at once: previews every new name, and renames all of them or none.
//!
//! The way of one call: [`params`], what the model sent; [`rules`], the new names; [`plan`], all checks; [`order`],
//! which rename comes first; [`text`], the preview. And once it is applied: [`verify`], that nothing changed;
//! [`mod@apply`], one [`mod@rename`] after the other, none of which can overwrite anything.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_plugin_sdk::FileChange;
use toolhost_plugin_sdk::prelude::*;

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
        Ok(format!("{preview}\nNothing is renamed yet. Call resolve to apply or discard.").into())
    }
}

/// A plan that waits for a decision.
struct BatchRename {
    plan: Arc<Plan>,
}

impl BatchRename {
    fn changes(&self) -> Value {
        let changes: Vec<_> = self.plan.renames().map(|(old, new)| FileChange::rename(old, new)).collect();
        json!({ "changes": changes })
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn staged(root: &std::path::Path) -> BatchRename {
        let params = serde_json::from_value(json!({"files": ["IMG_1.JPG"], "find": "IMG", "replace": "trip"})).unwrap();
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
    fn a_discard_says_what_it_dropped() {
        let tmp = tempfile::tempdir().unwrap();
        fs::write(tmp.path().join("IMG_1.JPG"), "").unwrap();
        let said = run(staged(tmp.path()).reject("not now")).unwrap().unwrap();
        let text = "Dropped the renaming of 1 file; every name is as it was. Reason: not now\nIMG_1.JPG -> trip_1.JPG";
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
