//! What stands in a `toolhost.toml`.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::similar;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    User,
    /// Of whoever wrote what is in the directory.
    Project,
}

/// A value, and the line that it stands in, from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// A file's content.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Content {
    pub(crate) directories: Vec<At<String>>,
    pub(crate) disabled: Vec<At<String>>,
    pub(crate) factory_seconds: Option<At<f64>>,
    pub(crate) tools: Option<At<usize>>,
    pub(crate) definition_bytes: Option<At<usize>>,
    /// By the plugin's name, by the setting's.
    pub(crate) plugins: BTreeMap<String, BTreeMap<String, At<Value>>>,
}

/// Why a file cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Line and column, both from 1.
    pub(crate) at: (usize, usize),
    pub(crate) message: String,
    pub(crate) fix: String,
}

const KEYS: [&str; 4] = ["directories", "disabled", "limits", "plugins"];
const LIMITS: [&str; 3] = [FACTORY_SECONDS, TOOLS, DEFINITION_BYTES];
pub(crate) const FACTORY_SECONDS: &str = "factory-seconds";
pub(crate) const TOOLS: &str = "tools";
pub(crate) const DEFINITION_BYTES: &str = "definition-bytes";

type Key<'i> = Spanned<Cow<'i, str>>;
type Entry<'a, 'i> = (&'a Key<'i>, &'a Spanned<DeValue<'i>>);

/// Reads a file's text.
pub(crate) fn parse(text: &str, owner: Owner) -> Result<Content, Problem> {
    let file = File { text: text.strip_prefix('\u{feff}').unwrap_or(text) };
    let table = DeTable::parse(file.text).map_err(|error| {
        file.problem(
            error.span().map_or(0, |span| span.start),
            error.message().to_owned(),
            "mend the file, which is TOML",
        )
    })?;
    let mut content = Content::default();
    for (key, value) in in_order(table.get_ref()) {
        match &**key.get_ref() {
            "directories" if owner == Owner::Project => return Err(file.no_directories(key)),
            "directories" => content.directories = file.strings(key, value)?,
            "disabled" => content.disabled = file.strings(key, value)?,
            "limits" => file.limits(value, &mut content)?,
            "plugins" => content.plugins = file.plugins(value)?,
            _ => {
                let known = KEYS.iter().filter(|key| owner == Owner::User || **key != "directories");
                return Err(file.unknown(key, "", &known.copied().collect::<Vec<_>>()));
            }
        }
    }
    Ok(content)
}

/// Entries as they stand in the file, so that the first problem is the one that is named.
fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct File<'t> {
    text: &'t str,
}

