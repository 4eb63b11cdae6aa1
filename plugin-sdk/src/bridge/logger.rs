//! Records of the crate `log`.

use log::{Level, Log, Metadata, Record};
use toolhost_protocol::LogRecord;

use super::Sender;

pub(super) fn install(sender: Sender) {
    // It fails where the plugin has a logger of its own, which then stays.
    let _ = log::set_boxed_logger(Box::new(Logger(sender)));
}

struct Logger(Sender);

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut sent = LogRecord::default();
        sent.message = record.args().to_string();
        sent.target = record.target().to_owned();
        sent.file = record.file().map(ToOwned::to_owned);
        sent.line = record.line();
        sent.parent = tracing::Span::current().id().map(|id| id.into_u64());
        self.0.send(number(record.level()), sent);
    }

    fn flush(&self) {}
}

fn number(level: Level) -> u8 {
    match level {
        Level::Error => 1,
        Level::Warn => 2,
        Level::Info => 3,
        Level::Debug => 4,
        Level::Trace => 5,
    }
}
