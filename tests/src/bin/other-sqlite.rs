//! Another program with a connection to a database: runs each line of its input on the file that it is given, and
//! answers with one line, `ok: ` and all values that were returned, or `error: ` and why not. It never waits for a lock.

use std::env;
use std::error::Error;
use std::io::{Write, stdin, stdout};
use std::time::Duration;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::Value;
use rusqlite::{Batch, Connection};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("it wants a path")?;
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::ZERO)?;
    for line in stdin().lines() {
        let answer = match run(&connection, &line?) {
            Ok(values) => format!("ok: {}", values.join(",")),
            Err(error) => format!("error: {error}"),
        };
        writeln!(stdout(), "{answer}")?;
    }
    Ok(())
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<String>> {
    let mut values = Vec::new();
    let mut batch = Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            for at in 0..columns {
                values.push(match row.get(at)? {
                    Value::Null => "NULL".to_owned(),
                    Value::Integer(n) => n.to_string(),
                    Value::Real(x) => x.to_string(),
                    Value::Text(text) => text,
                    Value::Blob(bytes) => format!("{bytes:?}"),
                });
            }
        }
    }
    Ok(values)
}
