use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};
use toolhost_core::{PendingAction, PendingActionStore};

use super::*;

fn pending(label: &str, details: Option<Value>) -> Arc<Pending> {
    let action = PendingAction::new(label, |_| async { Ok("".into()) });
    let action = details.into_iter().fold(action, PendingAction::details);
    PendingActionStore::new().push(action).unwrap()
}

/// What stands for these changes, with colours.
fn coloured(changes: Value) -> String {
    view(&pending("x", Some(json!({ "changes": changes }))), Path::new("/site"))
}

/// What a reader without colours gets.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn viewed(changes: Value) -> String {
    plain(&coloured(changes))
}

#[test]
fn each_kind_has_its_heading() {
    let changes = json!([
        {"path": "/site/new", "kind": "create", "newMode": 0o755},
        {"path": "/site/a/b", "kind": "modify", "oldMode": 0o644, "newMode": 0o600},
        {"path": "/site/old", "kind": "delete"},
        {"path": "/site/b", "oldPath": "/elsewhere/a", "kind": "rename"},
        {"path": "/site/run.sh", "oldMode": 0o644, "newMode": 0o4755, "kind": "mode"},
        {"path": "/sites/c", "oldPath": "/site/b", "kind": "link"},
        {"path": "/site/pic", "kind": "modify", "binary": true},
        {"path": "/site/big", "kind": "modify", "truncated": true},
        {"path": "/site/same", "kind": "modify", "oldHash": "ab", "newHash": "ab", "diff": ""},
        {"kind": "delete"},
    ]);
    assert_eq!(
        viewed(changes),
        "create new (mode 755)\n\
         modify a/b (mode 644 -> 600)\n\
         delete old\n\
         rename /elsewhere/a -> b\n\
         mode 644 -> 4755 run.sh\n\
         change b -> /sites/c\n\
         modify pic (binary)\n\
         modify big (too large for a diff)\n\
         modify same (no difference)\n\
         delete (a path that cannot be read)"
    );
}

#[test]
fn a_diff_is_coloured_below_its_heading() {
    let diff = "--- /site/a\n+++ /site/a\n@@ -1,3 +1,3 @@\n same\n--- old\n+++ new\n\n\\ No newline at end of file\n";
    let (bold, red, green, cyan, reset) = ("\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m", "\u{1b}[0m");
    assert_eq!(
        coloured(json!([{"path": "/site/a", "kind": "modify", "diff": diff}])),
        format!(
            "{bold}modify a{reset}\n{cyan}@@ -1,3 +1,3 @@{reset}\n same\n{red}--- old{reset}\n{green}+++ new{reset}\n\n\
             \\ No newline at end of file"
        )
    );
}

#[test]
fn nothing_in_a_diff_can_steer_the_terminal_or_look_like_a_heading() {
    let diff = "+\u{1b}[2J\ta\r\n+\u{9b}1m\u{202e}x\0\ndelete b\n@x";
    assert_eq!(
        viewed(json!([{"path": "/site/a", "kind": "modify", "diff": diff}])),
        "modify a\n+\\u{1b}[2J\ta\\r\n+\\u{9b}1m\\u{202e}x\\u{0}\n delete b\n @x"
    );
}

