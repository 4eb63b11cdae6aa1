//! What a change does to a database, for people and for programs.

use std::collections::BTreeSet;

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::cell::Cell;
use crate::diff::{RowChange, Side, TableChange, Values, diff};
use crate::frozen::Used;
use crate::problem::Problem;
use crate::schema::{Kind, Schema, Table};

/// All differences between two states of a database.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Changes {
    /// The objects that came, went or were altered, but for those that belong to others.
    pub(crate) objects: Vec<ObjectChange>,
    /// The tables with rows that differ; at the end those in which SQLite keeps its books.
    pub(crate) tables: Vec<TableChange>,
    /// What of its moment the change used.
    pub(crate) used: Used,
}

/// One object of the schema, or a number of the file, that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectChange {
    /// `table`, `index`, `view`, `trigger` or `pragma`.
    pub(crate) kind: String,
    /// Its name.
    pub(crate) name: String,
    /// The statement that makes it, or the number, before.
    pub(crate) before: Option<String>,
    /// The same afterwards.
    pub(crate) after: Option<String>,
}

impl Changes {
    /// Compares two states of a database, which differ in the `stored` tables, and the virtual ones behind which those
    /// are.
    pub(crate) fn between(
        before: (&Connection, &Schema),
        after: (&Connection, &Schema),
        stored: &BTreeSet<String>,
        used: Used,
    ) -> Result<Self, Problem> {
        // A module names its own tables after the one that it answers for.
        let is_behind =
            |name: &String, table: &Table| name.strip_prefix(&table.name).is_some_and(|rest| rest.starts_with('_'));
        let all = before.1.tables.values().chain(after.1.tables.values());
        let answered =
            all.filter(|table| table.kind == Kind::Virtual && stored.iter().any(|name| is_behind(name, table)));
        let names: BTreeSet<&String> = stored.iter().chain(answered.map(|table| &table.name)).collect();
        let mut tables = Vec::new();
        for name in names {
            let [before, after] =
                [before, after].map(|(connection, schema)| Side { connection, table: schema.tables.get(name) });
            let change = diff(name, before, after)?;
            if change.rows() > 0 {
                tables.push(change);
            }
        }
        tables.sort_by_key(|table| table.kind == Kind::Internal);
        Ok(Self { objects: objects(before.1, after.1), tables, used })
    }

    /// Whether nothing differs.
    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.tables.is_empty()
    }

    /// The tables whose rows people see; all of them where there is no other change.
    pub(crate) fn visible(&self) -> &[TableChange] {
        let books = self.tables.iter().filter(|table| table.kind == Kind::Internal).count();
        let visible = self.tables.len() - books;
        if visible == 0 && self.objects.is_empty() { &self.tables } else { &self.tables[..visible] }
    }

    /// For programs.
    pub(crate) fn json(&self) -> Map<String, Value> {
        let mut json = Map::new();
        json.insert("schema".to_owned(), self.objects.iter().map(ObjectChange::json).collect());
        json.insert("tables".to_owned(), self.tables.iter().map(TableChange::json).collect());
        json
    }
}

fn objects(before: &Schema, after: &Schema) -> Vec<ObjectChange> {
    let keys: BTreeSet<_> = before.objects.keys().chain(after.objects.keys()).collect();
    let objects = keys.into_iter().map(|key| ObjectChange {
        kind: key.0.clone(),
        name: key.1.clone(),
        before: before.objects.get(key).cloned(),
        after: after.objects.get(key).cloned(),
    });
    let of_another = |change: &ObjectChange| {
        let table = after.tables.get(&change.name).or_else(|| before.tables.get(&change.name));
        let is_books = change.kind == "table" && table.is_some_and(|table| table.kind == Kind::Internal);
        // The index of a constraint has no statement.
        is_books || [&change.before, &change.after].into_iter().flatten().all(String::is_empty)
    };
    let numbers = before.numbers.iter().map(|(name, number)| ObjectChange {
        kind: "pragma".to_owned(),
        name: (*name).to_owned(),
        before: Some(number.to_string()),
        after: after.numbers.get(name).map(ToString::to_string),
    });
    objects.filter(|change| !of_another(change)).chain(numbers).filter(|change| change.before != change.after).collect()
}

impl ObjectChange {
    fn json(&self) -> Value {
        json!({"kind": self.kind, "name": self.name, "before": self.before, "after": self.after})
    }
}

impl TableChange {
    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "internal": self.kind == Kind::Internal,
            "inserted": self.inserted,
            "updated": self.updated,
            "deleted": self.deleted,
            "first": self.first.iter().map(RowChange::json).collect::<Vec<_>>(),
        })
    }
}

impl RowChange {
    fn json(&self) -> Value {
        let values = |values: &Values| -> Map<String, Value> {
            values.iter().map(|(column, cell)| (column.clone(), Cell::json(cell))).collect()
        };
        json!({
            "key": values(&self.key),
            "before": self.before.as_ref().map(values),
            "after": self.after.as_ref().map(values),
            "changed": self.changed,
        })
    }
}
