//! The rows that differ between two states of one table.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row, Statement, params_from_iter};

use crate::cell::Cell;
use crate::problem::Problem;
use crate::schema::{Kind, Table};

/// How many inserted, how many updated and how many deleted rows of a table are kept to be shown.
const FIRST_ROWS: u64 = 10;
/// How much of a value is kept of them.
const CELL_BYTES: usize = 200;

/// How many rows of one table differ, and the first of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TableChange {
    /// The table's name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// How many rows there are that were not there.
    pub(crate) inserted: u64,
    /// How many rows have another value than before.
    pub(crate) updated: u64,
    /// How many rows are gone.
    pub(crate) deleted: u64,
    /// Of each of these, the first.
    pub(crate) first: Vec<RowChange>,
}

/// Values by the names of their columns.
pub(crate) type Values = Vec<(String, Cell)>;

/// One row that differs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowChange {
    /// What tells it apart, by name: its primary key, or its rowid.
    pub(crate) key: Values,
    /// Its values before, by column; none of a row that was not there.
    pub(crate) before: Option<Values>,
    /// Its values after, by column; none of a row that is gone.
    pub(crate) after: Option<Values>,
    /// The columns that differ, of a row that was there and still is.
    pub(crate) changed: Vec<String>,
}

impl TableChange {
    /// How many rows differ.
    pub(crate) fn rows(&self) -> u64 {
        self.inserted + self.updated + self.deleted
    }
}

/// One side of a comparison: a connection, and the table as it is there.
#[derive(Clone, Copy)]
pub(crate) struct Side<'s> {
    /// The connection.
    pub(crate) connection: &'s Connection,
    /// The table, where there is one.
    pub(crate) table: Option<&'s Table>,
}

/// Compares all rows of a table. A column that one side lacks counts as NULL there.
///
/// It looks up each row of one side by its key in the other: SQLite alone knows in which order it keeps them. The hooks
/// of SQLite would name changed rows without reading all of them, but not each one: not what REPLACE removes, and
/// nothing of a table without rowids.
pub(crate) fn diff(name: &str, before: Side<'_>, after: Side<'_>) -> Result<TableChange, Problem> {
    let kind = after.table.or(before.table).map_or(Kind::Plain, |table| table.kind);
    let mut change =
        TableChange { name: name.to_owned(), kind, inserted: 0, updated: 0, deleted: 0, first: Vec::new() };
    let mut kept = 0;
    if let Some(table) = after.table {
        let mut rows = after.connection.prepare(&table.select_in_order())?;
        let mut rows = rows.query([])?;
        let mut past = Past::new(before, table)?;
        while let Some(row) = rows.next()? {
            let was_there = past.as_mut().map_or(Ok(false), |past| past.compare(table, row, &mut change))?;
            if was_there {
                kept += 1;
                continue;
            }
            change.inserted += 1;
            if change.inserted <= FIRST_ROWS {
                let new = values(table, row)?;
                let key = key_of(table, row)?;
                change.first.push(RowChange { key, before: None, after: Some(new), changed: Vec::new() });
            }
        }
    }
    if let Some(table) = before.table {
        let all: i64 = before.connection.query_row(&count_of(table), [], |row| row.get(0))?;
        change.deleted = all.unsigned_abs().saturating_sub(kept);
        gone(before.connection, table, after, &mut change)?;
    }
    Ok(change)
}

fn count_of(table: &Table) -> String {
    format!("SELECT count(*) FROM ({})", table.select())
}

/// Where the rows of a table were before, as far as they have the same key there.
struct Past<'s> {
    table: &'s Table,
    find: Statement<'s>,
    columns: Vec<Column<'s>>,
}

/// One column, with its place on each side that has it.
struct Column<'s> {
    name: &'s str,
    before: Option<usize>,
    after: Option<usize>,
}

