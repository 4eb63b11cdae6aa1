use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use super::*;

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn only(changes: Changes) -> FileChange {
    let [change] = changes.as_slice() else { panic!("not one change: {changes:?}") };
    change.clone()
}

#[test]
fn each_kind_has_its_fields() {
    let changes = Changes::new()
        .modify("/m", "a\n", "b\n")
        .create("/c", "")
        .delete("/d", "x")
        .rename("/from", "/to")
        .mode("/e", 0o644, 0o755);
    assert_eq!(
        changes.into_details(),
        json!({"changes": [
            {
                "path": "/m", "kind": "modify", "oldText": "a\n", "newText": "b\n",
                "oldHash": sha256(b"a\n"), "newHash": sha256(b"b\n"),
                "diff": "--- /m\n+++ /m\n@@ -1 +1 @@\n-a\n+b\n",
            },
            {"path": "/c", "kind": "create", "newHash": EMPTY, "newText": ""},
            {
                "path": "/d", "kind": "delete", "oldHash": sha256(b"x"), "oldText": "x",
                "diff": "--- /d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n",
            },
            {"path": "/to", "kind": "rename", "oldPath": "/from"},
            {"path": "/e", "kind": "mode", "oldMode": 0o644, "newMode": 0o755},
        ]})
    );
}

#[test]
fn content_that_is_no_text_has_hashes_alone() {
    for (old, new) in [(&b"\xff"[..], &b"a"[..]), (b"a", b"\0")] {
        let change = only(Changes::new().modify("/a", old, new));
        assert!(change.binary && !change.truncated);
        assert_eq!((&change.diff, &change.old_text, &change.new_text), (&None, &None, &None));
        assert_eq!((change.old_hash, change.new_hash), (Some(sha256(old)), Some(sha256(new))));
    }
}

#[test]
fn a_long_text_is_left_out_and_its_diff_kept() {
    let old = "line\n".repeat(TEXT_BYTES / 5 + 1);
    let change = only(Changes::new().modify("/a", &old, format!("{old}more\n")));
    assert!(!change.truncated && change.diff.is_some());
    assert_eq!((change.old_text, change.new_text), (None, None));
}

#[test]
fn a_long_diff_is_cut() {
    let change = only(Changes::new().create("/a", "line\n".repeat(DIFF_BYTES / 5)));
    let diff = change.diff.unwrap();
    assert!(change.truncated && diff.ends_with("\n+line\n"));
    assert!((DIFF_BYTES - 10..=DIFF_BYTES).contains(&diff.len()));
}

#[test]
fn many_changes_have_room_for_diffs_together() {
    let text = "line\n".repeat(TEXT_BYTES / 5);
    let changes = (0..400).fold(Changes::new(), |changes, n| changes.create(format!("/{n}"), &text));
    let kept =
        |change: &FileChange| [&change.diff, &change.new_text].into_iter().flatten().map(String::len).sum::<usize>();
    let total: usize = changes.as_slice().iter().map(kept).sum();
    assert!(total <= ALL_BYTES && total > ALL_BYTES - TEXT_BYTES);
    let last = &changes.as_slice()[399];
    assert!(last.truncated && last.new_hash == Some(sha256(text.as_bytes())));
    assert_eq!(changes.dependencies().len(), 400);
}

#[test]
fn old_contents_and_free_names_are_depended_on() {
    let changes =
        Changes::new().modify("/m", "a", "b").create("/c", "").delete("/d", "").rename("/r", "/s").mode("/e", 0, 1);
    let expected = [
        Dependency::content("/m", sha256(b"a")),
        Dependency::absent("/c"),
        Dependency::content("/d", EMPTY),
        Dependency::absent("/s"),
    ];
    assert_eq!(changes.dependencies(), expected);
}

#[test]
fn a_name_that_becomes_free_is_not_depended_on() {
    let swap = Changes::new().rename("/a", "/b").rename("/b", "/a");
    assert_eq!(swap.dependencies(), []);
    let replaced = Changes::new().delete("/b", "").rename("/a", "/b");
    assert_eq!(replaced.dependencies(), [Dependency::content("/b", EMPTY)]);
}

#[test]
fn a_file_that_moves_and_changes_is_depended_on_where_it_is() {
    let changes = Changes::new().rename("/a", "/b").modify("/b", "old", "new");
    assert_eq!(changes.dependencies(), [Dependency::absent("/b"), Dependency::content("/a", sha256(b"old"))]);
}

#[test]
fn a_file_is_depended_on_as_it_is_now() {
    let tmp = tempfile::tempdir().unwrap();
    let path = |name: &str| tmp.path().join(name);
    fs::write(path("file"), "content").unwrap();
    symlink("file", path("link")).unwrap();
    let hash = sha256(b"content");
    assert_eq!(file_dependency(path("file")).unwrap(), Dependency::content(path("file"), &hash));
    assert_eq!(file_dependency(path("link")).unwrap(), Dependency::content(path("link"), &hash));
    for missing in ["missing", "missing/below"] {
        assert_eq!(file_dependency(path(missing)).unwrap(), Dependency::absent(path(missing)));
    }
}

#[test]
fn what_is_neither_file_nor_absent_cannot_be_depended_on() {
    let tmp = tempfile::tempdir().unwrap();
    let path = |name: &str| tmp.path().join(name);
    symlink("nowhere", path("dangling")).unwrap();
    let _socket = UnixListener::bind(path("socket")).unwrap();
    let refused = |path: PathBuf| file_dependency(path).unwrap_err().to_string();
    assert_eq!(refused("a".into()), "cannot depend on \"a\": the path is not absolute");
    assert_eq!(refused(path("socket")), format!("cannot depend on {:?}: it is not a file", path("socket")));
    assert_eq!(refused(tmp.path().into()), format!("cannot depend on {:?}: it is not a file", tmp.path()));
    assert!(refused(path("dangling")).contains("No such file"));
}
