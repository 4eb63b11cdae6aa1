//! A change in words.

use crate::cell::Cell;
use crate::changes::{Changes, ObjectChange};
use crate::diff::{RowChange, TableChange, Values};
use crate::frozen::Used;
use crate::text::{count, list, name, statement};

/// How many rows are shown in all.
const ROWS: usize = 50;
/// How many tables and how many objects are shown in all.
const LINES: usize = 100;
/// How many characters a line may have before the rest of its values is left out.
const LINE: usize = 500;

/// How many characters of a name a label has.
const NAME: usize = 60;

/// What a person decides on, in a few words.
pub(crate) fn label(changes: &Changes) -> String {
    let rows = rows_label(changes.visible());
    let Some(objects) = objects_label(&changes.objects) else {
        return rows.unwrap_or_default();
    };
    let Some(rows) = rows else {
        return objects;
    };
    if let ([object], [table]) = (&changes.objects[..], changes.visible()) {
        let comes_or_goes = object.before.is_none() || object.after.is_none();
        if object.kind == "table" && object.name == table.name && comes_or_goes {
            return format!("{objects} with {}", count(table.rows(), "row"));
        }
    }
    format!("{objects}, and {}{}", rows[..1].to_lowercase(), &rows[1..])
}

fn rows_label(tables: &[TableChange]) -> Option<String> {
    let all = count(tables.iter().map(TableChange::rows).sum(), "row");
    match tables {
        [] => None,
        [table] => {
            let table_name = short(&table.name);
            Some(match (table.inserted, table.updated, table.deleted) {
                (_, 0, 0) => format!("Insert {all} into {table_name}"),
                (0, _, 0) => format!("Update {all} in {table_name}"),
                (0, 0, _) => format!("Delete {all} from {table_name}"),
                _ => format!("Change {all} in {table_name}"),
            })
        }
        several => Some(format!("Change {all} in {}", count(several.len() as u64, "table"))),
    }
}

fn objects_label(objects: &[ObjectChange]) -> Option<String> {
    match objects {
        [] => None,
        [one] if one.kind == "pragma" => {
            Some(format!("Set {} to {}", one.name, one.after.as_deref().unwrap_or_default()))
        }
        [one] => {
            let verb = match (&one.before, &one.after) {
                (None, _) => "Create",
                (_, None) => "Drop",
                _ => "Alter",
            };
            Some(format!("{verb} {} {}", one.kind, short(&one.name)))
        }
        several => Some(format!("Change {} of the schema", count(several.len() as u64, "object"))),
    }
}

/// A name that leaves a label short.
fn short(long: &str) -> String {
    let kept: String = long.chars().take(NAME).collect();
    if kept == long { name(long) } else { format!("{}…", name(&kept)) }
}

/// All of a change that a person should see: counts, the first rows before and after, the schema.
pub(crate) fn text(changes: &Changes) -> String {
    let mut lines: Vec<String> = changes.objects.iter().take(LINES).map(object).collect();
    if changes.objects.len() > LINES {
        lines.push(format!("… {} of the schema", count((changes.objects.len() - LINES) as u64, "more object")));
    }
    let (visible, books) = changes.tables.split_at(changes.visible().len());
    let mut room = ROWS;
    for table in visible.iter().take(LINES) {
        lines.push(format!("{}: {}", name(&table.name), counts(table)));
        let shown = table.first.len().min(room);
        room -= shown;
        lines.extend(table.first[..shown].iter().map(row));
        let left = table.rows() - shown as u64;
        if left > 0 {
            lines.push(format!("… {}", count(left, "more row")));
        }
    }
    if visible.len() > LINES {
        lines.push(format!("… {}", count((visible.len() - LINES) as u64, "more table")));
    }
    if !books.is_empty() {
        let all = count(books.iter().map(TableChange::rows).sum(), "row");
        let names: Vec<_> = books.iter().take(LINES).map(|table| name(&table.name)).collect();
        lines.push(format!("SQLite's own: {all} in {}", list(&names)));
    }
    lines.join("\n")
}

/// What `used` means for whoever decides; nothing where nothing was used.
pub(crate) fn moment(used: Used, now: &str) -> String {
    let mut kept = Vec::new();
    if used.time {
        kept.push(format!("the present time ({now} UTC)"));
    }
    if used.random {
        kept.push("the random values".to_owned());
    }
    if kept.is_empty() { String::new() } else { format!(" It keeps {} of this preview.", list(&kept)) }
}

/// The counts of all that changes, in one line.
pub(crate) fn summary(changes: &Changes) -> String {
    let objects = (!changes.objects.is_empty())
        .then(|| format!("{} of the schema", count(changes.objects.len() as u64, "object")));
    let tables = changes.visible().iter().map(|table| format!("{}: {}", name(&table.name), counts(table)));
    let all: Vec<_> = objects.into_iter().chain(tables).collect();
    match all.len().checked_sub(LINES) {
        Some(left) if left > 0 => format!("{}; … {}", all[..LINES].join("; "), count(left as u64, "more table")),
        _ => all.join("; "),
    }
}

fn object(change: &ObjectChange) -> String {
    let what = format!("{} {}", change.kind, name(&change.name));
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => format!("~ {what}: {} -> {}", cut(&statement(before)), cut(&statement(after))),
        (Some(gone), None) => format!("- {what}: {}", cut(&statement(gone))),
        (_, new) => format!("+ {what}: {}", cut(&statement(new.as_deref().unwrap_or_default()))),
    }
}

fn counts(table: &TableChange) -> String {
    let counts = [(table.inserted, "inserted"), (table.updated, "updated"), (table.deleted, "deleted")];
    let counts: Vec<_> = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    counts.join(", ")
}

fn row(change: &RowChange) -> String {
    let pair = |(column, cell): &(String, Cell)| format!("{} {}", name(column), cell.quoted());
    let key: Vec<_> = change.key.iter().map(pair).collect();
    let rest = |values: &Values| -> Vec<String> {
        values.iter().filter(|(column, _)| !change.key.iter().any(|(key, _)| key == column)).map(pair).collect()
    };
    let (sign, values) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => ('~', change.changed.iter().map(|at| difference(at, before, after)).collect()),
        (Some(gone), None) => ('-', rest(gone)),
        (_, new) => ('+', new.as_ref().map(rest).unwrap_or_default()),
    };
    let mut line = format!("{sign} {}", key.join(", "));
    for (at, value) in values.iter().enumerate() {
        if line.chars().count() > LINE {
            line.push_str(&format!(", … {}", count((values.len() - at) as u64, "more column")));
            break;
        }
        line.push_str(if at == 0 { ": " } else { ", " });
        line.push_str(value);
    }
    line
}

fn difference(column: &str, before: &Values, after: &Values) -> String {
    let find = |values: &Values| values.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.clone());
    let (old, new) = (find(before), find(after));
    let shown = |cell: &Option<Cell>| cell.as_ref().map_or_else(|| "NULL".to_owned(), Cell::quoted);
    // What is kept of long values may be the same.
    let hint = if old == new { " (differs beyond what is shown)" } else { "" };
    format!("{} {} -> {}{hint}", name(column), shown(&old), shown(&new))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
