//! A plugin's records as events and spans of this process.

mod site;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value as Json;
use toolhost_protocol::{LogKind, LogRecord};
use tracing::field::Value;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Span, debug, error, info, trace, warn};

use site::{Site, Sites};

/// How many spans of a plugin may be open; of more, nothing is kept.
const OPEN_SPANS: usize = 10_000;

/// Where the records of one plugin go.
pub(crate) struct PluginLog {
    plugin: String,
    sites: Sites,
    spans: Mutex<HashMap<u64, Span>>,
}

impl PluginLog {
    pub(crate) fn new(plugin: &str) -> Self {
        Self { plugin: plugin.to_owned(), sites: Sites::default(), spans: Mutex::default() }
    }

    /// The most verbose level that anybody here listens to, as it crosses.
    pub(crate) fn level() -> u8 {
        match LevelFilter::current() {
            LevelFilter::OFF => 0,
            LevelFilter::ERROR => 1,
            LevelFilter::WARN => 2,
            LevelFilter::INFO => 3,
            LevelFilter::DEBUG => 4,
            LevelFilter::TRACE => 5,
        }
    }

    /// Takes a record. What cannot be read is logged as it is.
    pub(crate) fn log(&self, level: u8, record: &[u8]) {
        let Some(level) = level_of(level).filter(|level| *level <= LevelFilter::current()) else {
            return;
        };
        let mut record = serde_json::from_slice(record).unwrap_or_else(|_| {
            let mut raw = LogRecord::default();
            raw.message = String::from_utf8_lossy(record).into_owned();
            raw
        });
        rename_ours(&mut record);
        match record.kind {
            LogKind::Event => self.event(level, record),
            LogKind::Span => self.begin(level, record),
            LogKind::Record => self.record(&record),
            LogKind::Close => self.close(&record),
            _ => {}
        }
    }

    fn event(&self, level: Level, mut record: LogRecord) {
        let mut fields = vec![("message".to_owned(), Json::from(std::mem::take(&mut record.message)))];
        fields.extend(self.fields(&mut record));
        let metadata = match self.sites.of(&self.plugin, level, &record, &fields) {
            Site::On(metadata) => metadata,
            Site::Off => return,
            Site::Unkept => return self.event_of_no_place(level, &record, &fields),
        };
        let values: Vec<Owned> = fields.into_iter().map(|(_, value)| Owned::from(value)).collect();
        let values: Vec<_> = values.iter().map(Owned::as_value).collect();
        let set = metadata.fields().value_set_all(&values);
        match self.parent(&record) {
            Some(parent) => Event::child_of(parent.id(), metadata, &set),
            None => Event::dispatch(metadata, &set),
        }
    }

    /// An event whose place is not kept: what it says beyond its text stands in one field.
    fn event_of_no_place(&self, level: Level, record: &LogRecord, fields: &[(String, Json)]) {
        let (plugin, target) = (&*self.plugin, &*record.target);
        let message = fields.first().and_then(|(_, message)| message.as_str()).unwrap_or_default();
        let more: serde_json::Map<_, _> = fields.iter().skip(1).cloned().collect();
        let more = Json::Object(more);
        match level {
            Level::ERROR => error!(plugin, target, %more, "{message}"),
            Level::WARN => warn!(plugin, target, %more, "{message}"),
            Level::INFO => info!(plugin, target, %more, "{message}"),
            Level::DEBUG => debug!(plugin, target, %more, "{message}"),
            Level::TRACE => trace!(plugin, target, %more, "{message}"),
        }
    }

    fn begin(&self, level: Level, mut record: LogRecord) {
        let Some(id) = record.span else {
            return;
        };
        let fields = self.fields(&mut record);
        let Site::On(metadata) = self.sites.of(&self.plugin, level, &record, &fields) else {
            return;
        };
        let mut values: Vec<Owned> = fields.into_iter().map(|(_, value)| Owned::from(value)).collect();
        values.resize_with(metadata.fields().len(), || Owned::None);
        let values: Vec<_> = values.iter().map(Owned::as_value).collect();
        let set = metadata.fields().value_set_all(&values);
        let span = match self.parent(&record) {
            Some(parent) => Span::child_of(parent.id(), metadata, &set),
            None => Span::new(metadata, &set),
        };
        let mut spans = self.spans();
        let replaced = if spans.len() < OPEN_SPANS { spans.insert(id, span) } else { Some(span) };
        // A span that goes away is told to the subscriber, which may take its time.
        drop(spans);
        drop(replaced);
    }

    fn record(&self, record: &LogRecord) {
        let Some(span) = record.span.and_then(|id| self.spans().get(&id).cloned()) else {
            return;
        };
        for (name, value) in &record.fields {
            // A field that the span does not have is left out, as of any span.
            span.record(name.as_str(), Owned::from(value.clone()).as_value());
        }
    }

    fn close(&self, record: &LogRecord) {
        let closed = record.span.and_then(|id| self.spans().remove(&id));
        drop(closed);
    }

    fn parent(&self, record: &LogRecord) -> Option<Span> {
        let parent = record.parent?;
        self.spans().get(&parent).cloned()
    }

    /// Whose record it is, then what it says.
    fn fields(&self, record: &mut LogRecord) -> Vec<(String, Json)> {
        let mut fields = vec![("plugin".to_owned(), Json::from(self.plugin.as_str()))];
        fields.extend(record.call.map(|call| ("call".to_owned(), call.into())));
        fields.append(&mut record.fields);
        fields
    }

    fn spans(&self) -> MutexGuard<'_, HashMap<u64, Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fields of the plugin's that are called as ours are get another name: of two with one name, a reader may believe the
/// wrong one.
fn rename_ours(record: &mut LogRecord) {
    let fields = record.fields.iter_mut().map(|(name, _)| name);
    for name in fields.chain(&mut record.later).filter(|name| ["plugin", "call"].contains(&name.as_str())) {
        name.push('_');
    }
}

fn level_of(number: u8) -> Option<Level> {
    Some(match number {
        0 => return None,
        1 => Level::ERROR,
        2 => Level::WARN,
        3 => Level::INFO,
        4 => Level::DEBUG,
        _ => Level::TRACE,
    })
}

/// A JSON value as a subscriber takes it.
enum Owned {
    None,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
}

impl From<Json> for Owned {
    fn from(value: Json) -> Self {
        match value {
            Json::Null => Self::None,
            Json::Bool(flag) => Self::Bool(flag),
            Json::String(text) => Self::Text(text),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(integer), ..) => Self::Integer(integer),
                (_, Some(unsigned), _) => Self::Unsigned(unsigned),
                (.., Some(float)) => Self::Float(float),
                _ => Self::Text(number.to_string()),
            },
            other => Self::Text(other.to_string()),
        }
    }
}

impl Owned {
    fn as_value(&self) -> Option<&dyn Value> {
        match self {
            Self::None => None,
            Self::Bool(flag) => Some(flag),
            Self::Integer(integer) => Some(integer),
            Self::Unsigned(unsigned) => Some(unsigned),
            Self::Float(float) => Some(float),
            Self::Text(text) => Some(text),
        }
    }
}
