//! The log, as lines of which none can pass for another, or for this program's own.

use std::fmt;

use anstyle::{AnsiColor, Style};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::{Format, Full, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::plain::{continued, plain};

/// Writes an event's level in its colour, and the rest, which plugins have a say in, without any power.
pub(crate) struct Lines(Format<Full, ()>);

impl Lines {
    pub(crate) fn new() -> Self {
        Self(Format::default().without_time().with_level(false))
    }
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut said = String::new();
        self.0.format_event(context, Writer::new(&mut said), event)?;
        let level = event.metadata().level();
        let (colour, said) = (colour(*level), continued(&plain(said.trim_end_matches('\n'))));
        writeln!(writer, "{colour}{:>5}{colour:#} {said}", level.as_str())
    }
}

fn colour(level: Level) -> Style {
    let colour = match level {
        Level::ERROR => AnsiColor::Red,
        Level::WARN => AnsiColor::Yellow,
        Level::INFO => AnsiColor::Green,
        Level::DEBUG => AnsiColor::Blue,
        Level::TRACE => AnsiColor::Magenta,
    };
    colour.on_default()
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(log: impl FnOnce()) -> String {
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber = crate::log_layer().with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, log);
        let bytes = std::mem::take(&mut *kept.0.lock().unwrap());
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_event_is_one_line() {
        let lines = logged(|| {
            tracing::error!(target: "a", n = 1, "one");
            tracing::info!(target: "b", "two\n");
        });
        assert_eq!(lines, "\u{1b}[31mERROR\u{1b}[0m a: one n=1\n\u{1b}[32m INFO\u{1b}[0m b: two\n");
    }

    #[test]
    fn a_message_can_neither_forge_lines_nor_steer_the_terminal() {
        let lines = logged(|| {
            tracing::warn!(target: "p", "m\nerror: e\r\n  fix: f\u{1b}[2J\u{9b}1m\u{202e}\u{2028}\u{7}\0");
        });
        let shown = "m\n    error: e\\r\n      fix: f\\x1b[2J\\u{9b}1m\\u{202e}\\u{2028}\\x07\\u{0}";
        assert_eq!(lines, format!("\u{1b}[33m WARN\u{1b}[0m p: {shown}\n"));
    }

    #[test]
    fn nor_can_a_target_a_field_or_a_span() {
        let lines = logged(|| {
            let _span = tracing::warn_span!("s\nerror: s", f = %"\u{1b}[1m\nfix: s").entered();
            tracing::warn!(target: "\nerror: t\r\u{1b}]0;x\u{7}\u{202e}\0", f = %"\nfix: v\u{202e}", "m");
        });
        let shown = r"s
    error: s{f=\u{1b}[1m
    fix: s}: 
    error: t\r\u{1b}]0;x\u{7}\u{202e}\u{0}: m f=
    fix: v\u{202e}";
        assert_eq!(lines, format!("\u{1b}[33m WARN\u{1b}[0m {shown}\n"));
    }
}
