use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::types::Value as SqlValue;
use tempfile::TempDir;

use super::*;
use crate::bind::Bound;
use crate::frozen::{Frozen, Used};
use crate::preview::{label, text};

/// A database in a directory of its own.
struct Shop {
    directory: TempDir,
}

const SHOP: &str = "CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
                    CREATE TABLE items(id INTEGER PRIMARY KEY, o REFERENCES orders ON DELETE CASCADE);
                    CREATE TABLE log(x); CREATE VIRTUAL TABLE docs USING fts5(body);
                    INSERT INTO orders(id, status) VALUES (1, 'new'), (2, 'new'), (3, 'sent');
                    INSERT INTO items VALUES (1, 1), (2, 1); INSERT INTO docs VALUES ('hello world');";

impl Shop {
    fn new(mode: &str) -> Self {
        let shop = Self { directory: tempfile::tempdir().unwrap() };
        shop.run(&format!("PRAGMA journal_mode = {mode}; {SHOP}"));
        shop
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("shop.db")
    }

    /// Another program's connection.
    fn other(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        connection
    }

    fn run(&self, sql: &str) {
        self.other().execute_batch(sql).unwrap();
    }

    fn ask(&self, sql: &str) -> SqlValue {
        self.other().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    fn try_plan(&self, sql: &str) -> Result<Plan, String> {
        let database = Database::find(self.directory.path(), "shop.db").unwrap();
        let script = Script { sql: sql.to_owned(), bound: Bound::Nothing, frozen: Frozen::new().unwrap() };
        Plan::new(database, script, &Stop::default()).map_err(|problem| problem.to_string())
    }

    fn plan(&self, sql: &str) -> Plan {
        self.try_plan(sql).unwrap()
    }

    /// All that differs from another database.
    fn changes_since(&self, before: &Path, used: Used) -> Changes {
        let [before, after] = [before, &self.path()].map(|path| {
            let connection = Connection::open(path).unwrap();
            let schema = Schema::read(&connection).unwrap();
            (connection, schema)
        });
        let [old, new] = [&before, &after].map(|(connection, schema)| State::of(connection, schema).unwrap());
        let changed = old.changed_tables(&new);
        Changes::between((&before.0, &before.1), (&after.0, &after.1), &changed, used).unwrap()
    }

    fn state(&self) -> State {
        let connection = self.other();
        State::of(&connection, &Schema::read(&connection).unwrap()).unwrap()
    }
}

fn apply(plan: &Plan) -> Result<(), String> {
    plan.apply(&Stop::default()).map_err(|problem| problem.to_string())
}

fn integer(n: i64) -> SqlValue {
    SqlValue::Integer(n)
}

#[test]
fn a_preview_leaves_the_file_alone_and_an_apply_does_what_it_showed() {
    for mode in ["DELETE", "WAL"] {
        let shop = Shop::new(mode);
        let bytes = fs::read(shop.path()).unwrap();
        let plan = shop.plan("UPDATE orders SET status = 'sent' WHERE status = 'new'; DELETE FROM items WHERE id = 2");
        assert_eq!(label(plan.changes()), "Change 3 rows in 2 tables");
        assert_eq!(fs::read(shop.path()).unwrap(), bytes);
        apply(&plan).unwrap();
        let left = "SELECT (SELECT group_concat(status) FROM orders) || (SELECT count(*) FROM items)";
        assert_eq!(shop.ask(left), SqlValue::Text("sent,sent,sent1".to_owned()));
        let stale = apply(&plan).unwrap_err();
        let expected = "the database changed since the preview, in items and orders; nothing was changed, discard it \
                        and preview again";
        assert_eq!(stale, expected);
        assert_eq!(shop.ask("PRAGMA journal_mode"), SqlValue::Text(mode.to_lowercase()));
    }
}

#[test]
fn whatever_a_change_sets_off_is_previewed_and_comes_out_the_same() {
    for (sql, expected) in [
        ("DELETE FROM orders WHERE id = 1", "Change 3 rows in 2 tables"),
        (
            "CREATE TRIGGER t AFTER UPDATE ON orders BEGIN INSERT INTO log VALUES (new.id); END; UPDATE orders SET status = 0",
            "Create trigger t, and change 6 rows in 2 tables",
        ),
        (
            "INSERT INTO docs VALUES ('more'); DELETE FROM docs WHERE docs MATCH 'world'; INSERT INTO docs(docs) VALUES ('optimize')",
            "Change 2 rows in docs",
        ),
        (
            "CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, x); INSERT INTO n(x) SELECT id FROM orders",
            "Create table n with 3 rows",
        ),
        (
            "CREATE VIRTUAL TABLE area USING rtree(id, a, b); INSERT INTO area VALUES (1, 0, 1)",
            "Create table area with 1 row",
        ),
        ("REPLACE INTO items VALUES (1, 3)", "Update 1 row in items"),
        (
            "ALTER TABLE orders RENAME COLUMN status TO state; ALTER TABLE items RENAME TO things; PRAGMA user_version = 4",
            "Change 4 objects of the schema, and change 4 rows in 2 tables",
        ),
        ("DROP TABLE docs", "Drop table docs with 1 row"),
        ("ANALYZE", "Change 9 rows in 2 tables"),
        (
            "PRAGMA defer_foreign_keys = ON; INSERT INTO items VALUES (9, 9); INSERT INTO orders(id) VALUES (9)",
            "Change 2 rows in 2 tables",
        ),
        (
            "CREATE TEMP TABLE ids AS SELECT max(id) AS id FROM orders; DELETE FROM orders WHERE id IN ids",
            "Delete 1 row from orders",
        ),
        // Another table of this name hides the first from statements, and no change of it from anybody.
        (
            "CREATE TEMP TABLE log(x); INSERT INTO log VALUES (1); DELETE FROM main.orders WHERE id = 3",
            "Delete 1 row from orders",
        ),
        (
            "CREATE TABLE pragma_table_list(schema, name, type, wr); DELETE FROM items",
            "Create table pragma_table_list, and delete 2 rows from items",
        ),
        (
            "CREATE VIEW v AS SELECT x FROM log; CREATE TRIGGER t INSTEAD OF INSERT ON v BEGIN INSERT INTO log VALUES (new.x); END; INSERT INTO v VALUES (7), (8)",
            "Change 2 objects of the schema, and insert 2 rows into log",
        ),
        (
            "CREATE TABLE n(k TEXT PRIMARY KEY, d AS (k || '!') STORED) WITHOUT ROWID; INSERT INTO n SELECT hex(randomblob(9)) FROM orders",
            "Create table n with 3 rows",
        ),
        (
            "CREATE VIRTUAL TABLE found USING fts5(x, content = 'log'); CREATE TRIGGER t AFTER INSERT ON log BEGIN INSERT INTO found(rowid, x) VALUES (new.rowid, new.x); END; INSERT INTO log VALUES ('a')",
            "Change 2 objects of the schema, and change 2 rows in 2 tables",
        ),
        ("INSERT INTO log VALUES ('a' || char(0)), (zeroblob(3000000))", "Insert 2 rows into log"),
    ] {
        for mode in ["DELETE", "WAL"] {
            let shop = Shop::new(mode);
            let before = shop.directory.path().join("before.db");
            fs::copy(shop.path(), &before).unwrap();
            let plan = shop.plan(sql);
            assert_eq!(label(plan.changes()), expected, "{sql}");
            assert_eq!(apply(&plan), Ok(()), "{sql}");
            assert_eq!(&shop.changes_since(&before, plan.changes().used), plan.changes(), "{sql}");
            assert_eq!(shop.ask("PRAGMA integrity_check"), SqlValue::Text("ok".to_owned()));
        }
    }
}

#[test]
fn the_time_and_the_chance_of_the_preview_are_what_is_applied() {
    let shop = Shop::new("DELETE");
    let sql =
        "INSERT INTO orders(status) VALUES (hex(randomblob(8))); UPDATE orders SET status = random() WHERE id = 1;
               INSERT INTO log VALUES (strftime('%f', 'now'))";
    let plan = shop.plan(sql);
    let used = plan.changes().used;
    assert!(used.time && used.random);
    let shown = text(plan.changes());
    apply(&plan).unwrap();
    let applied = "SELECT (SELECT quote(status) || quote(at) FROM orders WHERE id = 4) || (SELECT quote(status) FROM orders WHERE id = 1)";
    let SqlValue::Text(applied) = shop.ask(applied) else { panic!() };
    let [four, at, one] = applied.trim_matches('\'').split("''").collect::<Vec<_>>()[..] else { panic!("{applied}") };
    for value in [four, at, one] {
        assert!(shown.contains(&format!("\"{value}\"")), "{value} in {shown}");
    }
    assert_eq!(&plan.script().frozen.now()[..19], at);
}

#[test]
fn what_is_left_to_chance_is_refused() {
    let shop = Shop::new("DELETE");
    // After the largest rowid, SQLite draws one by itself.
    shop.run("INSERT INTO log(rowid, x) VALUES (9223372036854775807, 0)");
    let plan = shop.plan("INSERT INTO log VALUES (1)");
    let state = shop.state();
    let expected = "the change would not come out as previewed, in log; nothing was changed. Name what it should write \
                    instead of leaving that to chance, and preview again";
    assert_eq!(apply(&plan).unwrap_err(), expected);
    assert_eq!(shop.state(), state);
}

#[test]
fn any_change_of_another_program_refuses_the_apply_until_it_is_gone() {
    for mode in ["DELETE", "WAL"] {
        let shop = Shop::new(mode);
        let plan = shop.plan("UPDATE orders SET status = 'sent' WHERE id = 1");
        for (change, back, place) in [
            ("INSERT INTO log VALUES (1)", "DELETE FROM log", "log"),
            ("UPDATE orders SET status = 'x' WHERE id = 2", "UPDATE orders SET status = 'new' WHERE id = 2", "orders"),
            ("CREATE INDEX i ON log(x)", "DROP INDEX i", "the schema"),
            ("PRAGMA user_version = 9", "PRAGMA user_version = 0", "the schema"),
        ] {
            shop.run(change);
            let state = shop.state();
            let expected = format!(
                "the database changed since the preview, in {place}; nothing was changed, discard it and preview again"
            );
            assert_eq!(apply(&plan).unwrap_err(), expected);
            assert_eq!(shop.state(), state);
            shop.run(back);
        }
        // How the file says it is no change.
        shop.run("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
        assert_eq!(apply(&plan), Ok(()));
    }
}

#[test]
fn a_database_that_is_gone_or_replaced_is_stale() {
    let shop = Shop::new("DELETE");
    let plan = shop.plan("DELETE FROM log; INSERT INTO log VALUES (1)");
    fs::rename(shop.path(), shop.directory.path().join("moved")).unwrap();
    assert_eq!(apply(&plan).unwrap_err(), "the database is gone since the preview; nothing was changed, discard it");
    fs::write(shop.path(), "").unwrap();
    assert!(
        apply(&plan).unwrap_err().starts_with("the database changed since the preview, in the schema, docs_config, ")
    );
    fs::write(shop.path(), "x".repeat(5_000)).unwrap();
    assert_eq!(apply(&plan).unwrap_err(), "is not an SQLite database, or it is encrypted");
}

#[test]
fn an_apply_that_was_interrupted_can_be_made_again() {
    const FILL: &str = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                        INSERT INTO log SELECT hex(randomblob(500)) FROM n";
    let [shop, crashed] = [Shop::new("DELETE"), Shop::new("DELETE")];
    shop.run(FILL);
    fs::copy(shop.path(), crashed.path()).unwrap();
    let plan = crashed.plan("UPDATE log SET x = 1");
    let other = shop.other();
    // More than the cache holds, so that a part of it is in the file, and what it replaced in the journal.
    other.execute_batch("PRAGMA cache_size = 1; BEGIN; UPDATE log SET x = 'x' || x").unwrap();
    for file in ["shop.db", "shop.db-journal"] {
        fs::copy(shop.directory.path().join(file), crashed.directory.path().join(file)).unwrap();
    }
    assert!(crashed.try_plan("DELETE FROM log").unwrap_err().starts_with("a program that wrote to it was interrupted"));
    assert_eq!(apply(&plan), Ok(()));
    assert_eq!(crashed.ask("SELECT count(*) FROM log WHERE x = 1"), integer(500));
}

#[test]
fn nothing_is_locked_between_a_preview_and_its_apply() {
    for mode in ["DELETE", "WAL"] {
        let shop = Shop::new(mode);
        let plan = shop.plan("DELETE FROM orders");
        let other = shop.other();
        other.execute_batch("BEGIN EXCLUSIVE; INSERT INTO log VALUES (1); ROLLBACK").unwrap();
        assert_eq!(apply(&plan), Ok(()));
        other.execute_batch("BEGIN EXCLUSIVE; INSERT INTO log VALUES (1); COMMIT").unwrap();
    }
}

#[test]
fn a_lock_of_another_program_is_reported_and_the_change_can_be_applied_later() {
    const LOCKED: &str =
        "is locked by another program, which did not let go of it within 3 s; nothing was changed, try again";
    let shop = Shop::new("DELETE");
    let other = shop.other();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    // To read is still possible, and so to preview.
    let plan = shop.plan("DELETE FROM orders");
    assert_eq!(apply(&plan).unwrap_err(), LOCKED);
    other.execute_batch("COMMIT; BEGIN EXCLUSIVE").unwrap();
    assert_eq!(shop.try_plan("DELETE FROM orders").unwrap_err(), LOCKED);
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(apply(&plan), Ok(()));
    assert_eq!(shop.ask("SELECT count(*) FROM orders"), integer(0));
}

#[test]
fn a_script_that_fails_is_no_plan() {
    let shop = Shop::new("DELETE");
    let bytes = fs::read(shop.path()).unwrap();
    for (sql, message) in [
        ("DELETE FROM log; INSERT INTO items VALUES (5, 77)", "statement 2: FOREIGN KEY constraint failed"),
        ("PRAGMA defer_foreign_keys = ON; INSERT INTO items VALUES (5, 77)", "FOREIGN KEY constraint failed"),
        ("UPDATE absent SET a = 1", "statement 1: no such table: absent"),
    ] {
        assert_eq!(shop.try_plan(sql).unwrap_err(), message);
    }
    assert_eq!(fs::read(shop.path()).unwrap(), bytes);
}

#[test]
fn details_say_the_same_for_the_same_preview() {
    let shop = Shop::new("DELETE");
    let sql = "UPDATE orders SET status = 'sent' WHERE id = 2";
    let mut details = shop.plan(sql).json();
    assert_eq!(details, shop.plan(sql).json());
    for hash in ["beforeHash", "afterHash"] {
        assert_eq!(details[hash].take().as_str().unwrap().len(), 64);
    }
    let at = shop.ask("SELECT at FROM orders WHERE id = 2");
    let SqlValue::Text(at) = at else { panic!() };
    let row = |status| json!({"id": 2, "status": status, "at": at});
    let expected = json!({
        "database": shop.path().canonicalize().unwrap(),
        "schema": [],
        "tables": [{
            "name": "orders", "internal": false, "inserted": 0, "updated": 1, "deleted": 0,
            "first": [{"key": {"id": 2}, "before": row("new"), "after": row("sent"), "changed": ["status"]}],
        }],
        "beforeHash": null,
        "afterHash": null,
    });
    assert_eq!(details, expected);
    let draws = "UPDATE orders SET status = random() WHERE id = 2";
    assert_ne!(shop.plan(draws).json(), shop.plan(draws).json());
}

#[test]
fn whoever_stops_waiting_stops_the_work() {
    let shop = Shop::new("DELETE");
    let (stop, database) = (Stop::default(), Database::find(shop.directory.path(), "shop.db").unwrap());
    let on_drop = stop.on_drop();
    let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) INSERT INTO log SELECT i FROM n";
    let script = Script { sql: endless.to_owned(), bound: Bound::Nothing, frozen: Frozen::new().unwrap() };
    let (tell, told) = std::sync::mpsc::channel();
    let work = std::thread::spawn(move || {
        tell.send(Plan::new(database, script, &stop).map(|_| ()).map_err(|p| p.to_string()))
    });
    drop(on_drop);
    let ended = told.recv_timeout(std::time::Duration::from_secs(60)).expect("it does not end");
    assert_eq!(ended.unwrap_err(), "stopped before it was done; nothing was changed");
    work.join().unwrap().unwrap();
}
