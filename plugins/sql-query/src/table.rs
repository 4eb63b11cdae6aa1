//! Rows as an aligned table.

use unicode_width::UnicodeWidthStr;

use crate::cell::Cell;
use crate::text::name;

/// Up to which width a column is as wide as its widest value. A wider value moves the rest of its own row alone.
const ALIGNED: usize = 40;
/// What stands between two columns.
const BETWEEN: &str = " | ";

/// A table laid out, ready to be written.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    /// Which columns hold numbers alone.
    right: Vec<bool>,
}

impl Table {
    /// Lays out `rows` under the names of their columns.
    pub(crate) fn new(columns: &[&str], rows: &[Vec<Cell>]) -> Self {
        let head: Vec<String> = columns.iter().map(|column| name(column)).collect();
        let shown: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
        let width = |at: usize| {
            let widths = shown.iter().map(|row| row[at].width()).filter(|width| *width <= ALIGNED);
            widths.max().unwrap_or(0).max(head[at].width().min(ALIGNED))
        };
        let is_number = |at: usize| {
            let mut values = rows.iter().map(|row| &row[at]).filter(|cell| !cell.is_null()).peekable();
            values.peek().is_some() && values.all(Cell::is_number)
        };
        let widths = (0..head.len()).map(width).collect();
        let right = (0..head.len()).map(is_number).collect();
        Self { head, rows: shown, widths, right }
    }

    /// How many of the rows fit into this many bytes.
    pub(crate) fn rows_within(&self, bytes: usize) -> usize {
        let mut used = 0;
        let fits = |row: &&Vec<String>| {
            used += self.line(row).len() + 1;
            used <= bytes
        };
        self.rows.iter().take_while(fits).count()
    }

    /// Head, rule and the first `rows` rows, each on a line of its own; nothing where there is no column.
    pub(crate) fn text(&self, rows: usize) -> String {
        if self.head.is_empty() {
            return String::new();
        }
        let rule: Vec<String> = self.widths.iter().map(|width| "-".repeat(*width)).collect();
        let mut text = format!("{}\n{}\n", self.line(&self.head), rule.join("-+-"));
        for row in &self.rows[..rows] {
            text.push_str(&self.line(row));
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[String]) -> String {
        let pad = |(at, cell): (usize, &String)| {
            let blank = " ".repeat(self.widths[at].saturating_sub(cell.width()));
            if self.right[at] { format!("{blank}{cell}") } else { format!("{cell}{blank}") }
        };
        let cells: Vec<String> = cells.iter().enumerate().map(pad).collect();
        cells.join(BETWEEN).trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::types::ValueRef;

    use super::*;

    fn row(values: [ValueRef<'_>; 3]) -> Vec<Cell> {
        values.map(|value| Cell::new(value, 100)).into()
    }

    #[test]
    fn columns_are_aligned_by_what_a_reader_sees() {
        let long = "x".repeat(41);
        let rows = [
            row([ValueRef::Integer(7), ValueRef::Text("東京".as_bytes()), ValueRef::Text(b"a")]),
            row([ValueRef::Null, ValueRef::Text(b"Ada"), ValueRef::Null]),
            row([ValueRef::Real(1.5), ValueRef::Text(long.as_bytes()), ValueRef::Text(b"b")]),
        ];
        let table = Table::new(&["id", "name", "note"], &rows);
        let lines = [
            "  id | name | note",
            "-----+------+-----",
            "   7 | 東京 | a",
            "NULL | Ada  | NULL",
            &format!(" 1.5 | {long} | b"),
        ];
        assert_eq!(table.text(3), lines.join("\n") + "\n");
        assert_eq!(table.text(0), lines[..2].join("\n") + "\n");
        let bytes = lines[2].len() + 1 + lines[3].len() + 1;
        assert_eq!((table.rows_within(bytes), table.rows_within(bytes - 1)), (2, 1));
    }

    #[test]
    fn a_statement_without_columns_has_no_table() {
        assert_eq!(Table::new(&[], &[]).text(0), "");
    }
}