impl<'s> Past<'s> {
    fn new(side: Side<'s>, now: &'s Table) -> Result<Option<Self>, Problem> {
        let Some(table) = side.table.filter(|table| table.has_key_of(now)) else {
            return Ok(None);
        };
        let place = |columns: &[String], name: &str| columns.iter().position(|column| column == name);
        let present = now.columns.iter().enumerate();
        let mut columns: Vec<_> =
            present.map(|(at, name)| Column { name, before: place(&table.columns, name), after: Some(at) }).collect();
        let lost = table.columns.iter().enumerate().filter(|(_, name)| place(&now.columns, name).is_none());
        columns.extend(lost.map(|(at, name)| Column { name, before: Some(at), after: None }));
        Ok(Some(Self { table, find: side.connection.prepare(&table.select_one())?, columns }))
    }

    /// Adds what became of a row that there was before. False where there was none.
    fn compare(&mut self, now: &Table, row: &Row<'_>, change: &mut TableChange) -> Result<bool, Problem> {
        let keys = now.keys().len();
        let mut rows = self.find.query(key(row, keys)?)?;
        let Some(old) = rows.next()? else {
            return Ok(false);
        };
        let mut changed = Vec::new();
        for column in &self.columns {
            if value(old, keys, column.before)? != value(row, keys, column.after)? {
                changed.push(column.name);
            }
        }
        if !changed.is_empty() {
            change.updated += 1;
            if change.updated <= FIRST_ROWS {
                change.first.push(RowChange {
                    key: key_of(self.table, old)?,
                    before: Some(values(self.table, old)?),
                    after: Some(values(now, row)?),
                    changed: changed.into_iter().map(str::to_owned).collect(),
                });
            }
        }
        Ok(true)
    }
}

/// The value in a column that follows the keys; NULL where there is no such column.
fn value<'r>(row: &'r Row<'_>, keys: usize, column: Option<usize>) -> Result<ValueRef<'r>, Problem> {
    Ok(column.map_or(Ok(ValueRef::Null), |at| row.get_ref(keys + at))?)
}

/// Adds the first rows that are gone.
fn gone(connection: &Connection, table: &Table, after: Side<'_>, change: &mut TableChange) -> Result<(), Problem> {
    let mut left = change.deleted.min(FIRST_ROWS);
    let keys = table.keys().len();
    let mut other = match after.table.filter(|other| other.has_key_of(table)) {
        Some(other) => Some(after.connection.prepare(&other.select_one())?),
        None => None,
    };
    let mut rows = connection.prepare(&table.select_in_order())?;
    let mut rows = rows.query([])?;
    while left > 0 {
        let Some(row) = rows.next()? else {
            break;
        };
        let is_there = match &mut other {
            Some(statement) => statement.exists(key(row, keys)?)?,
            None => false,
        };
        if !is_there {
            left -= 1;
            let old = values(table, row)?;
            let key = key_of(table, row)?;
            change.first.push(RowChange { key, before: Some(old), after: None, changed: Vec::new() });
        }
    }
    Ok(())
}

fn key<'r>(row: &'r Row<'_>, keys: usize) -> Result<impl rusqlite::Params + use<'r>, Problem> {
    let values = (0..keys).map(|at| row.get_ref(at).map(ToSqlOutput::Borrowed));
    Ok(params_from_iter(values.collect::<Result<Vec<_>, _>>()?))
}

fn key_of(table: &Table, row: &Row<'_>) -> Result<Values, Problem> {
    if table.primary.is_empty() {
        return Ok(vec![("rowid".to_owned(), Cell::new(row.get_ref(0)?, CELL_BYTES))]);
    }
    values_of(table, row, &table.primary)
}

fn values(table: &Table, row: &Row<'_>) -> Result<Values, Problem> {
    values_of(table, row, &(0..table.columns.len()).collect::<Vec<_>>())
}

fn values_of(table: &Table, row: &Row<'_>, columns: &[usize]) -> Result<Values, Problem> {
    let keys = table.keys().len();
    let cell = |at: &usize| Ok((table.columns[*at].clone(), Cell::new(row.get_ref(keys + at)?, CELL_BYTES)));
    Ok(columns.iter().map(cell).collect::<Result<_, rusqlite::Error>>()?)
}

#[cfg(test)]
mod tests;
