//! What is decided about staged actions, and the exit code of that.

use serde_json::{Value, json};
use toolhost_tests::{Artifact, Fixture};

use super::support::{Home, Ran, bad, good, plugin};
use crate::support::{ARTIFACTS, fail, place};

const HASH: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const NOTHING: &str = "No pending action to resolve. Nothing to apply or discard.";
const STAGED: &str = "staged\nPending: two (test)\nPending: one (test)\nPreview hash: {hash}\n";
const UNDECIDED: &str = "\
Discarded, since the session ended without a decision: two (test)
Discarded, since the session ended without a decision: one (test)
To apply, run the command again with --apply REASON, and --expect HASH for this preview.
";
const ENDED: &str = "\
Discarded, since the session ended: two (test)
Discarded, since the session ended: one (test)
";

fn two() -> Value {
    json!([good("one"), good("two")])
}

fn stage_two(options: &[&str]) -> Ran {
    Home::new().stage(&two(), options)
}

fn said(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// What a call of `stage` returns that staged these.
fn staged(labels: &[&str]) -> Value {
    let pending: Vec<_> =
        labels.iter().map(|label| json!({"id": "id", "label": label, "sourceToolName": "test"})).collect();
    json!({"content": said("staged"), "details": {"pending": pending}})
}

/// The result of a resolve of such an action.
fn resolved(text: &str, action: &str, label: &str) -> Value {
    json!({
        "content": said(text),
        "details": {
            "action": action, "id": "id", "label": label, "reason": "why", "resolvedBy": "human",
            "sourceToolName": "test"
        }
    })
}

fn failed(text: &str, action: &str, label: &str) -> Value {
    let mut result = resolved(text, action, label);
    result["isError"] = json!(true);
    result
}

#[test]
fn several_actions_are_applied_newest_first() {
    let applied = "Applied: two (test)\ntwo done: why\nApplied: one (test)\none done: why\n";
    stage_two(&["--apply", "why"]).is(0, &format!("{STAGED}{applied}"), "");
    let (two, one) = (resolved("two done: why", "apply", "two"), resolved("one done: why", "apply", "one"));
    let json = json!({
        "result": staged(&["one", "two"]), "resolved": one, "allResolved": [two, one], "previewHash": "{hash}"
    });
    stage_two(&["--apply", "why", "--json"]).is_json(0, &json, "");
}

#[test]
fn several_actions_are_discarded_newest_first() {
    let discarded = "Discarded: two (test)\nReason: why\nDiscarded: one (test)\nReason: why\n";
    stage_two(&["--discard", "why"]).is(0, &format!("{STAGED}{discarded}"), "");
    let discarded = |label: &str| resolved(&format!("Discarded: {label}. Reason: why"), "discard", label);
    let json = json!({
        "result": staged(&["one", "two"]), "resolved": discarded("one"),
        "allResolved": [discarded("two"), discarded("one")], "previewHash": "{hash}"
    });
    stage_two(&["--discard", "why", "--json"]).is_json(0, &json, "");
}

#[test]
fn one_action_has_no_list_of_results() {
    let ran = Home::new().stage(&json!([good("one")]), &["--apply", "why", "--json"]);
    let one = resolved("one done: why", "apply", "one");
    ran.is_json(0, &json!({"result": staged(&["one"]), "resolved": one, "previewHash": "{hash}"}), "");
}

#[test]
fn without_a_terminal_nothing_decided_is_discarded_and_said() {
    stage_two(&[]).is(0, STAGED, UNDECIDED);
    let json = json!({"result": staged(&["one", "two"]), "resolved": null, "previewHash": "{hash}"});
    stage_two(&["--json"]).is_json(0, &json, UNDECIDED);
}

#[test]
fn a_call_that_stages_nothing_needs_no_decision() {
    let home = Home::new();
    home.stage(&json!([]), &[]).is(0, "staged\n", "");
    let result = json!({"content": said("staged")});
    home.stage(&json!([]), &["--json"]).is_json(0, &json!({"result": result, "resolved": null}), "");
}

#[test]
fn a_decision_about_nothing_is_a_failure() {
    let home = Home::new();
    for (option, action) in [("--apply", "apply"), ("--discard", "discard")] {
        home.stage(&json!([]), &[option, "why"]).is(1, "staged\n", &format!("error: {NOTHING}\n"));
        let details = json!({"action": action, "reason": "why"});
        let json = json!({
            "result": {"content": said("staged")},
            "resolved": {"content": said(NOTHING), "details": details, "isError": true}
        });
        home.stage(&json!([]), &[option, "why", "--json"]).is_json(1, &json, "");
    }
}

#[test]
fn a_failed_apply_stops_and_the_rest_is_discarded() {
    let actions = json!([good("one"), bad("two", "disk full"), good("three")]);
    let ran = Home::new().stage(&actions, &["--apply", "why"]);
    ran.is(
        1,
        "staged\nPending: three (test)\nPending: two (test)\nPending: one (test)\nPreview hash: {hash}\nApplied: \
         three (test)\nthree done: why\n",
        &format!("error: Not applied: two (test)\n    Apply failed: disk full\n{ENDED}"),
    );
    let (three, two) =
        (resolved("three done: why", "apply", "three"), failed("Apply failed: disk full", "apply", "two"));
    let json = json!({
        "result": staged(&["one", "two", "three"]), "resolved": two, "allResolved": [three, two],
        "previewHash": "{hash}"
    });
    Home::new().stage(&actions, &["--apply", "why", "--json"]).is_json(1, &json, ENDED);
}

#[test]
fn a_failed_reject_is_a_failure() {
    let actions = json!([{"label": "one", "source": "test", "reject": fail("cannot clean")}]);
    let staged_one = "staged\nPending: one (test)\nPreview hash: {hash}\n";
    let home = Home::new();
    let stderr = "error: Discarded: one (test)\n    Cleanup failed: cannot clean\n";
    home.stage(&actions, &["--discard", "why"]).is(1, staged_one, stderr);
    let one = failed("Discarded: one. Cleanup failed: cannot clean", "discard", "one");
    let json = json!({"result": staged(&["one"]), "resolved": one, "previewHash": "{hash}"});
    home.stage(&actions, &["--discard", "why", "--json"]).is_json(1, &json, "");
}

#[test]
fn a_failed_cleanup_at_the_end_is_a_failure() {
    let actions = json!([{"label": "one", "source": "test", "reject": fail("cannot clean")}]);
    let stderr = "\
Discarded, since the session ended without a decision: one (test)
    Discarded: one. Cleanup failed: cannot clean
To apply, run the command again with --apply REASON, and --expect HASH for this preview.
";
    Home::new().stage(&actions, &[]).is(1, "staged\nPending: one (test)\nPreview hash: {hash}\n", stderr);
    let failed = json!({
        "content": [{"type": "text", "text": "Discarded: one. Cleanup failed: cannot clean"}],
        "details": {
            "action": "discard", "reason": "the session ended without a decision", "sourceToolName": "test",
            "label": "one", "id": "id"
        },
        "isError": true
    });
    let json = json!({
        "result": staged(&["one"]), "resolved": null, "previewHash": "{hash}", "failedCleanups": [failed]
    });
    Home::new().stage(&actions, &["--json"]).is_json(1, &json, stderr);
}

#[test]
fn a_tool_that_fails_or_panics_is_a_failure() {
    let home = Home::new();
    let panics = |options: &[&str]| home.call(&plugin(Fixture::Panics), "panics", &json!({"at": "after"}), options);
    let text = format!(
        "tool `panics` of plugin `panics` panicked at {}: after an await",
        place("panics/src/lib.rs", r#"panic!("after an await")"#)
    );
    let ran = panics(&[]);
    assert_eq!((ran.code(), &*ran.stdout), (1, ""));
    assert_eq!(ran.stderr.lines().find(|line| line.starts_with("error: ")), Some(&*format!("error: {text}")));
    let ran = panics(&["--json"]);
    let result = json!({"content": said(&text), "isError": true});
    assert_eq!((ran.code(), ran.json()), (1, json!({"result": result, "resolved": null})));
}

#[test]
fn what_a_failed_tool_staged_is_never_applied() {
    let result = json!({"content": said("half way"), "isError": true});
    let params = json!({"actions": [good("one")], "result": result});
    let call = |options: &[&str]| Home::new().call(&plugin(Fixture::Stage), "stage", &params, options);
    let stderr = "Discarded, since the session ended: one (test)\n";
    call(&["--apply", "why"]).is(1, "", &format!("error: half way\n{stderr}"));
    let mut result = staged(&["one"]);
    result["content"] = said("half way");
    result["isError"] = json!(true);
    let json = json!({"result": result, "resolved": null, "previewHash": "{hash}"});
    call(&["--apply", "why", "--json"]).is_json(1, &json, stderr);
}

#[test]
fn a_stale_apply_has_a_code_of_its_own() {
    let apply = json!([{"end": {"fail": {"message": "it moved", "code": "stale"}}}]);
    let actions = json!([{"label": "one", "source": "test", "apply": apply}]);
    let stderr =
        "error: Not applied: one (test)\n    Apply failed: it moved\nDiscarded, since the session ended: one (test)\n";
    let stdout = "staged\nPending: one (test)\nPreview hash: {hash}\n";
    Home::new().stage(&actions, &["--apply", "why"]).is(4, stdout, stderr);
    let one = failed("Apply failed: it moved", "apply", "one");
    let json = json!({"result": staged(&["one"]), "resolved": one, "previewHash": "{hash}"});
    let ran = Home::new().stage(&actions, &["--apply", "why", "--json"]);
    ran.is_json(4, &json, "Discarded, since the session ended: one (test)\n");
}

#[test]
fn a_preview_that_is_expected_is_applied() {
    let home = Home::new();
    let hash = home.stage(&two(), &["--json"]);
    let hash: Value = serde_json::from_str(&hash.stdout).unwrap();
    let hash = hash["previewHash"].as_str().unwrap();
    let applied = "Applied: two (test)\ntwo done: why\nApplied: one (test)\none done: why\n";
    for hash in [hash.to_owned(), hash.to_uppercase()] {
        home.stage(&two(), &["--apply", "why", "--expect", &hash]).is(0, &format!("{STAGED}{applied}"), "");
    }
}

#[test]
fn a_preview_that_differs_is_not_applied() {
    let message = "the preview has the hash {hash}, not {hash}; nothing was applied";
    let fix = "run the command without --apply to see the new preview, and give its hash if it is right";
    let stderr = format!("{ENDED}error: {message}\n  fix: {fix}\n");
    stage_two(&["--apply", "why", "--expect", HASH]).is(4, STAGED, &stderr);
    let json = json!({"error": {"code": "preview-differs", "message": message, "fix": fix}});
    stage_two(&["--apply", "why", "--expect", HASH, "--json"]).is_json(4, &json, ENDED);
}

#[test]
fn a_rename_of_real_files_is_applied_as_it_was_previewed() {
    let home = Home::new();
    home.file("IMG 1 (Zürich).JPG", "1");
    let params = json!({"files": ["IMG 1 (Zürich).JPG"], "find": "IMG", "replace": "trip"});
    let rename = |options: &[&str]| {
        let plugin = ARTIFACTS.path(Artifact::BatchRename);
        home.call(&plugin, "batch_rename_preview", &params, options)
    };
    let hash: Value = serde_json::from_str(&rename(&["--json"]).stdout).unwrap();
    assert_eq!(home.names(), ["IMG 1 (Zürich).JPG"]);
    let ran = rename(&["--apply", "looks right", "--expect", hash["previewHash"].as_str().unwrap()]);
    ran.is(
        0,
        "1 file to rename:\nIMG 1 (Zürich).JPG -> trip 1 (Zürich).JPG\nNothing is renamed yet.\nPending: Batch \
         rename: 1 file (batch_rename_preview)\nPreview hash: {hash}\nApplied: Batch rename: 1 file \
         (batch_rename_preview)\nRenamed 1 file. Reason: looks right\n",
        "",
    );
    assert_eq!(home.names(), ["trip 1 (Zürich).JPG"]);
}
