//! A moment that lasts from a preview to its apply, and the chance of that moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, Error, params_from_iter};

use crate::problem::Problem;

/// The functions that read a time from their arguments: by default, or where one of them is `now`.
const WITH_TIME: [&str; 7] = ["date", "datetime", "julianday", "strftime", "time", "timediff", "unixepoch"];
/// The keywords for the present time, which are functions without arguments, each with what it stands for.
const PRESENT: [(&str, &str); 3] =
    [("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")];
/// The most bytes that a value can have.
const MAX_BYTES: i64 = 1_000_000_000;

/// What `now` and `random()` give in every run of one change, so that each run gives the same.
///
/// SQLite lets none of its own functions give the present in an index, a CHECK or a generated column, but says so only
/// where a row is written. That is lost here: a change can write such rows, and other programs then cannot.
#[derive(Debug, Clone)]
pub(crate) struct Frozen {
    now: String,
    seed: [u8; 32],
}

/// What of the frozen moment a run has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Used {
    /// The present time.
    pub(crate) time: bool,
    /// Random numbers.
    pub(crate) random: bool,
}

impl Frozen {
    /// The present time, in SQLite's precision of a millisecond, and new chance.
    pub(crate) fn new() -> Result<Self, Problem> {
        let calendar = Connection::open_in_memory()?;
        let now = calendar.query_row("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')", [], |row| row.get(0))?;
        Ok(Self { now, seed: rand::random() })
    }

    /// The time, in UTC, as SQLite writes it.
    pub(crate) fn now(&self) -> &str {
        &self.now
    }

    /// Has the statements of `connection` live in this moment, from its beginning.
    pub(crate) fn install(&self, connection: &Connection) -> Result<Usage, Problem> {
        let usage = Usage::default();
        self.install_time(connection, &usage)?;
        self.install_chance(connection, &usage)?;
        Ok(usage)
    }

    fn install_time(&self, connection: &Connection, usage: &Usage) -> Result<(), Problem> {
        // What is deterministic may stand in an index or a generated column, as SQLite's own may.
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS | FunctionFlags::SQLITE_DETERMINISTIC;
        // Another connection, whose functions are SQLite's own.
        let calendar = Arc::new(Mutex::new(Connection::open_in_memory()?));
        let names = WITH_TIME.iter().map(|name| (*name, *name, -1));
        let keywords = PRESENT.iter().map(|(keyword, name)| (*keyword, *name, 0));
        for (name, stands_for, arguments) in names.chain(keywords) {
            let (calendar, now, usage) = (Arc::clone(&calendar), self.now.clone(), usage.clone());
            connection.create_scalar_function(name, arguments, flags, move |context| {
                let (arguments, is_present) = at(&now, stands_for, context);
                if is_present {
                    usage.time.store(true, Ordering::Relaxed);
                }
                let sql = format!("SELECT {stands_for}({})", vec!["?"; arguments.len()].join(", "));
                let calendar = calendar.lock().unwrap_or_else(PoisonError::into_inner);
                let mut statement = calendar.prepare_cached(&sql)?;
                statement.query_row(params_from_iter(arguments), |row| row.get::<_, Value>(0))
            })?;
        }
        Ok(())
    }

    fn install_chance(&self, connection: &Connection, usage: &Usage) -> Result<(), Problem> {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_INNOCUOUS;
        let numbers = Arc::new(Mutex::new(StdRng::from_seed(self.seed)));
        let draw = {
            let (numbers, usage) = (Arc::clone(&numbers), usage.clone());
            move |bytes: &mut [u8]| {
                usage.random.store(true, Ordering::Relaxed);
                numbers.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(bytes);
            }
        };
        let draw_number = draw.clone();
        connection.create_scalar_function("random", 0, flags, move |_| {
            let mut bytes = [0; 8];
            draw_number(&mut bytes);
            Ok(i64::from_le_bytes(bytes))
        })?;
        connection.create_scalar_function("randomblob", 1, flags, move |context| {
            let length = length(context.get_raw(0));
            if length > MAX_BYTES {
                return Err(Error::UserFunctionError("string or blob too big".into()));
            }
            let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
            draw(&mut bytes);
            Ok(bytes)
        })?;
        Ok(())
    }
}

/// Watches what of its moment a connection uses.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage {
    time: Arc<AtomicBool>,
    random: Arc<AtomicBool>,
}

impl Usage {
    /// What was used until now.
    pub(crate) fn used(&self) -> Used {
        Used { time: self.time.load(Ordering::Relaxed), random: self.random.load(Ordering::Relaxed) }
    }
}

/// The arguments of a function of time with `now` in place of the present, and whether that made a difference.
fn at<'a>(now: &'a str, function: &str, context: &'a Context<'_>) -> (Vec<ToSqlOutput<'a>>, bool) {
    let frozen = || ToSqlOutput::Borrowed(ValueRef::Text(now.as_bytes()));
    // Of strftime the format comes first, and timediff takes two times.
    let times = match function {
        "strftime" => 1..2,
        "timediff" => 0..2,
        _ => 0..1,
    };
    let mut is_present = false;
    let mut out = Vec::with_capacity(context.len() + 1);
    for at in 0..context.len() {
        let value = context.get_raw(at);
        let is = |word: &str| matches!(value, ValueRef::Text(text) if text.eq_ignore_ascii_case(word.as_bytes()));
        // In the place of a time, the latter two mean the present with a fraction of a second.
        let is_now = times.contains(&at) && is("now");
        if is_now || (times.contains(&at) && (is("subsec") || is("subsecond"))) {
            is_present = true;
            out.push(frozen());
        }
        if !is_now {
            out.push(ToSqlOutput::Borrowed(value));
        }
    }
    if out.len() == times.start && function != "timediff" {
        is_present = true;
        out.push(frozen());
    }
    (out, is_present)
}

