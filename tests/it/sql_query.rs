//! The plugin `sql-query`, as a model uses it, beside another program that uses the same databases.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_core::{CallError, ResolveStatus};
use toolhost_loader::{ResolveRequest, Session, SessionOptions};
use toolhost_tests::Artifact;

use crate::support::{
    ARTIFACTS, apply, bounded, discard, failed, host, labels, open, poll_once, said, store, texts, top,
};

/// A process of its own with a connection to a database: locks are between processes.
struct Other {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Other {
    fn new(path: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_other-sqlite"))
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, input, output: BufReader::new(output) }
    }

    /// All values that these statements return, or why they failed.
    fn try_run(&mut self, sql: &str) -> Result<String, String> {
        writeln!(self.input, "{}", sql.replace('\n', " ")).unwrap();
        let mut answer = String::new();
        self.output.read_line(&mut answer).unwrap();
        match answer.trim_end_matches('\n').split_once(": ") {
            Some(("ok", values)) => Ok(values.to_owned()),
            Some(("error", why)) => Err(why.to_owned()),
            _ => panic!("{answer:?} as the answer to {sql}"),
        }
    }

    fn run(&mut self, sql: &str) -> String {
        self.try_run(sql).unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A directory with a database, the program that made it, and a session in the directory.
struct Shop {
    directory: TempDir,
    other: Other,
    session: Session,
}

/// The file's name; a path is a path, whatever it looks like.
const SHOP: &str = "file:Bücher & Töne.db";
const TABLES: &str = "CREATE TABLE orders(id INTEGER PRIMARY KEY, status TEXT, paid REAL, at TEXT DEFAULT CURRENT_TIMESTAMP);
                      CREATE TABLE log(x);
                      INSERT INTO orders VALUES (1, 'new', NULL, '2026'), (2, 'new', 2.5, '2026'), (3, 'sent', 9, '2026')";
const SEND: &str = "UPDATE orders SET status = 'sent' WHERE status = 'new'";
const SENT: &str = "Update 2 rows in orders";

impl Shop {
    async fn new() -> Self {
        Self::with("DELETE").await
    }

    /// A shop whose database has this journal mode.
    async fn with(mode: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut other = Other::new(&directory.path().join(SHOP));
        other.run(&format!("PRAGMA journal_mode = {mode}; {TABLES}"));
        let host = host([ARTIFACTS.path(Artifact::SqlQuery)]).await;
        assert_eq!(texts(host.load_errors()), Vec::<String>::new());
        let session = open(&host, SessionOptions::new("test").cwd(directory.path())).await;
        Self { directory, other, session }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(SHOP)
    }

    fn statuses(&mut self) -> String {
        self.other.run("SELECT status FROM orders ORDER BY id")
    }

    async fn call(&self, tool: &str, sql: &str, params: Value) -> Value {
        let parameters = match params {
            Value::Null => json!({"database": SHOP, "sql": sql}),
            params => json!({"database": SHOP, "sql": sql, "params": params}),
        };
        serde_json::to_value(bounded(self.session.call(tool, parameters)).await.unwrap()).unwrap()
    }

    async fn query(&self, sql: &str) -> Value {
        self.call("sql_query", sql, Value::Null).await
    }

    async fn change(&self, sql: &str) -> Value {
        self.call("sql_change", sql, Value::Null).await
    }

    async fn status_of_apply(&self) -> ResolveStatus {
        bounded(self.session.resolve(ResolveRequest::apply("go"))).await.status
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

fn stale() -> ResolveStatus {
    ResolveStatus::ApplyFailed { code: Some("stale".to_owned()) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_reads_at_once_and_stages_nothing() {
    let shop = Shop::new().await;
    let tools = shop.session.tools();
    let effect = |tool: &str| serde_json::to_value(tools.definition(tool).unwrap()).unwrap()["effect"].clone();
    assert_eq!((effect("sql_query"), effect("sql_change")), (json!("readOnly"), json!("stages")));
    let sql = "SELECT id, status, paid FROM orders WHERE id <> :not";
    let result = shop.call("sql_query", sql, json!({"not": 2})).await;
    let table = "id | status | paid\n---+--------+-----\n 1 | new    | NULL\n 3 | sent   |  9.0\n2 rows.";
    let columns = json!([
        {"name": "id", "type": "INTEGER"}, {"name": "status", "type": "TEXT"}, {"name": "paid", "type": "REAL"},
    ]);
    let rows = json!([[1, "new", null], [3, "sent", 9.0]]);
    assert_eq!(result, said(table, json!({"columns": columns, "rows": rows, "truncated": false})));
    assert!(!store(&shop.session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_cannot_write() {
    let shop = Shop::new().await;
    let bytes = fs::read(shop.path()).unwrap();
    let expected = format!("\"{SHOP}\": refused, since it would write and `sql_query` only reads; use `sql_change`");
    assert_eq!(shop.query(SEND).await, json!({"content": [{"type": "text", "text": expected}], "isError": true}));
    for sql in ["PRAGMA user_version = 3", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'", "BEGIN", "DROP TABLE log"] {
        assert_eq!(shop.query(sql).await["isError"], true, "{sql}");
    }
    assert_eq!(fs::read(shop.path()).unwrap(), bytes);
    assert_eq!(fs::read_dir(shop.directory.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_change_is_previewed_and_applied_once() {
    previewed_and_applied_once().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_previewed_and_applied_once_among_threads() {
    previewed_and_applied_once().await;
}

async fn previewed_and_applied_once() {
    for mode in ["DELETE", "WAL"] {
        let mut shop = Shop::with(mode).await;
        let preview = shop.change(SEND).await;
        let expected = format!(
            "Preview of a change to \"{SHOP}\":\norders: 2 updated\n~ id 1: status \"new\" -> \"sent\"\n~ id 2: \
             status \"new\" -> \"sent\"\nNothing is changed yet."
        );
        assert_eq!(text(&preview), expected);
        let id = top(&shop.session).id().to_owned();
        let staged = json!([{"id": id, "label": SENT, "sourceToolName": "sql_change"}]);
        assert_eq!(preview["details"]["pending"], staged);
        assert_eq!(shop.statuses(), "new,new,sent");

        let staged = top(&shop.session).details().unwrap().clone();
        assert_eq!(staged["database"], json!(shop.path()));
        let row = |id: u32, status: &str, paid: Value| json!({"id": id, "status": status, "paid": paid, "at": "2026"});
        let first = |id: u32, paid: Value| {
            let (before, after) = (row(id, "new", paid.clone()), row(id, "sent", paid));
            json!({"key": {"id": id}, "before": before, "after": after, "changed": ["status"]})
        };
        let table = json!([{
            "name": "orders", "internal": false, "inserted": 0, "updated": 2, "deleted": 0,
            "first": [first(1, Value::Null), first(2, json!(2.5))],
        }]);
        assert_eq!((&staged["tables"], &staged["schema"]), (&table, &json!([])));

        let done = format!("Changed \"{SHOP}\": orders: 2 updated. Reason: paid for");
        let details = json!({
            "action": "apply", "reason": "paid for", "sourceToolName": "sql_change", "label": SENT, "id": id,
            "sourceResultDetails": staged,
        });
        assert_eq!(bounded(apply(&shop.session, "paid for")).await, said(&done, details));
        assert_eq!(shop.statuses(), "sent,sent,sent");
        shop.other.run("UPDATE orders SET status = 'new'");
        assert_eq!(bounded(apply(&shop.session, "again")).await["isError"], true);
        assert_eq!(shop.statuses(), "new,new,new");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_discarded_change_leaves_every_byte() {
    for mode in ["DELETE", "WAL"] {
        let shop = Shop::with(mode).await;
        let bytes = || {
            let wal = shop.path().with_file_name(format!("{SHOP}-wal"));
            (fs::read(shop.path()).unwrap(), fs::read(wal).ok())
        };
        let before = bytes();
        shop.change("DELETE FROM orders; DROP TABLE log").await;
        let label = "Drop table log, and delete 3 rows from orders";
        assert_eq!(labels(&shop.session), [label]);
        let said = bounded(discard(&shop.session, "not now")).await;
        assert_eq!(text(&said), format!("Discarded: {label}. Reason: not now"));
        assert!(before == bytes());
        assert!(!store(&shop.session).has_pending());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_stale_where_another_program_changed_the_database_meanwhile() {
    for mode in ["DELETE", "WAL"] {
        let mut shop = Shop::with(mode).await;
        shop.change(SEND).await;
        let id = top(&shop.session).id().to_owned();
        // Nothing is locked while the change waits.
        shop.other.run("BEGIN EXCLUSIVE; INSERT INTO log VALUES (1); COMMIT");
        let resolution = bounded(shop.session.resolve(ResolveRequest::apply("go"))).await;
        assert_eq!(resolution.status, stale());
        let expected = format!(
            "Apply failed: \"{SHOP}\": the database changed since the preview, in log; nothing was changed, discard it \
             and preview again"
        );
        let details = json!({
            "action": "apply", "reason": "go", "sourceToolName": "sql_change", "label": SENT, "id": id,
        });
        assert_eq!(serde_json::to_value(resolution.result).unwrap(), failed(&expected, details));
        assert_eq!(
            (shop.statuses(), top(&shop.session).id(), top(&shop.session).attempts()),
            ("new,new,sent".to_owned(), id.as_str(), 1)
        );
        // What is as it was, is no change.
        shop.other.run("DELETE FROM log; VACUUM");
        assert_eq!(shop.status_of_apply().await, ResolveStatus::Applied);
        assert_eq!(shop.statuses(), "sent,sent,sent");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_and_the_random_values_of_the_preview_are_applied() {
    let mut shop = Shop::new().await;
    let preview = shop.change("INSERT INTO orders(status) VALUES (hex(randomblob(16)))").await;
    let shown = text(&preview);
    assert!(shown.contains("Nothing is changed yet. It keeps the present time ("), "{shown}");
    assert!(shown.ends_with(" UTC) and the random values of this preview."), "{shown}");
    assert_eq!(shop.status_of_apply().await, ResolveStatus::Applied);
    let (status, at) = (
        shop.other.run("SELECT status FROM orders WHERE id = 4"),
        shop.other.run("SELECT at FROM orders WHERE id = 4"),
    );
    let line = format!("+ id 4: status \"{status}\", paid NULL, at \"{at}\"");
    assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_comes_out_differently_is_undone() {
    let mut shop = Shop::new().await;
    // After the largest rowid, SQLite draws the next one.
    shop.other.run("INSERT INTO log(rowid, x) VALUES (9223372036854775807, 'last')");
    shop.change("INSERT INTO log VALUES ('drawn')").await;
    assert_eq!(shop.status_of_apply().await, stale());
    assert_eq!(shop.other.run("SELECT x FROM log"), "last");
    assert_eq!(labels(&shop.session), ["Insert 1 row into log"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_of_another_program_is_reported_and_nothing_waits_for_ever() {
    let mut shop = Shop::new().await;
    shop.change(SEND).await;
    shop.other.run("BEGIN EXCLUSIVE");
    let locked = format!(
        "\"{SHOP}\": is locked by another program, which did not let go of it within 3 s; nothing was changed, try again"
    );
    assert_eq!(text(&shop.query("SELECT * FROM orders").await), locked);
    assert_eq!(text(&shop.change(SEND).await), locked);
    assert_eq!(shop.status_of_apply().await, ResolveStatus::ApplyFailed { code: None });
    shop.other.run("COMMIT");
    assert_eq!(shop.statuses(), "new,new,sent");
    assert_eq!(shop.status_of_apply().await, ResolveStatus::Applied);
    assert_eq!(shop.statuses(), "sent,sent,sent");
}

#[tokio::test]
async fn a_call_that_is_cancelled_ends_and_lets_go_of_the_database() {
    cancelled_calls_end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_among_threads_ends_and_lets_go_of_the_database() {
    cancelled_calls_end().await;
}

async fn cancelled_calls_end() {
    for (tool, sql) in [
        (
            "sql_query",
            "WITH RECURSIVE n(i) AS (SELECT id FROM orders UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        ),
        (
            "sql_change",
            "WITH RECURSIVE n(i) AS (SELECT id FROM orders UNION ALL SELECT i + 1 FROM n) DELETE FROM orders WHERE id = (SELECT max(i) FROM n)",
        ),
    ] {
        let mut shop = Shop::new().await;
        let mut call = shop.session.call(tool, json!({"database": SHOP, "sql": sql}));
        let cancellation = call.cancellation();
        assert!(poll_once(&mut call).is_pending());
        if tool == "sql_query" {
            // It runs as soon as it has the lock of a reader, which keeps everybody else from writing.
            bounded(async {
                while shop.other.try_run("BEGIN EXCLUSIVE; ROLLBACK") != Err("database is locked".to_owned()) {
                    tokio::task::yield_now().await;
                }
            })
            .await;
        }
        cancellation.cancel();
        assert_eq!(bounded(call).await, Err(CallError::Cancelled { tool: tool.to_owned() }));
        shop.other.run("BEGIN EXCLUSIVE; ROLLBACK");
        assert!(!store(&shop.session).has_pending());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_never_ends_gives_up_after_its_time() {
    let mut shop = Shop::new().await;
    let expected = format!(
        "\"{SHOP}\": not done within 1 s, and stopped; nothing was changed. Make it do less, or raise `maxSeconds` (at \
         most 3600)"
    );
    let endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n)";
    for (tool, statement) in
        [("sql_query", "SELECT count(*) FROM n"), ("sql_change", "INSERT INTO log SELECT i FROM n")]
    {
        let parameters = json!({"database": SHOP, "sql": format!("{endless} {statement}"), "maxSeconds": 1});
        let said = bounded(shop.session.call(tool, parameters)).await.unwrap();
        assert_eq!((said.to_text(), said.is_error), (expected.clone(), true));
    }
    assert!(!store(&shop.session).has_pending());
    assert_eq!(shop.other.run("BEGIN EXCLUSIVE; SELECT count(*) FROM log; ROLLBACK"), "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_apply_whose_host_is_killed_changed_nothing_and_can_be_made_again() {
    let mut shop = Shop::new().await;
    // As long as somebody reads, the apply cannot commit.
    shop.other.run("BEGIN; SELECT * FROM log");
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(ARTIFACTS.path(Artifact::Toolhost));
    command.args(["call", "sql_change", "--apply", "go", "--plugin"]).arg(ARTIFACTS.path(Artifact::SqlQuery));
    command.arg("--params").arg(json!({"database": shop.path(), "sql": SEND}).to_string());
    command.env("HOME", home.path()).env("XDG_CACHE_HOME", home.path()).env("XDG_STATE_HOME", home.path());
    let mut toolhost = command.stdout(Stdio::null()).spawn().unwrap();
    let mut third = Other::new(&shop.path());
    // Once it wants to, it keeps new readers away.
    while third.try_run("SELECT * FROM log") != Err("database is locked".to_owned()) {
        assert_eq!(toolhost.try_wait().unwrap(), None, "it ended");
    }
    toolhost.kill().unwrap();
    toolhost.wait().unwrap();
    shop.other.run("COMMIT");
    assert_eq!(shop.statuses(), "new,new,sent");
    assert_eq!(shop.other.run("PRAGMA integrity_check"), "ok");
    shop.change(SEND).await;
    assert_eq!(shop.status_of_apply().await, ResolveStatus::Applied);
    assert_eq!(shop.statuses(), "sent,sent,sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_staged_where_nothing_would_change_or_something_is_wrong() {
    let shop = Shop::new().await;
    let bytes = fs::read(shop.path()).unwrap();
    let said = shop.change("UPDATE orders SET status = status; DELETE FROM log").await;
    let expected = format!("Nothing would change in \"{SHOP}\", so nothing was staged.");
    assert_eq!(said, json!({"content": [{"type": "text", "text": expected}]}));
    for (sql, why) in [
        (
            "DELETE FROM orders; COMMIT",
            "statement 2: refused, since all statements are one transaction already; leave it out",
        ),
        ("UPDATE orders SET id = 1", "statement 1: UNIQUE constraint failed: orders.id"),
        ("DELETE FROM nowhere", "statement 1: no such table: nowhere"),
        ("DELETE FROM orders WHERE id = ?", "statement 1: the statement takes 1 value; give `params`"),
    ] {
        let said = shop.change(sql).await;
        assert_eq!((text(&said), &said["isError"]), (format!("\"{SHOP}\": {why}").as_str(), &json!(true)));
    }
    let missing = json!({"database": "new.db", "sql": "CREATE TABLE t(a)"});
    let said = shop.session.call("sql_change", missing).await.unwrap();
    assert!(said.to_text().starts_with("new.db: does not exist; check the path, "), "{}", said.to_text());
    assert!(!shop.path().with_file_name("new.db").exists());
    assert_eq!(fs::read(shop.path()).unwrap(), bytes);
    assert!(!store(&shop.session).has_pending());
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_two_sessions_see_each_other() {
    let mut shop = Shop::new().await;
    shop.change(SEND).await;
    let host = host([ARTIFACTS.path(Artifact::SqlQuery)]).await;
    let second = open(&host, SessionOptions::new("second").cwd("/")).await;
    let parameters = json!({"database": shop.path(), "sql": "DELETE FROM orders WHERE id = :id", "params": {"id": 3}});
    bounded(second.call("sql_change", parameters)).await.unwrap();
    let applied = bounded(apply(&second, "gone")).await;
    assert!(text(&applied).ends_with(": orders: 1 deleted. Reason: gone"), "{applied}");
    assert_eq!(shop.status_of_apply().await, stale());
    assert_eq!(shop.statuses(), "new,new");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_change_of_the_same_database_has_the_same_preview_hash() {
    let mut shop = Shop::new().await;
    let hash = async |shop: &Shop, sql| {
        shop.change(sql).await;
        store(&shop.session).pop().unwrap().preview_hash().to_owned()
    };
    let first = hash(&shop, SEND).await;
    assert_eq!(hash(&shop, SEND).await, first);
    assert_ne!(hash(&shop, "UPDATE orders SET status = 'gone' WHERE status = 'new'").await, first);
    shop.other.run("INSERT INTO log VALUES (1)");
    assert_ne!(hash(&shop, SEND).await, first);
}