#[test]
fn paths_that_could_mislead_are_quoted() {
    let shown = |path: &str| show(Path::new(path));
    for path in ["a b", "日本", "a\\n", "don't (1)"] {
        assert_eq!(shown(path), path);
    }
    assert_eq!(shown("a\nrename b"), r#""a\nrename b""#);
    assert_eq!(shown("\u{1b}[2Ja"), r#""\u{1b}[2Ja""#);
    assert_eq!(shown("a\u{202e}gpj"), r#""a\u{202e}gpj""#);
    assert_eq!(shown("a -> b"), r#""a -> b""#);
    assert_eq!(shown(" a"), r#"" a""#);
    assert_eq!(shown("say \"a\""), r#""say \"a\"""#);
    assert_eq!(show(Path::new(OsStr::from_bytes(b"a\xff"))), r#""a\xFF""#);
}

fn created(name: &str, lines: usize) -> Value {
    json!({"path": format!("/site/{name}"), "kind": "create", "diff": "+x\n".repeat(lines)})
}

#[test]
fn a_long_diff_is_bounded() {
    let whole = viewed(json!([created("a", 200)]));
    assert_eq!(whole, format!("create a\n{}", vec!["+x"; 200].join("\n")));
    let cut = viewed(json!([created("a", 201)]));
    assert_eq!(cut, format!("{whole}\n[not shown: 1 more line of this diff]"));
    let mut change = created("a", 1);
    change["truncated"] = json!(true);
    assert_eq!(viewed(json!([change])), "create a\n+x\n[the diff was cut here by the tool]");
}

#[test]
fn many_changes_are_bounded_together() {
    let renames: Vec<_> = (0..1002).map(|n| json!({"path": format!("/site/{n}"), "kind": "delete"})).collect();
    let text = viewed(json!(renames));
    assert_eq!(text.lines().count(), ALL_LINES + 1);
    assert!(text.ends_with("delete 999\n[not shown: 2 more changes with 0 lines of diffs]"));
    let files: Vec<_> = (0..6).map(|n| created(&n.to_string(), 300)).collect();
    let text = viewed(json!(files));
    assert!(
        text.ends_with("[not shown: 100 more lines of this diff]\n[not shown: 2 more changes with 600 lines of diffs]")
    );
    assert_eq!(text.lines().count(), 4 * 202 + 1);
}

#[test]
fn a_long_line_is_bounded() {
    let diff = format!("+{}", "é".repeat(LINE_CHARS + 1));
    let shown = viewed(json!([{"path": "/site/a", "kind": "create", "diff": diff}]));
    assert_eq!(shown, format!("create a\n+{} [not shown: 2 more characters]", "é".repeat(LINE_CHARS - 1)));
}

#[test]
fn other_details_are_shown_as_they_are() {
    let viewed = |details| view(&pending("x", details), Path::new("/"));
    assert_eq!(viewed(Some(json!({"n": "\u{9b}"}))), "{\n  \"n\": \"\\u{9b}\"\n}");
    assert_eq!(viewed(Some(json!({"changes": 1}))), "{\n  \"changes\": 1\n}");
    assert_eq!(viewed(Some(json!({"changes": []}))), "It changes no file.");
    assert_eq!(viewed(None), "It says nothing more about itself.");
}

#[test]
fn a_preview_has_the_changes_of_actions_that_do_more_than_rename() {
    let rename = json!({"path": "/site/b", "oldPath": "/site/a", "kind": "rename"});
    let renames = pending("renames", Some(json!({"changes": [rename]})));
    let edit = pending("edit\n", Some(json!({"changes": [rename, created("c", 1)]})));
    let silent = pending("silent", None);
    let shown = |staged: &[Arc<Pending>]| preview(staged, Path::new("/site")).map(|text| plain(&text));
    assert_eq!(shown(&[renames.clone(), silent.clone()]), None);
    assert_eq!(shown(std::slice::from_ref(&edit)).unwrap(), "rename a -> b\ncreate c\n+x");
    let several = shown(&[edit.clone(), renames, silent, edit]).unwrap();
    let each = "edit\\n (custom_tool):\nrename a -> b\ncreate c\n+x";
    assert_eq!(several, format!("{each}\n{each}"));
}

#[test]
fn many_actions_are_bounded_together() {
    let staged = vec![pending("x", Some(json!({"changes": [created("c", 1)]}))); 400];
    let text = preview(&staged, Path::new("/site")).unwrap();
    assert_eq!(text.lines().count(), ALL_LINES + 2);
    assert!(text.ends_with("\n[not shown: 66 more actions]"));
}