/// How many bytes `randomblob` is asked for; SQLite takes whatever is less than 1, or no number, for 1.
fn length(value: ValueRef<'_>) -> i64 {
    let length = match value {
        ValueRef::Integer(n) => n,
        #[allow(clippy::cast_possible_truncation)]
        ValueRef::Real(x) => x as i64,
        ValueRef::Text(text) => std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(1),
        ValueRef::Null | ValueRef::Blob(_) => 1,
    };
    length.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment() -> Frozen {
        Frozen { now: "2001-02-03 04:05:06.789".to_owned(), seed: [7; 32] }
    }

    /// What an expression gives in that moment, and what of it was used.
    fn ask(expression: &str) -> (Value, Used) {
        let connection = Connection::open_in_memory().unwrap();
        let usage = moment().install(&connection).unwrap();
        let value = connection.query_row(&format!("SELECT {expression}"), [], |row| row.get(0)).unwrap();
        (value, usage.used())
    }

    #[test]
    fn every_way_to_ask_for_the_time_gives_the_same_moment() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (expression, value) in [
            ("CURRENT_TIMESTAMP", text("2001-02-03 04:05:06")),
            ("current_date", text("2001-02-03")),
            ("CURRENT_TIME", text("04:05:06")),
            ("datetime()", text("2001-02-03 04:05:06")),
            ("datetime('now')", text("2001-02-03 04:05:06")),
            ("DateTime('NOW', '+1 day')", text("2001-02-04 04:05:06")),
            ("datetime('subsec')", text("2001-02-03 04:05:06.789")),
            ("datetime('now', 'subsec')", text("2001-02-03 04:05:06.789")),
            ("date('now', 'start of year')", text("2001-01-01")),
            ("time('now')", text("04:05:06")),
            ("strftime('%Y')", text("2001")),
            ("strftime('%H:%M:%f', 'now')", text("04:05:06.789")),
            ("strftime('%s', 'now')", text("981173106")),
            ("unixepoch('now')", Value::Integer(981_173_106)),
            ("unixepoch('subsec')", Value::Real(981_173_106.789)),
            ("timediff('now', '2001-02-03')", text("+0000-00-00 04:05:06.789")),
            ("timediff('2001-02-04', 'now')", text("+0000-00-00 19:54:53.211")),
        ] {
            assert_eq!(ask(expression), (value, Used { time: true, random: false }), "{expression}");
        }
        let (Value::Real(day), _) = ask("julianday('now')") else { panic!() };
        assert!((day - 2_451_943.670_217_465).abs() < 1e-8, "{day}");
    }

    #[test]
    fn other_times_are_as_sqlite_has_them() {
        let sqlite = Connection::open_in_memory().unwrap();
        for expression in [
            "datetime('2024-02-29 12:00', '+1 year')",
            "datetime(0, 'unixepoch')",
            "date('nonsense')",
            "date(NULL)",
            "strftime('now', '2024-01-01')",
            "strftime('%J', 2460000.5)",
            "timediff('2024-01-01', '2023-01-01')",
            "datetime('2024-01-01', 'subsec')",
        ] {
            let expected: Value = sqlite.query_row(&format!("SELECT {expression}"), [], |row| row.get(0)).unwrap();
            assert_eq!(ask(expression), (expected, Used::default()), "{expression}");
        }
    }

    #[test]
    fn each_run_has_the_same_chance_and_each_moment_another() {
        let draw = |frozen: &Frozen| {
            let connection = Connection::open_in_memory().unwrap();
            let usage = frozen.install(&connection).unwrap();
            let sql = "SELECT random() || ' ' || random() || hex(randomblob(16)) || hex(randomblob('x'))";
            let drawn: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
            assert_eq!(usage.used(), Used { time: false, random: true });
            drawn
        };
        let frozen = Frozen::new().unwrap();
        assert_eq!(draw(&frozen), draw(&frozen));
        assert_ne!(draw(&frozen), draw(&Frozen::new().unwrap()));
        let two = ask("random() = random()").0;
        assert_eq!(two, Value::Integer(0));
        assert_eq!(ask("length(randomblob(0)) || length(randomblob(2.9))").0, Value::Text("12".to_owned()));
    }

    #[test]
    fn a_column_may_still_have_the_present_by_default_and_an_index_a_date() {
        let connection = Connection::open_in_memory().unwrap();
        moment().install(&connection).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE t(a TEXT DEFAULT CURRENT_TIMESTAMP, b AS (date(a, '+1 day')) STORED);
             CREATE INDEX i ON t(date(a));
             INSERT INTO t DEFAULT VALUES",
            )
            .unwrap();
        let row = connection.query_row("SELECT a || b FROM t WHERE date(a) = '2001-02-03'", [], |row| row.get(0));
        assert_eq!(row, Ok("2001-02-03 04:05:062001-02-04".to_owned()));
    }
}
