//! One query, and what it found.

use rusqlite::{Connection, Statement};
use serde_json::{Value, json};

use crate::bind::{Binder, Bound};
use crate::cell::Cell;
use crate::guard::{Guard, May, Refusal};
use crate::params::{MAX_CELL_BYTES, MAX_ROWS};
use crate::problem::Problem;
use crate::table::Table;
use crate::text::count;

/// How many bytes the rows of one result have at most, as text.
const RESULT_BYTES: usize = 64 * 1024;

/// How much of a result is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The most rows.
    pub(crate) rows: usize,
    /// The most bytes of one value.
    pub(crate) cell_bytes: usize,
}

/// What a query found.
#[derive(Debug)]
pub(crate) struct Found {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    more: Option<More>,
}

#[derive(Debug)]
struct Column {
    name: String,
    declared: Option<String>,
}

/// Why there are more rows than were returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    /// As many were asked for.
    Rows,
    /// As many fit.
    Bytes,
}

/// Runs the one statement of `sql`, which must not write.
pub(crate) fn query(connection: &mut Connection, sql: &str, bound: &Bound, limits: Limits) -> Result<Found, Problem> {
    if sql.contains('\0') {
        return Err(Problem::Nul);
    }
    let guard = Guard::set(connection, May::Read)?;
    let mut statement = connection.prepare(sql).map_err(|error| guard.problem(error))?;
    // What has no action of its own for the guard to see, such as VACUUM.
    if !statement.readonly() {
        return Err(Problem::Refused(Refusal::Write));
    }
    let mut binder = Binder::new(bound);
    binder.bind(&mut statement)?;
    binder.finish()?;
    let columns = columns(&statement);
    let mut found = Found { columns, rows: Vec::new(), more: None };
    let mut size = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|error| guard.problem(error))? {
        if found.rows.len() == limits.rows {
            found.more = Some(More::Rows);
            break;
        }
        let cells = (0..found.columns.len()).map(|at| Ok(Cell::new(row.get_ref(at)?, limits.cell_bytes)));
        let cells = cells.collect::<Result<Vec<_>, rusqlite::Error>>()?;
        size += cells.iter().map(Cell::size).sum::<usize>();
        if size > RESULT_BYTES {
            found.more = Some(More::Bytes);
            break;
        }
        found.rows.push(cells);
    }
    Ok(found)
}

fn columns(statement: &Statement<'_>) -> Vec<Column> {
    let column = |column: rusqlite::Column<'_>| Column {
        name: column.name().to_owned(),
        declared: column.decl_type().map(str::to_owned),
    };
    statement.columns().map(column).collect()
}

impl Found {
    /// A table for the model, with a last line that says whether it is whole; and details for programs.
    pub(crate) fn present(mut self, limits: Limits) -> (String, Value) {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let table = Table::new(&names, &self.rows);
        let fitting = table.rows_within(RESULT_BYTES);
        let mut text = table.text(fitting);
        if fitting < self.rows.len() {
            self.rows.truncate(fitting);
            self.more = Some(More::Bytes);
        }
        text.push_str(&self.ending(limits));
        let columns: Vec<_> =
            self.columns.iter().map(|column| json!({"name": column.name, "type": column.declared})).collect();
        let rows: Vec<Vec<_>> = self.rows.iter().map(|row| row.iter().map(Cell::json).collect()).collect();
        (text, json!({"columns": columns, "rows": rows, "truncated": self.more.is_some()}))
    }

    fn ending(&self, limits: Limits) -> String {
        let rows = count(self.rows.len() as u64, "row");
        let mut ending = match self.more {
            None => format!("{rows}."),
            Some(More::Rows) => format!(
                "{rows}, cut there: more follow. Raise `maxRows` (at most {MAX_ROWS}), narrow the query, or go on with \
                 LIMIT and OFFSET."
            ),
            Some(More::Bytes) => format!(
                "{rows}, cut there: more follow, and a result has at most {} KiB. Select fewer columns, lower \
                 `maxCellBytes`, or go on with LIMIT and OFFSET.",
                RESULT_BYTES / 1024
            ),
        };
        if self.rows.iter().flatten().any(Cell::is_cut) {
            ending.push_str(&format!(
                " `…` marks values cut at {}: raise `maxCellBytes` (at most {MAX_CELL_BYTES}), or use substr().",
                count(limits.cell_bytes as u64, "byte")
            ));
        }
        ending
    }
}

#[cfg(test)]
mod tests;
