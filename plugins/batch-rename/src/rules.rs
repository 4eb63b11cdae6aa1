//! From the names that files have to the names that they get.

use std::fmt;

use regex::Regex;

use crate::params::{Case, Number, Params, Position};

/// The rules of one preview, checked and ready to use.
#[derive(Debug)]
pub(crate) struct Rules {
    replacement: Option<Replacement>,
    case: Option<Case>,
    extension_case: Option<Case>,
    number: Option<Number>,
}

#[derive(Debug)]
struct Replacement {
    find: Regex,
    replace: String,
    literal: bool,
}

/// A name as it is now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OldName<'a> {
    /// The last component of the path.
    pub(crate) name: &'a str,
    /// Whether it names a directory, whose name has no extension.
    pub(crate) is_directory: bool,
}

impl Rules {
    /// Checks the rules in `params`.
    ///
    /// # Errors
    ///
    /// When the rules could rename nothing, or contradict themselves, or `find` is no regular expression, or `replace`
    /// refers to a group that `find` does not have.
    pub(crate) fn new(params: &Params) -> Result<Self, RulesError> {
        let replacement = match (&params.find, &params.replace) {
            (Some(find), Some(replace)) => Some(Replacement::new(find, replace, params.literal)?),
            (Some(_), None) => return Err(RulesError::FindAlone),
            (None, Some(_)) => return Err(RulesError::ReplaceAlone),
            (None, None) => None,
        };
        let rules = Self {
            replacement,
            case: params.case,
            extension_case: params.extension_case,
            number: params.number.clone(),
        };
        if rules.number.as_ref().is_some_and(|number| number.step == 0) {
            return Err(RulesError::NoStep);
        }
        if rules.replacement.is_none()
            && rules.case.is_none()
            && rules.extension_case.is_none()
            && rules.number.is_none()
        {
            return Err(RulesError::None);
        }
        Ok(rules)
    }

    /// The new name of each old one, in the same order. A new name may hold `/`, be empty or otherwise unusable: that
    /// is for the plan to refuse.
    pub(crate) fn new_names(&self, old: &[OldName<'_>]) -> Vec<String> {
        let chosen = old.iter().filter(|old| self.chooses(old.name)).count();
        let mut numbers = self.number.as_ref().map(|number| Counter::new(number, chosen));
        old.iter()
            .map(|old| if self.chooses(old.name) { self.new_name(*old, numbers.as_mut()) } else { old.name.to_owned() })
            .collect()
    }

    fn chooses(&self, name: &str) -> bool {
        self.replacement.as_ref().is_none_or(|replacement| replacement.find.is_match(name))
    }

    fn new_name(&self, old: OldName<'_>, numbers: Option<&mut Counter<'_>>) -> String {
        let replaced = match &self.replacement {
            Some(replacement) => replacement.apply(old.name),
            None => old.name.to_owned(),
        };
        let (directory, name) = split_directory(&replaced);
        let (stem, extension) = if old.is_directory { (name, "") } else { split_extension(name, old.name) };
        let mut stem = recase(stem, self.case);
        if let Some(numbers) = numbers {
            stem = numbers.number(&stem);
        }
        format!("{directory}{stem}{}", recase(extension, self.extension_case))
    }
}

impl Replacement {
    fn new(find: &str, replace: &str, literal: bool) -> Result<Self, RulesError> {
        let pattern = if literal { regex::escape(find) } else { find.to_owned() };
        let find = Regex::new(&pattern).map_err(RulesError::Find)?;
        if !literal && let Some(group) = unknown_group(&find, replace) {
            return Err(RulesError::Group(group.to_owned()));
        }
        Ok(Self { find, replace: replace.to_owned(), literal })
    }

    fn apply(&self, name: &str) -> String {
        if self.literal {
            self.find.replace_all(name, regex::NoExpand(&self.replace)).into_owned()
        } else {
            self.find.replace_all(name, &self.replace).into_owned()
        }
    }
}

/// The first group that `replace` refers to and `find` lacks. The regex crate puts nothing in its place, and reads
/// `$1_a` as the group `1_a`: for file names, both lose what was meant to be kept.
fn unknown_group<'r>(find: &Regex, replace: &'r str) -> Option<&'r str> {
    let known = |group: &str| match group.parse::<usize>() {
        Ok(index) => index < find.captures_len(),
        Err(_) => find.capture_names().flatten().any(|name| name == group),
    };
    let mut rest = replace;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let group = match rest.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map_or("", |(group, _)| group),
            None => &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())],
        };
        // Not a reference at all: the regex crate leaves the dollar sign as it is.
        if !group.is_empty() && !known(group) {
            return Some(group);
        }
    }
    None
}

