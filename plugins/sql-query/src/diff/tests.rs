use rusqlite::types::ValueRef;

use super::*;
use crate::schema::Schema;

/// What `change` does to the table `t` that `base` makes.
fn changed(base: &str, change: &str) -> TableChange {
    let [before, after] = [base, &format!("{base};{change}")].map(|sql| {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        let schema = Schema::read(&connection).unwrap();
        (connection, schema)
    });
    let [before, after] =
        [&before, &after].map(|(connection, schema)| Side { connection, table: schema.tables.get("t") });
    diff("t", before, after).unwrap()
}

fn counts(change: &TableChange) -> (u64, u64, u64) {
    (change.inserted, change.updated, change.deleted)
}

fn named(values: &[(&str, ValueRef<'_>)]) -> Values {
    values.iter().map(|(name, value)| ((*name).to_owned(), Cell::new(*value, CELL_BYTES))).collect()
}

const ROWS: &str =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')";
const KEYED: &str = "CREATE TABLE t(k TEXT COLLATE NOCASE, n INTEGER, v, PRIMARY KEY(k, n)) WITHOUT ROWID;
                     INSERT INTO t VALUES ('a', 1, 1), ('a', 2, NULL), ('B', 1, 'x')";

/// Its primary key knows less or more alike than its column does.
const STRICT_KEY: &str = "CREATE TABLE t(k TEXT COLLATE NOCASE, v, PRIMARY KEY(k COLLATE BINARY)) WITHOUT ROWID;
                          INSERT INTO t VALUES ('a', 1), ('A', 2)";
const LOOSE_KEY: &str = "CREATE TABLE t(k TEXT, v, PRIMARY KEY(k COLLATE NOCASE)) WITHOUT ROWID;
                         INSERT INTO t VALUES ('a', 1), ('b', 2)";

#[test]
fn each_row_that_differs_is_there_before_and_after() {
    let change = changed(
        ROWS,
        "UPDATE t SET name = 'B' WHERE id = 2; DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (9, NULL)",
    );
    let row = |id, name| named(&[("id", ValueRef::Integer(id)), ("name", name)]);
    let key = |id| named(&[("id", ValueRef::Integer(id))]);
    let text = ValueRef::Text;
    let changed = vec!["name".to_owned()];
    let expected = TableChange {
        name: "t".to_owned(),
        kind: Kind::Plain,
        inserted: 1,
        updated: 1,
        deleted: 1,
        first: vec![
            RowChange { key: key(2), before: Some(row(2, text(b"b"))), after: Some(row(2, text(b"B"))), changed },
            RowChange { key: key(9), before: None, after: Some(row(9, ValueRef::Null)), changed: vec![] },
            RowChange { key: key(3), before: Some(row(3, text(b"c"))), after: None, changed: vec![] },
        ],
    };
    assert_eq!(change, expected);
    assert_eq!(change.rows(), 3);
}

#[test]
fn whatever_way_rows_change_they_are_counted() {
    for (base, change, expected) in [
        (ROWS, "UPDATE t SET name = 'a' WHERE id = 1", (0, 0, 0)),
        (ROWS, "UPDATE t SET name = x'61' WHERE id = 1", (0, 1, 0)),
        (ROWS, "REPLACE INTO t VALUES (2, 'z')", (0, 1, 0)),
        (ROWS, "DELETE FROM t", (0, 0, 3)),
        (ROWS, "UPDATE t SET id = id + 10", (3, 0, 3)),
        (ROWS, "DROP TABLE t", (0, 0, 3)),
        (ROWS, "ALTER TABLE t ADD COLUMN c", (0, 0, 0)),
        (ROWS, "ALTER TABLE t ADD COLUMN c DEFAULT 5", (0, 3, 0)),
        (ROWS, "UPDATE t SET name = NULL WHERE id = 1; ALTER TABLE t DROP COLUMN name", (0, 3, 0)),
        ("SELECT 1", "CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)", (2, 0, 0)),
        (KEYED, "UPDATE t SET v = 2 WHERE k = 'A'", (0, 2, 0)),
        (KEYED, "UPDATE t SET k = 'b' WHERE k = 'B'", (0, 1, 0)),
        (&format!("PRAGMA encoding = 'UTF-16'; {KEYED}"), "UPDATE t SET k = 'ü' WHERE k = 'B'", (1, 0, 1)),
        (KEYED, "DELETE FROM t WHERE n = 2; INSERT INTO t VALUES ('c', 1, 1)", (1, 0, 1)),
        (
            STRICT_KEY,
            "UPDATE t SET v = 9 WHERE k = 'a' COLLATE BINARY; DELETE FROM t WHERE k = 'A' COLLATE BINARY",
            (0, 1, 1),
        ),
        (LOOSE_KEY, "UPDATE t SET k = 'A' WHERE k = 'a'", (0, 1, 0)),
        (KEYED, "DROP TABLE t; CREATE TABLE t(k, n); INSERT INTO t VALUES (1, 2)", (1, 0, 3)),
        (
            "CREATE VIRTUAL TABLE t USING fts5(a); INSERT INTO t VALUES ('x')",
            "UPDATE t SET a = 'y'; INSERT INTO t VALUES ('z')",
            (1, 1, 0),
        ),
    ] {
        assert_eq!(counts(&changed(base, change)), expected, "{change}");
    }
}

#[test]
fn rows_are_told_apart_by_their_primary_key_or_else_by_their_rowid() {
    let change = changed(KEYED, "UPDATE t SET v = 3 WHERE k = 'B'");
    assert_eq!(change.first[0].key, named(&[("k", ValueRef::Text(b"B")), ("n", ValueRef::Integer(1))]));
    let change = changed("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE a = 2");
    assert_eq!(change.first[0].key, named(&[("rowid", ValueRef::Integer(2))]));
    let change = changed(STRICT_KEY, "UPDATE t SET v = 9 WHERE k = 'a' COLLATE BINARY");
    assert_eq!(change.first[0].key, named(&[("k", ValueRef::Text(b"a"))]));
    let renamed = changed("CREATE TABLE t(a TEXT PRIMARY KEY); INSERT INTO t VALUES ('x')", "UPDATE t SET a = 'y'");
    assert_eq!(renamed.first[0].key, named(&[("a", ValueRef::Text(b"x"))]));
    assert_eq!(renamed.first[0].changed, ["a"]);
}

#[test]
fn of_many_rows_the_first_of_each_kind_are_kept() {
    let many = "CREATE TABLE t(id INTEGER PRIMARY KEY, v);
                WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 90) INSERT INTO t SELECT i, i FROM n";
    let change = changed(
        many,
        "UPDATE t SET v = 0 WHERE id <= 30; DELETE FROM t WHERE id BETWEEN 31 AND 60; INSERT INTO t SELECT id + 100, 1 FROM t WHERE id > 60",
    );
    assert_eq!(counts(&change), (30, 30, 30));
    let kinds = |kind: fn(&&RowChange) -> bool| change.first.iter().filter(kind).count();
    let updated = kinds(|row| row.before.is_some() && row.after.is_some());
    assert_eq!((updated, kinds(|row| row.before.is_none()), kinds(|row| row.after.is_none())), (10, 10, 10));
}

#[test]
fn long_values_that_differ_at_their_end_are_a_difference() {
    let base = "CREATE TABLE t(a); INSERT INTO t VALUES (hex(zeroblob(500)))";
    let change = changed(base, "UPDATE t SET a = substr(a, 2) || '1'");
    assert_eq!((counts(&change), &change.first[0].changed[..]), ((0, 1, 0), &["a".to_owned()][..]));
    assert_eq!(change.first[0].before, change.first[0].after);
}
