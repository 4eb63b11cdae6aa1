//! Places that log, made at run time. A subscriber knows a place by a reference that lives for ever, so that each is
//! kept for good, and a plugin may have only so many.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value as Json;
use toolhost_protocol::{LogKind, LogRecord};
use tracing::callsite::{self, Callsite, Identifier};
use tracing::dispatcher::get_default;
use tracing::field::FieldSet;
use tracing::metadata::Kind;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata};

/// How many places of one plugin are kept.
const MOST_SITES: usize = 2_000;
/// How long the description of one may be, in bytes.
const LONGEST: usize = 4_000;

/// What a subscriber says to a place.
pub(super) enum Site {
    /// It does not want to hear of it.
    Off,
    On(&'static Metadata<'static>),
    /// The plugin has too many others.
    Unkept,
}

/// The places of one plugin.
#[derive(Default)]
pub(super) struct Sites(Mutex<HashMap<Description, &'static Metadata<'static>>>);

#[derive(PartialEq, Eq, Hash)]
struct Description {
    is_span: bool,
    level: Level,
    name: String,
    target: String,
    file: Option<String>,
    line: Option<u32>,
    fields: Vec<String>,
}

impl Sites {
    /// The place that a record of this plugin comes from, with these fields.
    pub(super) fn of(&self, plugin: &str, level: Level, record: &LogRecord, fields: &[(String, Json)]) -> Site {
        let description = Description::new(plugin, level, record, fields);
        let mut sites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sites.get(&description).copied();
        let metadata = match known {
            Some(metadata) => metadata,
            None if sites.len() >= MOST_SITES || description.size() > LONGEST => return Site::Unkept,
            None => {
                let metadata = description.keep();
                sites.insert(description, metadata);
                metadata
            }
        };
        drop(sites);
        if get_default(|subscriber| subscriber.enabled(metadata)) { Site::On(metadata) } else { Site::Off }
    }
}

impl Description {
    fn new(plugin: &str, level: Level, record: &LogRecord, fields: &[(String, Json)]) -> Self {
        let target = if record.target.is_empty() { plugin } else { &record.target };
        let later = record.later.iter().map(String::as_str);
        Self {
            is_span: record.kind == LogKind::Span,
            level,
            name: record.name.clone(),
            target: target.to_owned(),
            file: record.file.clone(),
            line: record.line,
            fields: fields.iter().map(|(name, _)| name.as_str()).chain(later).map(ToOwned::to_owned).collect(),
        }
    }

    fn size(&self) -> usize {
        let fields = self.fields.iter().map(|field| field.len() + size_of::<&str>()).sum::<usize>();
        fields + self.name.len() + self.target.len() + self.file.as_ref().map_or(0, String::len)
    }

    fn keep(&self) -> &'static Metadata<'static> {
        let place: &'static Place = Box::leak(Box::default());
        let names: Vec<&'static str> = self.fields.iter().map(|name| leaked(name)).collect();
        let file = self.file.as_deref().map(leaked);
        let name = match (&*self.name, file, self.line) {
            ("", Some(file), Some(line)) => leaked(&format!("event {file}:{line}")),
            ("", ..) => "event",
            (name, ..) => leaked(name),
        };
        let fields = FieldSet::new(Vec::leak(names), Identifier(place));
        let kind = if self.is_span { Kind::SPAN } else { Kind::EVENT };
        let metadata = Metadata::new(name, leaked(&self.target), self.level, file, self.line, None, fields, kind);
        let metadata = place.metadata.get_or_init(|| metadata);
        callsite::register(place);
        metadata
    }
}

fn leaked(text: &str) -> &'static str {
    Box::leak(text.into())
}

#[derive(Default)]
struct Place {
    metadata: OnceLock<Metadata<'static>>,
}

impl Callsite for Place {
    // Asked anew for each record: the answer of a filter may depend on more than the place.
    fn set_interest(&self, _interest: Interest) {}

    fn metadata(&self) -> &Metadata<'_> {
        self.metadata.get().expect("it is registered after it was described")
    }
}
