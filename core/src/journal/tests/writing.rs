use std::os::unix::fs::PermissionsExt;
use std::thread;

use super::*;
use crate::journal::{Fate, Timestamp};

#[test]
fn each_event_has_its_line() {
    let id = || "a".to_owned();
    let at: Timestamp = "2026-11-03T10:11:12.123Z".into();
    let events = [
        Event::Pushed {
            id: id(),
            label: "Rename 2 files".into(),
            source_tool_name: "batch_rename_preview".into(),
            preview_hash: "00ff".into(),
            details: Some(json!({"changes": []})),
        },
        Event::Claimed { id: id(), action: ResolveAction::Apply, reason: "fits".into(), attempt: 1 },
        Event::Released { id: id() },
        Event::Applying { id: id() },
        Event::Failed { id: id(), message: "no".into() },
        Event::Applied { id: id() },
        Event::Discarded { id: id(), reason: "not now".into(), cleanup_failure: None },
        Event::Discarded { id: id(), reason: "over".into(), cleanup_failure: Some("busy".into()) },
        Event::Expired { id: id() },
        Event::Removed { id: id() },
        Event::Unknown { id: id() },
    ];
    let mut file = line::encode(&Header { format: 1, session: "s-1".into(), started_at: at, pid: 4711 }).unwrap();
    for event in &events {
        let record = Record { at, event: event.clone() };
        let line = line::encode(&record).unwrap();
        assert_eq!(serde_json::from_slice::<Record>(&line[9..]).unwrap(), record);
        file.extend(line);
    }
    assert_eq!(String::from_utf8(file).unwrap(), include_str!("../testdata/every-event.jsonl"));
}

#[test]
fn nothing_is_there_before_the_first_record() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("state/journal");
    let journal = Journal::new(&directory, "s");
    assert!(!home.path().join("state").exists());
    journal.append(&pushed("a")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    assert_eq!(mode(&file_of(&journal)), 0o600);
}

#[test]
fn what_is_written_is_read_while_the_session_lives_and_after() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::new(directory.path(), "a/b");
    let clone = journal.clone();
    journal.append(&pushed("x")).unwrap();
    clone.append_durable(&claimed("x")).unwrap();
    journal.append_durable(&applying("x")).unwrap();
    drop(journal);

    let read = only(directory.path());
    assert!(read.live);
    assert_eq!(read.session, "a/b");
    assert_eq!(read.problems, []);
    let action = &read.actions[0];
    assert_eq!(action.fate, Fate::Applying);
    assert_eq!(action.label, "label of x");
    assert_eq!(action.source_tool_name, "tool");
    assert_eq!(action.details, Some(json!({"changes": ["x"]})));
    assert_eq!(action.reason.as_deref(), Some("fits"));

    clone.append_durable(&applied("x")).unwrap();
    drop(clone);
    let read = only(directory.path());
    assert!(!read.live);
    assert_eq!(read.actions[0].fate, Fate::Applied);
}

#[test]
fn what_a_journal_tells_is_data() {
    let (directory, path) = dead(&bytes(&[
        pushed("a"),
        Record { at: "2026-11-03T10:11:12.123Z".into(), event: Event::Failed { id: "a".into(), message: "no".into() } },
    ]));
    let mut value = serde_json::to_value(only(directory.path())).unwrap();
    value["actions"][0].as_object_mut().unwrap().remove("pushedAt");
    let action = json!({
        "id": "a", "label": "label of a", "sourceToolName": "tool", "previewHash": "hash",
        "details": {"changes": ["a"]}, "fate": "failed", "message": "no", "at": "2026-11-03T10:11:12.123Z",
    });
    let expected = json!({
        "session": "s", "startedAt": "2026-11-03T10:11:12.123Z", "path": path, "live": false,
        "actions": [action], "problems": [],
    });
    assert_eq!(value, expected);
}

#[test]
fn threads_write_whole_lines() {
    const EACH: usize = 200;
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::new(directory.path(), "s");
    thread::scope(|scope| {
        for thread in 0..8 {
            let journal = journal.clone();
            scope.spawn(move || {
                for n in 0..EACH {
                    journal.append(&pushed(&format!("{thread}-{n}"))).unwrap();
                }
            });
        }
    });
    let read = only(directory.path());
    assert_eq!(read.problems, []);
    assert_eq!(read.actions.len(), 8 * EACH);
    for thread in 0..8 {
        let prefix = format!("{thread}-");
        let of_thread: Vec<_> = ids(&read).into_iter().filter_map(|id| id.strip_prefix(&prefix)).collect();
        assert!(of_thread.iter().enumerate().all(|(n, id)| *id == n.to_string()));
    }
}

#[test]
fn a_panic_under_the_lock_does_not_end_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::new(directory.path(), "s");
    journal.append(&pushed("a")).unwrap();
    journal.poison();
    journal.append(&pushed("b")).unwrap();
    assert_eq!(ids(&only(directory.path())), ["a", "b"]);
}

#[test]
fn a_journal_that_cannot_be_begun_can_be_begun_later() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("taken");
    fs::write(&directory, "").unwrap();
    let journal = Journal::new(&directory, "s");
    journal.append(&pushed("a")).unwrap_err();
    fs::remove_file(&directory).unwrap();
    journal.append(&pushed("b")).unwrap();
    assert_eq!(ids(&only(&directory)), ["b"]);
}

#[test]
fn each_session_has_its_file_the_oldest_first() {
    let directory = tempfile::tempdir().unwrap();
    let journals: Vec<_> = (0..3).map(|n| Journal::new(directory.path(), &format!("s{n}"))).collect();
    for journal in journals.iter().rev() {
        journal.append(&pushed("a")).unwrap();
    }
    let read = read_all(directory.path()).unwrap();
    assert_eq!(read.len(), 3);
    assert!(read.is_sorted_by_key(|journal| journal.started_at));
}
