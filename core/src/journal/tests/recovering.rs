use std::sync::Barrier;
use std::thread;

use super::*;
use crate::journal::{Fate, Problem, recover};

#[test]
fn what_was_being_applied_is_reported_once() {
    let begun = applying("b");
    let (directory, _) =
        dead(&bytes(&[pushed("a"), pushed("b"), claimed("a"), claimed("b"), begun.clone(), pushed("c")]));
    let found = recover(directory.path()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].session.as_str(), found[0].id.as_str()), ("s", "b"));
    assert_eq!((found[0].label.as_str(), found[0].source_tool_name.as_str()), ("label of b", "tool"));
    assert_eq!(found[0].details, Some(json!({"changes": ["b"]})));
    assert_eq!((found[0].reason.as_deref(), found[0].began_at), (Some("fits"), begun.at));

    let fates: Vec<_> = only(directory.path()).actions.into_iter().map(|action| action.fate).collect();
    assert_eq!(fates, [Fate::Claimed { action: ResolveAction::Apply }, Fate::Unknown, Fate::Pending]);
    assert_eq!(recover(directory.path()).unwrap(), []);
}

#[test]
fn every_way_in_which_an_apply_ends_is_an_outcome() {
    let failed = Record::now(Event::Failed { id: "b".into(), message: "no".into() });
    let unknown = Record::now(Event::Unknown { id: "c".into() });
    let content = bytes(&[applying("a"), applied("a"), applying("b"), failed, applying("c"), unknown]);
    let (directory, path) = dead(&content);
    assert_eq!(recover(directory.path()).unwrap(), []);
    assert_eq!(fs::read(path).unwrap(), content);
}

#[test]
fn a_torn_last_line_is_cut_off() {
    let whole = bytes(&[pushed("a"), applying("a")]);
    let all = bytes(&[pushed("a"), applying("a"), applied("a")]);
    // The header's time is fixed, the records' are not.
    let all = [&whole[..], &all[all.len() - line::encode(&applied("a")).unwrap().len()..]].concat();
    for length in whole.len()..=all.len() {
        let (directory, path) = dead(&all[..length]);
        let found = recover(directory.path()).unwrap();
        let was_written = length >= all.len() - 1;
        assert_eq!(found.len(), usize::from(!was_written), "{length}");
        let kept = if was_written { &all } else { &whole };
        let content = fs::read(path).unwrap();
        assert!(content.starts_with(kept), "{length}");
        assert_eq!(content.len() > kept.len(), !was_written, "{length}");
        assert_eq!(only(directory.path()).problems, [], "{length}");
        assert_eq!(recover(directory.path()).unwrap(), [], "{length}");
    }
}

#[test]
fn a_torn_line_is_cut_off_where_nothing_was_interrupted_too() {
    let whole = bytes(&[pushed("a")]);
    let (directory, path) = dead(&[&whole[..], b"0123"].concat());
    assert_eq!(only(directory.path()).problems, [Problem::Torn { line: 3 }]);
    assert_eq!(recover(directory.path()).unwrap(), []);
    assert_eq!(fs::read(path).unwrap(), whole);
}

#[test]
fn a_live_session_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::new(directory.path(), "s");
    journal.append_durable(&applying("a")).unwrap();
    let path = file_of(&journal);
    let content = fs::read(&path).unwrap();
    assert_eq!(recover(directory.path()).unwrap(), []);
    assert_eq!(fs::read(&path).unwrap(), content);
    drop(journal);
    assert_eq!(recover(directory.path()).unwrap().len(), 1);
}

#[test]
fn recoveries_at_the_same_time_report_an_action_once_between_them() {
    const AT_ONCE: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    for n in 0..20 {
        let path = directory.path().join(format!("{n:02}.jsonl"));
        fs::write(path, bytes(&[pushed("a"), applying("a")])).unwrap();
    }
    let start = Barrier::new(AT_ONCE);
    let found = thread::scope(|scope| {
        let recoveries: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    recover(directory.path()).unwrap().len()
                })
            })
            .collect();
        recoveries.into_iter().map(|recovery| recovery.join().unwrap()).sum::<usize>()
    });
    assert_eq!(found, 20);
}

#[test]
fn a_newer_format_is_left_alone() {
    let mut content = line::encode(&json!({"format": 2})).unwrap();
    content.extend(line::encode(&applying("a")).unwrap());
    content.extend(b"torn");
    let (directory, path) = dead(&content);
    assert_eq!(recover(directory.path()).unwrap(), []);
    assert_eq!(fs::read(path).unwrap(), content);
}

#[test]
fn a_file_that_is_nothing_this_version_knows_is_left_alone() {
    for content in [&b""[..], b"torn", b"something else\nentirely"] {
        let (directory, path) = dead(content);
        assert_eq!(recover(directory.path()).unwrap(), []);
        assert_eq!(fs::read(path).unwrap(), content);
    }
}

#[test]
fn a_damaged_header_hides_no_interrupted_action() {
    let mut content = bytes(&[pushed("a"), applying("a")]);
    content[20] ^= 1;
    let (directory, _) = dead(&content);
    let found = recover(directory.path()).unwrap();
    assert_eq!((found[0].session.as_str(), found[0].label.as_str()), ("", "label of a"));
    assert_eq!(recover(directory.path()).unwrap(), []);
}

#[test]
fn a_file_that_cannot_be_read_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("a.jsonl")).unwrap();
    fs::write(directory.path().join("b.jsonl"), bytes(&[applying("a")])).unwrap();
    assert_eq!(recover(directory.path()).unwrap().len(), 1);
    assert_eq!(recover(directory.path().join("none")).unwrap(), []);
}
