//! A fingerprint of what a database says, table by table.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use sha2::{Digest, Sha256};

use crate::problem::Problem;
use crate::schema::{Kind, Schema, Table};
use crate::text::name;

type Hash = [u8; 32];

/// What a database says: its schema, and the rows of its tables with their rowids.
///
/// Nothing of how the file says it counts, so that a checkpoint, another journal mode or a VACUUM that keeps the rowids
/// is no change, as the time of the file is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    schema: Hash,
    tables: BTreeMap<String, Hash>,
}

impl State {
    /// Of a whole database; have a transaction open.
    pub(crate) fn of(connection: &Connection, schema: &Schema) -> Result<Self, Problem> {
        // What a virtual table says stands in tables of its module, or is no part of the file.
        let stored = schema.tables.values().filter(|table| table.kind != Kind::Virtual);
        let hashed = stored.map(|table| Ok((table.name.clone(), hash_rows(connection, table)?)));
        Ok(Self { schema: hash_schema(schema), tables: hashed.collect::<Result<_, Problem>>()? })
    }

    /// The tables that are not the same in the other.
    pub(crate) fn changed_tables(&self, other: &Self) -> BTreeSet<String> {
        let names = self.tables.keys().chain(other.tables.keys());
        names.filter(|name| self.tables.get(*name) != other.tables.get(*name)).cloned().collect()
    }

    /// Where the other differs, in words: `the schema`, and tables by name.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let schema = (self.schema != other.schema).then(|| "the schema".to_owned());
        schema.into_iter().chain(self.changed_tables(other).iter().map(|table| name(table))).collect()
    }

    /// All of it as one hash, in hexadecimal.
    pub(crate) fn hex(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(self.schema);
        for (name, rows) in &self.tables {
            bytes(&mut hash, b'n', name.as_bytes());
            hash.update(rows);
        }
        hex::encode(hash.finalize())
    }
}

fn hash_schema(schema: &Schema) -> Hash {
    let mut hash = Sha256::new();
    for ((kind, name), sql) in &schema.objects {
        for text in [kind, name, sql] {
            bytes(&mut hash, b't', text.as_bytes());
        }
    }
    for (name, number) in &schema.numbers {
        bytes(&mut hash, b'n', name.as_bytes());
        hash.update(number.to_le_bytes());
    }
    hash.finalize().into()
}

fn hash_rows(connection: &Connection, table: &Table) -> Result<Hash, Problem> {
    let mut hash = Sha256::new();
    let mut statement = connection.prepare(&table.select_in_order())?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for at in 0..columns {
            value(&mut hash, row.get_ref(at)?);
        }
    }
    Ok(hash.finalize().into())
}

/// Each value with its kind and length, so that no two rows read the same.
fn value(hash: &mut Sha256, value: ValueRef<'_>) {
    match value {
        ValueRef::Null => hash.update(b"0"),
        ValueRef::Integer(n) => bytes(hash, b'i', &n.to_le_bytes()),
        ValueRef::Real(x) => bytes(hash, b'r', &x.to_bits().to_le_bytes()),
        ValueRef::Text(text) => bytes(hash, b't', text),
        ValueRef::Blob(blob) => bytes(hash, b'b', blob),
    }
}

fn bytes(hash: &mut Sha256, kind: u8, bytes: &[u8]) {
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "CREATE TABLE t(a); CREATE TABLE u(a, b, PRIMARY KEY(a)) WITHOUT ROWID; CREATE TABLE v(a);
                        INSERT INTO t VALUES (1), ('x'); INSERT INTO u VALUES ('a', 'bc');";

    fn state(sql: &str) -> State {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(BASE).unwrap();
        connection.execute_batch(sql).unwrap();
        State::of(&connection, &Schema::read(&connection).unwrap()).unwrap()
    }

    #[test]
    fn every_difference_in_what_is_said_is_seen_and_named() {
        let base = state("");
        for (sql, differences) in [
            ("UPDATE t SET a = 1.0 WHERE a = 1", vec!["t"]),
            ("UPDATE t SET a = x'78' WHERE a = 'x'", vec!["t"]),
            ("UPDATE t SET rowid = 7 WHERE a = 1", vec!["t"]),
            ("UPDATE t SET a = NULL; DELETE FROM u", vec!["t", "u"]),
            ("UPDATE u SET a = 'ab', b = 'c'", vec!["u"]),
            ("CREATE INDEX i ON t(a)", vec!["the schema"]),
            ("DROP TABLE v", vec!["the schema", "v"]),
            ("PRAGMA user_version = 2", vec!["the schema"]),
            ("PRAGMA application_id = 2", vec!["the schema"]),
        ] {
            let other = state(sql);
            assert_eq!(base.differences(&other), differences, "{sql}");
            assert_ne!(base.hex(), other.hex());
        }
    }

    #[test]
    fn how_it_came_about_makes_no_difference() {
        let base = state("");
        let same =
            "DELETE FROM t; INSERT INTO t(rowid, a) VALUES (2, 'x'); INSERT INTO t(rowid, a) VALUES (1, 1); VACUUM";
        assert_eq!(base.differences(&state(same)), Vec::<String>::new());
        assert_eq!(base.hex(), state(same).hex());
    }
}
