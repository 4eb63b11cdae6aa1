//! git's answer, counted.

use std::cmp::Reverse;
use std::collections::HashMap;

use toolhost_plugin_sdk::prelude::*;

use crate::text::quoted;

/// What was counted so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    commits: usize,
    /// By name and address.
    authors: HashMap<(String, String), usize>,
    /// By name, byte for byte: not every one is UTF-8.
    files: HashMap<Vec<u8>, usize>,
}

/// What is known of the commits of a period.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    pub(crate) commits: usize,
    /// How many different authors there are.
    pub(crate) author_count: usize,
    /// How many different files were changed.
    pub(crate) file_count: usize,
    /// The authors with most commits, those first.
    pub(crate) authors: Vec<Author>,
    /// The files that most commits changed, those first.
    pub(crate) files: Vec<File>,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) commits: usize,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct File {
    /// Relative to the directory. A name that is not UTF-8 or has control characters is quoted as git quotes it:
    /// `"caf\351.txt"`.
    pub(crate) path: String,
    pub(crate) commits: usize,
}

impl Tally {
    /// How git is to tell of a commit. With `-z` everything ends with a NUL. What begins with a slash is an author, which
    /// no file's name does; the first file's name stands after a line feed.
    pub(crate) const FORMAT: &str = "--format=/%aN%x00%aE";

    pub(crate) fn commits(&self) -> usize {
        self.commits
    }

    /// Counts an output of git. The end of one that was cut is left out.
    pub(crate) fn read(&mut self, output: &[u8], cut: bool) -> Result<(), ToolError> {
        let mut fields: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
        // What follows the last NUL: nothing, or half a name.
        let rest = fields.pop().unwrap_or_default();
        if !cut && !rest.is_empty() {
            return Err(format!("git's answer ends in {:?}, which this plugin cannot read", lossy(rest)).into());
        }
        let mut fields = fields.into_iter().peekable();
        while let Some(field) = fields.next() {
            let (Some(name), Some(email)) = (field.strip_prefix(b"/"), fields.next()) else {
                return Err(format!("git's answer has {:?}, which this plugin cannot read", lossy(field)).into());
            };
            self.commits += 1;
            *self.authors.entry((lossy(name), lossy(email))).or_default() += 1;
            let mut first = true;
            while let Some(file) = fields.next_if(|field| !field.starts_with(b"/")) {
                let file = if std::mem::take(&mut first) { file.strip_prefix(b"\n").unwrap_or(file) } else { file };
                *self.files.entry(file.to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    /// Everything in numbers, and the first `top` authors and files.
    pub(crate) fn stats(self, top: usize) -> Stats {
        let (author_count, file_count) = (self.authors.len(), self.files.len());
        let authors = ranked(self.authors, top).map(|((name, email), commits)| Author { name, email, commits });
        let files = ranked(self.files, top).map(|(path, commits)| File { path: quoted(&path), commits });
        Stats { commits: self.commits, author_count, file_count, authors: authors.collect(), files: files.collect() }
    }
}

/// Those with the largest counts, and among equals by name.
fn ranked<K: Ord>(counts: HashMap<K, usize>, top: usize) -> impl Iterator<Item = (K, usize)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by(|(a, m), (b, n)| (Reverse(m), a).cmp(&(Reverse(n), b)));
    counts.into_iter().take(top)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(outputs: &[&[u8]]) -> Stats {
        let mut tally = Tally::default();
        outputs.iter().for_each(|output| tally.read(output, false).unwrap());
        tally.stats(2)
    }

    fn author(name: &str, commits: usize) -> Author {
        Author { name: name.to_owned(), email: format!("{name}@x"), commits }
    }

    fn file(path: &str, commits: usize) -> File {
        File { path: path.to_owned(), commits }
    }

    #[test]
    fn commits_are_counted_by_author_and_file() {
        let stats = tally(&[b"/c\0c@x\0\na\0d/b\0/b\0b@x\0\nd/b\0", b"/b\0b@x\0/a\0a@x\0\nz\0"]);
        let authors = vec![author("b", 2), author("a", 1)];
        let files = vec![file("d/b", 2), file("a", 1)];
        assert_eq!(stats, Stats { commits: 4, author_count: 3, file_count: 3, authors, files });
    }

    #[test]
    fn a_name_may_have_any_byte_but_nul() {
        let stats = tally(&[b"/\xff\0\0\n\nb\xe9\0/\0\0\n\nb\xe9\0"]);
        assert_eq!((stats.files, stats.commits), (vec![file(r#""\nb\351""#, 2)], 2));
        assert_eq!(stats.authors[1].name, "\u{fffd}");
    }

    #[test]
    fn what_was_cut_is_counted_but_for_its_end() {
        let mut tally = Tally::default();
        tally.read(b"/a\0a@x\0\nfile\0hal", true).unwrap();
        assert_eq!(tally.stats(9).files, [file("file", 1)]);
    }

    #[test]
    fn what_is_no_answer_of_git_is_refused() {
        let refused = |output: &[u8]| Tally::default().read(output, false).unwrap_err().message().to_owned();
        assert_eq!(refused(b"a\0b\0"), r#"git's answer has "a", which this plugin cannot read"#);
        assert_eq!(refused(b"/a\0"), r#"git's answer has "/a", which this plugin cannot read"#);
        assert_eq!(refused(b"/a\0b\0\nc"), r#"git's answer ends in "\nc", which this plugin cannot read"#);
    }
}
