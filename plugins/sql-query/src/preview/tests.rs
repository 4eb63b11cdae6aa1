use std::collections::BTreeSet;

use rusqlite::Connection;

use super::*;
use crate::schema::Schema;

const BASE: &str = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b); CREATE TABLE u(x); CREATE INDEX i ON t(a);
                    INSERT INTO t VALUES (1, 'one', NULL), (2, 'two', x'00'), (3, 'three', 3.5)";

fn changes(change: &str) -> Changes {
    let [before, after] = [BASE, &format!("{BASE};{change}")].map(|sql| {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        let schema = Schema::read(&connection).unwrap();
        (connection, schema)
    });
    let all: BTreeSet<String> = before.1.tables.keys().chain(after.1.tables.keys()).cloned().collect();
    Changes::between((&before.0, &before.1), (&after.0, &after.1), &all, Used::default()).unwrap()
}

#[test]
fn a_label_says_how_many_rows_and_where() {
    for (change, expected) in [
        ("UPDATE t SET b = 1 WHERE id = 1", "Update 1 row in t"),
        ("INSERT INTO u VALUES (1), (2)", "Insert 2 rows into u"),
        ("DELETE FROM t", "Delete 3 rows from t"),
        ("DELETE FROM t WHERE id = 1; UPDATE t SET a = ''", "Change 3 rows in t"),
        ("DELETE FROM t; INSERT INTO u VALUES (1)", "Change 4 rows in 2 tables"),
        ("CREATE TABLE \"a: b\"(c)", "Create table \"a: b\""),
        ("CREATE TABLE v AS SELECT * FROM t", "Create table v with 3 rows"),
        ("DROP TABLE u", "Drop table u"),
        ("DROP INDEX i", "Drop index i"),
        ("ALTER TABLE u ADD COLUMN y", "Alter table u"),
        ("ALTER TABLE t ADD COLUMN y DEFAULT 1", "Alter table t, and update 3 rows in t"),
        ("CREATE VIEW v AS SELECT 1; CREATE INDEX j ON t(b)", "Change 2 objects of the schema"),
        ("DROP TABLE t", "Change 2 objects of the schema, and delete 3 rows from t"),
        ("PRAGMA user_version = 7", "Set user_version to 7"),
        (
            "CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO n DEFAULT VALUES",
            "Create table n with 1 row",
        ),
        ("CREATE VIRTUAL TABLE d USING fts5(x); INSERT INTO d VALUES ('hello')", "Create table d with 1 row"),
    ] {
        assert_eq!(label(&changes(change)), expected, "{change}");
    }
    let long = format!("CREATE TABLE \"{}\"(a)", "x".repeat(61));
    assert_eq!(label(&changes(&long)), format!("Create table {}…", "x".repeat(60)));
    // Books alone are what changes here.
    assert_eq!(label(&changes("ANALYZE")), "Change 4 rows in 2 tables");
    assert!(changes("REINDEX; UPDATE t SET a = a").is_empty());
}

#[test]
fn a_preview_shows_values_before_and_after_with_their_names() {
    let change = "UPDATE t SET a = 'say \"1\"', b = 2 WHERE id = 1; UPDATE t SET id = 20, b = NULL WHERE id = 2;
                  INSERT INTO u VALUES (9); PRAGMA user_version = 3; CREATE TABLE \"new\"(\n  c\n);
                  DROP INDEX i; ALTER TABLE u ADD COLUMN y";
    let expected = r#"- index i: CREATE INDEX i ON t(a)
+ table new: CREATE TABLE "new"( c )
~ table u: CREATE TABLE u(x) -> CREATE TABLE u(x, y)
~ pragma user_version: 0 -> 3
t: 1 inserted, 1 updated, 1 deleted
~ id 1: a "one" -> "say \"1\"", b NULL -> 2
+ id 20: a "two", b NULL
- id 2: a "two", b x'00'
u: 1 inserted
+ rowid 1: x 9, y NULL"#;
    assert_eq!(text(&changes(change)), expected);
    assert_eq!(
        summary(&changes(change)),
        "4 objects of the schema; t: 1 inserted, 1 updated, 1 deleted; u: 1 inserted"
    );
}

#[test]
fn what_is_too_much_is_counted_instead() {
    let many =
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25) INSERT INTO u SELECT i FROM n";
    let preview = text(&changes(many));
    let lines: Vec<_> = preview.lines().collect();
    assert_eq!(
        (lines[0], lines[1], lines[10], lines[11]),
        ("u: 25 inserted", "+ rowid 1: x 1", "+ rowid 10: x 10", "… 15 more rows")
    );
    assert_eq!(lines.len(), 12);

    let wide: Vec<String> = (0..60).map(|n| format!("column_{n} DEFAULT {n}")).collect();
    let preview = text(&changes(&format!("CREATE TABLE w({}); INSERT INTO w DEFAULT VALUES", wide.join(", "))));
    assert!(preview.lines().all(|line| line.chars().count() < 600), "{preview}");
    assert!(preview.ends_with("column_36 36, … 23 more columns"), "{preview}");

    let long = changes("UPDATE t SET a = hex(zeroblob(300)) WHERE id = 1; UPDATE t SET b = 1 WHERE id = 1");
    assert_eq!(
        text(&long).lines().nth(1).unwrap(),
        format!("~ id 1: a \"one\" -> \"{}\"… (600 bytes), b NULL -> 1", "0".repeat(200))
    );
}

#[test]
fn the_rows_of_many_tables_share_the_room() {
    let tables: Vec<String> = (0..7).map(|n| format!("CREATE TABLE s{n} AS SELECT value FROM generate")).collect();
    let change = format!(
        "CREATE TABLE generate AS WITH RECURSIVE n(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 9) SELECT value FROM n; {}",
        tables.join("; ")
    );
    let preview = text(&changes(&change));
    assert_eq!(preview.lines().filter(|line| line.starts_with("+ rowid")).count(), 50);
    assert!(preview.ends_with("s4: 9 inserted\n+ rowid 1: value 1\n+ rowid 2: value 2\n+ rowid 3: value 3\n+ rowid 4: value 4\n+ rowid 5: value 5\n… 4 more rows\ns5: 9 inserted\n… 9 more rows\ns6: 9 inserted\n… 9 more rows"), "{preview}");
}

#[test]
fn the_books_of_sqlite_are_one_line() {
    let preview = text(&changes("CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO n DEFAULT VALUES"));
    let expected = "+ table n: CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT)\nn: 1 inserted\n+ id 1\nSQLite's own: 1 row in sqlite_sequence";
    assert_eq!(preview, expected);
}

#[test]
fn what_is_kept_of_the_moment_is_said() {
    let said = |time, random| moment(Used { time, random }, "2001-02-03 04:05:06.789");
    assert_eq!(said(false, false), "");
    assert_eq!(said(true, false), " It keeps the present time (2001-02-03 04:05:06.789 UTC) of this preview.");
    let both = " It keeps the present time (2001-02-03 04:05:06.789 UTC) and the random values of this preview.";
    assert_eq!(said(true, true), both);
}
