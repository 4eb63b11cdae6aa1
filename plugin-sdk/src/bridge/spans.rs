//! Events and spans of the crate `tracing`.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

use serde_json::Value;
use toolhost_protocol::{LogKind, LogRecord};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::Sender;

/// How verbose the host wants the plugin to be, as it crosses.
static LEVEL: AtomicU8 = AtomicU8::new(0);

pub(super) fn install(sender: Sender) {
    // It fails where the plugin has a subscriber of its own, which then stays.
    let _ = tracing::subscriber::set_global_default(Registry::default().with(ToHost(sender)));
}

/// From here on the places that log are asked anew whether they may.
pub(super) fn set_level(level: LevelFilter) {
    LEVEL.store(level.into_level().map_or(0, |level| number(&level)), Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
}

fn number(level: &Level) -> u8 {
    match *level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

fn is_wanted(metadata: &Metadata<'_>) -> bool {
    number(metadata.level()) <= LEVEL.load(Ordering::Relaxed)
}

struct ToHost(Sender);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for ToHost {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if is_wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        is_wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match LEVEL.load(Ordering::Relaxed) {
            0 => LevelFilter::OFF,
            1 => LevelFilter::ERROR,
            2 => LevelFilter::WARN,
            3 => LevelFilter::INFO,
            4 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let mut record = described(metadata, LogKind::Span);
        record.span = Some(id.into_u64());
        record.name = metadata.name().to_owned();
        record.parent = context.span(id).and_then(|span| span.parent()).map(|parent| parent.id().into_u64());
        attributes.record(&mut Fields(&mut record));
        let has_value = |name: &str| record.fields.iter().any(|(field, _)| field == name);
        record.later = metadata
            .fields()
            .iter()
            .map(|field| field.name())
            .filter(|name| !has_value(name))
            .map(ToOwned::to_owned)
            .collect();
        self.0.send(number(metadata.level()), record);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        let mut record = about(id, LogKind::Record);
        values.record(&mut Fields(&mut record));
        self.0.send(number(span.metadata().level()), record);
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut record = described(event.metadata(), LogKind::Event);
        record.parent = context.event_span(event).map(|span| span.id().into_u64());
        event.record(&mut Fields(&mut record));
        self.0.send(number(event.metadata().level()), record);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let level = context.span(&id).map_or(Level::TRACE, |span| *span.metadata().level());
        self.0.send(number(&level), about(&id, LogKind::Close));
    }
}

fn described(metadata: &Metadata<'_>, kind: LogKind) -> LogRecord {
    let mut record = LogRecord::default();
    record.kind = kind;
    record.target = metadata.target().to_owned();
    record.file = metadata.file().map(ToOwned::to_owned);
    record.line = metadata.line();
    record
}

fn about(id: &Id, kind: LogKind) -> LogRecord {
    let mut record = LogRecord::default();
    record.kind = kind;
    record.span = Some(id.into_u64());
    record
}

/// Writes fields into a record.
struct Fields<'a>(&'a mut LogRecord);

impl Fields<'_> {
    fn add(&mut self, field: &Field, value: Value) {
        self.0.fields.push((field.name().to_owned(), value));
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0.message = format!("{value:?}");
        } else {
            self.add(field, format!("{value:?}").into());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0.message = value.to_owned();
        } else {
            self.add(field, value.into());
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no word for what is no number.
        let number = serde_json::Number::from_f64(value);
        self.add(field, number.map_or_else(|| value.to_string().into(), Value::Number));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, crate::error::chain(value).into());
    }
}
