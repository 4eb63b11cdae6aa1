use proptest::prelude::*;

use super::*;
use crate::journal::recover;

/// Bytes that look more or less like a part of a journal.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"\n".to_vec()),
        Just(b"00000000 {}\n".to_vec()),
        Just(vec![0; 64]),
        (0..3u8, any::<prop::sample::Index>()).prop_map(|(id, cut)| {
            let line = line::encode(&applying(&id.to_string())).unwrap();
            line[..cut.index(line.len() + 1)].to_vec()
        }),
        ".{0,10}".prop_map(|text| line::encode(&json!({"event": text, "id": text, "at": text})).unwrap()),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn records(count: usize) -> Vec<Record> {
    (0..count).map(|n| pushed(&n.to_string())).collect()
}

fn check(content: &[u8], good: &[Record]) -> Result<(), TestCaseError> {
    let (directory, _) = dead(content);
    let before = only(directory.path());
    let expected: Vec<_> = good.iter().filter_map(|record| record.event.id()).collect();
    prop_assert!(ids(&before).starts_with(&expected));
    recover(directory.path()).unwrap();
    let after = only(directory.path());
    prop_assert_eq!(ids(&after), ids(&before));
    prop_assert_eq!(recover(directory.path()).unwrap(), vec![]);
    prop_assert_eq!(only(directory.path()), after);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn what_follows_good_lines_cannot_take_them_away(count in 0..5usize, soup in soup()) {
        let good = records(count);
        check(&[bytes(&good), soup].concat(), &good)?;
    }

    #[test]
    fn what_overwrites_a_line_cannot_take_those_before_it(
        count in 1..5usize,
        at in any::<prop::sample::Index>(),
        soup in soup(),
    ) {
        let good = records(count);
        let mut content = bytes(&good);
        let at = at.index(content.len());
        let end = content.len().min(at + soup.len());
        content[at..end].copy_from_slice(&soup[..end - at]);
        let lines_before = content[..at].iter().filter(|byte| **byte == b'\n').count();
        check(&content, &good[..lines_before.saturating_sub(1)])?;
    }

    #[test]
    fn a_file_of_anything_is_survived(soup in soup()) {
        check(&soup, &[])?;
    }
}