/// `a/b/c` as `a/b/` and `c`.
fn split_directory(name: &str) -> (&str, &str) {
    name.split_at(name.rfind('/').map_or(0, |slash| slash + 1))
}

/// Splits before the last dot. An extension that the file had before stays one even if nothing is left before it, so
/// that numbering `IMG.jpg` without its `IMG` gives `1.jpg`.
fn split_extension<'n>(name: &'n str, old_name: &str) -> (&'n str, &'n str) {
    let old_extension = &old_name[extension_start(old_name)..];
    if !old_extension.is_empty() && name.ends_with(old_extension) {
        return name.split_at(name.len() - old_extension.len());
    }
    name.split_at(extension_start(name))
}

/// Where the extension starts, with its dot. `.profile`, `name.` and `Mr. Smith` have none.
fn extension_start(name: &str) -> usize {
    match name.rfind('.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() && !name[dot..].contains(char::is_whitespace) => dot,
        _ => name.len(),
    }
}

fn recase(text: &str, case: Option<Case>) -> String {
    match case {
        None => text.to_owned(),
        Some(Case::Lower) => text.to_lowercase(),
        Some(Case::Upper) => text.to_uppercase(),
        Some(Case::Title) => title(text),
    }
}

fn title(text: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '\u{2019}' | '\u{300}'..='\u{36f}');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after_first = &rest[first.len_utf8()..];
        if !first.is_alphanumeric() {
            out.push(first);
            rest = after_first;
            continue;
        }
        let (tail, after) = after_first.split_at(after_first.find(|c| !in_word(c)).unwrap_or(after_first.len()));
        // One letter may have several capitals: the word `ßa` becomes `Ssa`.
        let mut capitals = first.to_uppercase();
        out.extend(capitals.next());
        let small: String = capitals.chain(tail.chars()).collect();
        out.push_str(&small.to_lowercase());
        rest = after;
    }
    out
}

/// Gives out the numbers.
struct Counter<'n> {
    rule: &'n Number,
    width: usize,
    next: u64,
}

impl<'n> Counter<'n> {
    fn new(rule: &'n Number, count: usize) -> Self {
        let steps = count.saturating_sub(1) as u64;
        let last = u64::from(rule.start).saturating_add(steps.saturating_mul(u64::from(rule.step)));
        let width = rule.width.map_or_else(|| last.to_string().len(), usize::from);
        Self { rule, width, next: u64::from(rule.start) }
    }

    fn number(&mut self, stem: &str) -> String {
        let number = format!("{:0width$}", self.next, width = self.width);
        self.next = self.next.saturating_add(u64::from(self.rule.step));
        let separator = if stem.is_empty() { "" } else { self.rule.separator.as_str() };
        match self.rule.position {
            Position::Before => format!("{number}{separator}{stem}"),
            Position::After => format!("{stem}{separator}{number}"),
        }
    }
}

/// Why rules cannot be used.
#[derive(Debug)]
pub(crate) enum RulesError {
    /// There is no rule at all.
    None,
    /// `find` came without `replace`.
    FindAlone,
    /// `replace` came without `find`.
    ReplaceAlone,
    /// `find` is no regular expression.
    Find(regex::Error),
    /// `replace` refers to this group, which `find` does not have.
    Group(String),
    /// `number.step` is zero.
    NoStep,
}

impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => write!(f, "no rule given; give `find` and `replace`, or `case`, `extensionCase` or `number`"),
            Self::FindAlone => write!(f, "`find` needs `replace`; give `\"replace\": \"\"` to remove what it finds"),
            Self::ReplaceAlone => write!(f, "`replace` needs `find`; say what it replaces"),
            Self::Find(_) => write!(f, "`find` is not a regular expression; correct it, or set `literal` to true"),
            Self::Group(group) => write!(
                f,
                "`replace` refers to the group `{group}`, which `find` does not have; write `${{1}}x` to put text \
                 right after a group, `$$` for a dollar sign, or set `literal` to true"
            ),
            Self::NoStep => write!(f, "`number.step` is 0, so all numbers would be the same; make it at least 1"),
        }
    }
}

impl std::error::Error for RulesError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Find(cause) => Some(cause),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
