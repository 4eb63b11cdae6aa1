use std::fmt::{self, Write};
use std::path::Path;

use similar::udiff::UnifiedHunkHeader;
use similar::{Algorithm, Change, DiffOp, capture_diff, group_diff_ops};

const CONTEXT: usize = 3;
/// How many lines, old and new together, are compared. Even where lines of few kinds stand in random order, this takes
/// about a tenth of a second.
const COMPARED_LINES: usize = 20_000;

/// The files that a diff names; `None` where there is none.
pub(super) struct Headers<'a> {
    pub(super) old: Option<&'a Path>,
    pub(super) new: Option<&'a Path>,
}

/// A diff of at most as many bytes as there was room for.
pub(super) struct Diff {
    /// Whole lines; empty where the texts are equal, or where there was room for nothing.
    pub(super) text: String,
    /// Whether lines are missing at the end.
    pub(super) cut: bool,
}

/// The unified diff of two texts.
pub(super) fn unified(headers: Headers<'_>, old: &str, new: &str, room: usize) -> Diff {
    let mut diff = Diff { text: String::new(), cut: false };
    if old != new {
        // Only lack of room is an error here, and `cut` says it.
        diff.cut = write(&mut Bounded { text: &mut diff.text, room }, headers, old, new).is_err();
    }
    diff
}

fn write(out: &mut Bounded<'_>, headers: Headers<'_>, old: &str, new: &str) -> fmt::Result {
    // Only a line feed ends a line: a lone carriage return would end none in what is shown.
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    out.write_str(&format!("--- {}\n+++ {}\n", name(headers.old), name(headers.new)))?;
    for hunk in group_diff_ops(operations(&old, &new), CONTEXT) {
        out.write_str(&format!("{}\n", UnifiedHunkHeader::new(&hunk)))?;
        for change in hunk.iter().flat_map(|op| op.iter_changes(old.as_slice(), new.as_slice())) {
            out.write_str(&line(&change))?;
        }
    }
    Ok(())
}

fn line(change: &Change<&str>) -> String {
    let (tag, text) = (change.tag(), change.value());
    if text.ends_with('\n') { format!("{tag}{text}") } else { format!("{tag}{text}\n\\ No newline at end of file\n") }
}

/// A path that no header can be mistaken over.
fn name(path: Option<&Path>) -> String {
    match path {
        None => "/dev/null".to_owned(),
        Some(path) => match path.to_str() {
            Some(plain) if !plain.contains(|c: char| c.is_control() || c == '"') => plain.to_owned(),
            _ => format!("{path:?}"),
        },
    }
}

/// How `old` becomes `new`.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
    let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_len, new_len) = (old_rest.len() - suffix, new_rest.len() - suffix);
    if old_len + new_len <= COMPARED_LINES {
        return capture_diff(Algorithm::Myers, old, 0..old.len(), new, 0..new.len());
    }
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let replaced = DiffOp::Replace { old_index: prefix, old_len, new_index: prefix, new_len };
    let around = [equal(0, 0, prefix), replaced, equal(prefix + old_len, prefix + new_len, suffix)];
    around.into_iter().filter(|op| !op.old_range().is_empty() || !op.new_range().is_empty()).collect()
}

/// Takes whole pieces as long as there is room.
struct Bounded<'a> {
    text: &'a mut String,
    room: usize,
}

impl Write for Bounded<'_> {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > self.room {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str, room: usize) -> Diff {
        let path = Some(Path::new("/a"));
        unified(Headers { old: path, new: path }, old, new, room)
    }

    fn numbered(prefix: &str, lines: usize) -> String {
        (0..lines).map(|n| format!("{prefix}{n}\n")).collect()
    }

    #[test]
    fn changes_stand_in_three_lines_of_context() {
        let old = numbered("", 20);
        let new = old.replace("4\n5\n", "4\nfive\n").replace("19\n", "19\nlast");
        assert_eq!(
            diff(&old, &new, 1000).text,
            "--- /a\n+++ /a\n@@ -3,7 +3,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n\
             @@ -18,3 +18,4 @@\n 17\n 18\n 19\n+last\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn only_line_feeds_end_lines() {
        assert_eq!(diff("a\rb\r\n", "a\rb\n", 1000).text, "--- /a\n+++ /a\n@@ -1 +1 @@\n-a\rb\r\n+a\rb\n");
    }

    #[test]
    fn equal_texts_have_no_diff() {
        let same = diff("a\n", "a\n", 0);
        assert!(same.text.is_empty() && !same.cut);
    }

    #[test]
    fn a_diff_is_cut_between_lines() {
        let whole = diff("a\n", "b\n", 1000).text;
        for room in 0..whole.len() {
            let cut = diff("a\n", "b\n", room);
            assert!(cut.cut && cut.text.len() <= room && whole.starts_with(&cut.text));
            assert!(cut.text.is_empty() || cut.text.ends_with('\n'));
        }
        assert!(!diff("a\n", "b\n", whole.len()).cut);
    }

    #[test]
    fn too_many_lines_are_replaced_without_comparing_them() {
        let middle = COMPARED_LINES / 2 + 1;
        let old = format!("same\n{}same\n", numbered("a", middle));
        let new = format!("same\n{}b\nsame\n", numbered("a", middle).replacen("a0\n", "b0\n", 1));
        let long = diff(&old, &new, usize::MAX).text;
        assert!(long.starts_with("--- /a\n+++ /a\n@@ -1,10003 +1,10004 @@\n same\n-a0\n-a1\n"));
        assert!(long.ends_with("\n+b\n same\n"));
        assert_eq!(long.lines().count(), 2 + 1 + 2 + middle + middle + 1);
    }

    #[test]
    fn names_cannot_end_a_header() {
        let path = Some(Path::new("/a\n+b"));
        let text = unified(Headers { old: None, new: path }, "", "x\n", 1000).text;
        assert_eq!(text, "--- /dev/null\n+++ \"/a\\n+b\"\n@@ -0,0 +1 @@\n+x\n");
    }
}
