use super::*;
use crate::journal::scan::Scan;
use crate::journal::{Fate, Problem};

#[test]
fn format_1_is_read() {
    let (directory, _) = dead(include_bytes!("../testdata/format-1.jsonl"));
    let read = only(directory.path());
    assert_eq!(read.session, "s-1");
    assert_eq!(read.started_at, Some("2026-11-03T10:11:12.123Z".into()));
    assert_eq!(read.problems, []);
    let discarded = |cleanup_failure| Fate::Discarded { cleanup_failure };
    let fates: Vec<_> =
        read.actions.iter().map(|action| (action.id.as_str(), &action.fate, action.reason.as_deref())).collect();
    let expected = [
        ("pending", &Fate::Pending, None),
        ("claimed", &Fate::Claimed { action: ResolveAction::Discard }, Some("no")),
        ("released", &Fate::Pending, None),
        ("applying", &Fate::Applying, Some("yes")),
        ("applied", &Fate::Applied, Some("yes")),
        ("failed", &Fate::Failed { message: "busy".into() }, Some("yes")),
        ("discarded", &discarded(None), Some("the session ended")),
        ("uncleaned", &discarded(Some("stuck".into())), Some("no")),
        ("expired", &Fate::Expired, None),
        ("removed", &Fate::Removed, None),
        ("unknown", &Fate::Unknown, Some("yes")),
    ];
    assert_eq!(fates, expected);
}

#[test]
fn a_torn_last_line_costs_that_line_alone() {
    let (whole, all) = (bytes(&[pushed("a")]), bytes(&[pushed("a"), pushed("b")]));
    for length in whole.len()..=all.len() {
        let (directory, _) = dead(&all[..length]);
        let read = only(directory.path());
        // But for its line feed the last line is whole.
        let is_torn = length > whole.len() && length < all.len() - 1;
        assert_eq!(read.problems, if is_torn { vec![Problem::Torn { line: 3 }] } else { vec![] }, "{length}");
        assert_eq!(ids(&read).len(), if length >= all.len() - 1 { 2 } else { 1 }, "{length}");
    }
}

#[test]
fn a_torn_first_line_leaves_nothing() {
    let header = bytes(&[]);
    for length in 1..header.len() - 1 {
        let (directory, _) = dead(&header[..length]);
        let read = only(directory.path());
        assert_eq!((read.session.as_str(), read.problems), ("", vec![Problem::Torn { line: 1 }]));
    }
}

#[test]
fn a_flipped_byte_costs_its_line_alone() {
    let records = [pushed("a"), pushed("b"), pushed("c")];
    let (before, after) = (bytes(&records[..1]).len(), bytes(&records[..2]).len());
    let content = bytes(&records);
    for at in before..after - 1 {
        let mut damaged = content.clone();
        // No byte of a line becomes a line feed.
        damaged[at] ^= 0x80;
        let (directory, _) = dead(&damaged);
        let read = only(directory.path());
        assert_eq!(ids(&read), ["a", "c"]);
        assert!(matches!(&read.problems[..], [Problem::BadLine { line: 3, .. }]), "{:?}", read.problems);
    }
}

#[test]
fn a_problem_says_where_and_why() {
    let mut content = bytes(&[pushed("a")]);
    content.extend(line::encode(&json!({"at": "2026-11-03T10:11:12.123Z", "event": "applied"})).unwrap());
    content.extend(b"00000000 {}\nnonsense\n\n123");
    let (directory, _) = dead(&content);
    let texts: Vec<_> = only(directory.path()).problems.iter().map(ToString::to_string).collect();
    let expected = [
        "line 3: it says something else than expected: missing field `id`",
        "line 4: its checksum does not match",
        "line 5: it is not a checksum, a space and JSON",
        "line 6: it is not a checksum, a space and JSON",
        "line 7: it was not written to its end",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn unknown_events_and_fields_are_passed_over() {
    let mut content = bytes(&[pushed("a")]);
    let at = "2026-11-03T10:11:12.123Z";
    content.extend(line::encode(&json!({"at": at, "event": "polished", "id": "a", "shine": 3})).unwrap());
    content.extend(line::encode(&json!({"at": at, "event": "removed", "id": "a", "by": {"x": 1.5}})).unwrap());
    let (directory, _) = dead(&content);
    let read = only(directory.path());
    assert_eq!(read.problems, []);
    assert_eq!(read.actions[0].fate, Fate::Removed);
}

#[test]
fn an_action_whose_push_is_lost_is_still_told() {
    let content = bytes(&[claimed("a"), applying("a"), pushed("b"), applied("b"), pushed("a")]);
    let (directory, _) = dead(&content);
    let read = only(directory.path());
    assert_eq!(ids(&read), ["a", "b"]);
    assert_eq!((&read.actions[0].fate, read.actions[0].label.as_str()), (&Fate::Applying, "label of a"));
}

#[test]
fn a_newer_format_is_reported_and_not_read() {
    let mut content = line::encode(&json!({"format": 2, "session": "s"})).unwrap();
    content.extend(bytes(&[pushed("a")]));
    let (directory, _) = dead(&content);
    let read = only(directory.path());
    assert_eq!(read.problems, [Problem::NewerFormat { format: 2 }]);
    assert_eq!(read.problems[0].to_string(), "the file has format 2; this version reads formats up to 1");
    assert_eq!(read.actions, []);
}

#[test]
fn a_damaged_header_hides_no_action() {
    let mut content = bytes(&[pushed("a")]);
    content[20] ^= 1;
    let (directory, _) = dead(&content);
    let read = only(directory.path());
    assert_eq!((read.session.as_str(), read.started_at, ids(&read)), ("", None, vec!["a"]));
    assert!(matches!(&read.problems[..], [Problem::BadLine { line: 1, .. }]));
}

#[test]
fn empty_and_header_only_files_are_sessions_without_actions() {
    let (directory, _) = dead(b"");
    let read = only(directory.path());
    assert_eq!((read.problems, read.actions), (vec![Problem::Empty], vec![]));
    let (directory, _) = dead(&bytes(&[]));
    let read = only(directory.path());
    assert_eq!((read.session.as_str(), read.problems, read.actions), ("s", vec![], vec![]));
}

#[test]
fn a_directory_that_is_not_there_is_empty_and_foreign_files_are_none() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(read_all(directory.path().join("none")).unwrap(), []);
    fs::write(directory.path().join("notes.txt"), "hello").unwrap();
    fs::write(directory.path().join("jsonl"), "hello").unwrap();
    assert_eq!(read_all(directory.path()).unwrap(), []);
    read_all(directory.path().join("notes.txt")).unwrap_err();
}

#[test]
fn a_file_that_cannot_be_read_is_reported_beside_the_others() {
    let (directory, _) = dead(&bytes(&[pushed("a")]));
    fs::create_dir(directory.path().join("b.jsonl")).unwrap();
    let read = read_all(directory.path()).unwrap();
    assert_eq!(read[1].problems, []);
    assert_eq!(read[0].problems, [Problem::Unreadable { why: "it is not a regular file".into() }]);
}

#[test]
fn what_was_read_before_the_disk_failed_stands() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("broken"))
        }
    }
    let content = bytes(&[pushed("a")]);
    let mut scan = Scan::default();
    scan.read(std::io::Read::chain(&content[..], Broken)).unwrap_err();
    assert_eq!(scan.ledger.into_actions().len(), 1);
}