impl File<'_> {
    fn problem(&self, at: usize, message: String, fix: impl Into<String>) -> Problem {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let column = before[line_start..].chars().count() + 1;
        Problem { at: (self.line(at), column), message, fix: fix.into() }
    }

    fn line(&self, at: usize) -> usize {
        self.text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count() + 1
    }

    fn unknown(&self, key: &Key<'_>, place: &str, known: &[&str]) -> Problem {
        let name = key.get_ref();
        let fix = match similar::nearest(name, known.iter().copied()) {
            Some(near) => format!("write `{near}`"),
            None => {
                let known = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                format!("use one of {known}, or remove it")
            }
        };
        self.problem(key.span().start, format!("there is no key `{name}`{place}"), fix)
    }

    fn no_directories(&self, key: &Key<'_>) -> Problem {
        let message = "a project's file cannot add directories, since plugins in them would run merely because a \
                       directory was entered";
        let fix = "put the plugins into the project's .toolhost/plugins, or `directories` into your own toolhost.toml";
        self.problem(key.span().start, message.to_owned(), fix)
    }

    fn wrong_type(&self, value: &Spanned<DeValue<'_>>, what: &str, wanted: &str, example: &str) -> Problem {
        let message = format!("`{what}` has to be {wanted}, and is {}", kind(value.get_ref()));
        self.problem(value.span().start, message, format!("write it as in: {example}"))
    }

    fn strings(&self, key: &Key<'_>, value: &Spanned<DeValue<'_>>) -> Result<Vec<At<String>>, Problem> {
        let name = key.get_ref();
        let example = format!("{name} = [\"one\", \"another\"]");
        let wrong = |value| self.wrong_type(value, name, "a list of texts", &example);
        let Some(list) = value.get_ref().as_array() else { return Err(wrong(value)) };
        let mut texts = Vec::new();
        for each in list.iter() {
            let text = each.get_ref().as_str().ok_or_else(|| wrong(each))?;
            if text.is_empty() {
                let message = format!("an entry of `{name}` is empty");
                return Err(self.problem(each.span().start, message, "remove it"));
            }
            texts.push(At { value: text.to_owned(), line: self.line(each.span().start) });
        }
        Ok(texts)
    }

    fn limits(&self, value: &Spanned<DeValue<'_>>, content: &mut Content) -> Result<(), Problem> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.wrong_type(value, "limits", "a table", "[limits]"));
        };
        for (key, value) in in_order(table) {
            match &**key.get_ref() {
                FACTORY_SECONDS => content.factory_seconds = Some(self.seconds(value)?),
                TOOLS => content.tools = Some(self.count(TOOLS, value, 1..=1_000)?),
                DEFINITION_BYTES => {
                    content.definition_bytes = Some(self.count(DEFINITION_BYTES, value, 1..=1 << 30)?);
                }
                _ => return Err(self.unknown(key, " under `[limits]`", &LIMITS)),
            }
        }
        Ok(())
    }

    fn count(
        &self,
        name: &str,
        value: &Spanned<DeValue<'_>>,
        range: RangeInclusive<usize>,
    ) -> Result<At<usize>, Problem> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let number = value.get_ref().as_integer().and_then(|number| integer(number)?.as_u64());
        match number.and_then(|number| usize::try_from(number).ok()).filter(|number| range.contains(number)) {
            Some(number) => Ok(At { value: number, line: self.line(value.span().start) }),
            None => Err(self.wrong_type(value, name, &wanted, &format!("{name} = {}", range.end().min(&128)))),
        }
    }

    fn seconds(&self, value: &Spanned<DeValue<'_>>) -> Result<At<f64>, Problem> {
        const RANGE: RangeInclusive<f64> = 0.001..=3600.0;
        let seconds = match value.get_ref() {
            DeValue::Integer(number) => integer(number).and_then(|number| number.as_f64()),
            DeValue::Float(number) => number.as_str().parse().ok(),
            _ => None,
        };
        match seconds.filter(|seconds| RANGE.contains(seconds)) {
            Some(seconds) => Ok(At { value: seconds, line: self.line(value.span().start) }),
            None => Err(self.wrong_type(value, FACTORY_SECONDS, "a number from 0.001 to 3600", "factory-seconds = 10")),
        }
    }

    fn plugins(&self, value: &Spanned<DeValue<'_>>) -> Result<BTreeMap<String, BTreeMap<String, At<Value>>>, Problem> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.wrong_type(value, "plugins", "a table", "[plugins.word-count]"));
        };
        let mut plugins = BTreeMap::new();
        for (name, value) in in_order(table) {
            let name = &**name.get_ref();
            let Some(table) = value.get_ref().as_table() else {
                let wanted = "a table of the plugin's settings";
                return Err(self.wrong_type(value, &format!("plugins.{name}"), wanted, &format!("[plugins.{name}]")));
            };
            let mut settings = BTreeMap::new();
            for (key, value) in in_order(table) {
                let line = self.line(key.span().start);
                settings.insert(key.get_ref().clone().into_owned(), At { value: self.json(value)?, line });
            }
            plugins.insert(name.to_owned(), settings);
        }
        Ok(plugins)
    }

    /// A plugin's setting as JSON, in which a date or time is a text.
    fn json(&self, value: &Spanned<DeValue<'_>>) -> Result<Value, Problem> {
        let no_number = |number: &str| {
            let message = format!("`{number}` is no number that a plugin can be given");
            self.problem(value.span().start, message, "write another number, or a text")
        };
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.clone().into_owned()),
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Integer(number) => integer(number).map(Value::Number).ok_or_else(|| no_number(number.as_str()))?,
            DeValue::Float(number) => {
                let parsed = number.as_str().parse().ok().and_then(Number::from_f64);
                parsed.map(Value::Number).ok_or_else(|| no_number(number.as_str()))?
            }
            DeValue::Array(list) => Value::Array(list.iter().map(|each| self.json(each)).collect::<Result<_, _>>()?),
            DeValue::Table(table) => {
                let mut object = Map::new();
                for (key, value) in in_order(table) {
                    object.insert(key.get_ref().clone().into_owned(), self.json(value)?);
                }
                Value::Object(object)
            }
        })
    }
}

fn integer(number: &DeInteger<'_>) -> Option<Number> {
    let signed = i64::from_str_radix(number.as_str(), number.radix()).map(Number::from);
    signed.or_else(|_| u64::from_str_radix(number.as_str(), number.radix()).map(Number::from)).ok()
}

/// What a value is, with its article.
fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(_) => "a text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(_) => "a date or time".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
