use super::*;

const WHOLE: Limits = Limits { rows: 100, cell_bytes: 1_000 };

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection
        .execute_batch("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO t(name) VALUES ('Ada'), (NULL)")
        .unwrap();
    connection
}

fn run(sql: &str, limits: Limits) -> Result<(String, Value), String> {
    let found = query(&mut database(), sql, &Bound::Nothing, limits).map_err(|problem| problem.to_string())?;
    Ok(found.present(limits))
}

#[test]
fn a_result_is_a_table_for_the_model_and_typed_rows_for_programs() {
    let (text, details) = run("SELECT id, name, id FROM t -- all", WHOLE).unwrap();
    assert_eq!(text, "id | name | id\n---+------+---\n 1 | Ada  |  1\n 2 | NULL |  2\n2 rows.");
    let columns =
        json!([{"name": "id", "type": "INTEGER"}, {"name": "name", "type": "TEXT"}, {"name": "id", "type": "INTEGER"}]);
    let rows = json!([[1, "Ada", 1], [2, null, 2]]);
    assert_eq!(details, json!({"columns": columns, "rows": rows, "truncated": false}));
}

#[test]
fn an_empty_result_names_its_columns() {
    let (text, details) = run("SELECT 1 AS a, 2 WHERE false;", WHOLE).unwrap();
    assert_eq!(text, "a | 2\n--+--\n0 rows.");
    let columns = json!([{"name": "a", "type": null}, {"name": "2", "type": null}]);
    assert_eq!(details, json!({"columns": columns, "rows": [], "truncated": false}));
}

#[test]
fn rows_are_cut_where_as_many_were_asked_for() {
    let limits = Limits { rows: 2, ..WHOLE };
    let (text, details) = run("VALUES (1), (2)", limits).unwrap();
    assert_eq!((text.lines().last(), &details["truncated"]), (Some("2 rows."), &json!(false)));
    let (text, details) = run("VALUES (1), (2), (3)", limits).unwrap();
    let last = "2 rows, cut there: more follow. Raise `maxRows` (at most 1000), narrow the query, or go on with LIMIT \
                and OFFSET.";
    assert_eq!(text.lines().last(), Some(last));
    assert_eq!((&details["rows"], &details["truncated"]), (&json!([[1], [2]]), &json!(true)));
}

#[test]
fn rows_are_cut_where_no_more_fit() {
    let limits = Limits { rows: 100, cell_bytes: 10_000 };
    let ten = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10)";
    // Each is shown by one character for each byte, and then by six.
    for (value, rows) in
        [("replace(hex(zeroblob(5000)), '0', 'x')", 6), ("replace(hex(zeroblob(5000)), '0', char(27))", 1)]
    {
        let (text, details) = run(&format!("{ten} SELECT {value} FROM n"), limits).unwrap();
        let last = format!(
            "{}, cut there: more follow, and a result has at most 64 KiB. Select fewer columns, lower `maxCellBytes`, or go \
             on with LIMIT and OFFSET.",
            count(rows, "row")
        );
        assert_eq!(text.lines().last(), Some(last.as_str()));
        assert_eq!(details["rows"].as_array().unwrap().len() as u64, rows);
        assert!(text.len() < 66_000, "{}", text.len());
    }
}

#[test]
fn long_values_are_cut_and_the_last_line_says_so() {
    let (text, details) = run("SELECT 'abcdef'", Limits { cell_bytes: 4, ..WHOLE }).unwrap();
    let last = "1 row. `…` marks values cut at 4 bytes: raise `maxCellBytes` (at most 32768), or use substr().";
    assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), ["\"abcd\"… (6 bytes)", last]);
    assert_eq!(details["rows"], json!([[{"text": "abcd", "cutFrom": 6}]]));
}

#[test]
fn whatever_tells_about_the_database_is_read() {
    for sql in [
        "SELECT sql FROM sqlite_schema",
        "EXPLAIN QUERY PLAN SELECT * FROM t WHERE id = 1",
        "PRAGMA table_info(t)",
        "PRAGMA user_version",
        "SELECT name FROM pragma_table_xinfo('t')",
        "PRAGMA integrity_check",
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
    ] {
        assert!(run(sql, WHOLE).is_ok(), "{sql}: {:?}", run(sql, WHOLE));
    }
}

#[test]
fn whatever_writes_is_refused_before_it_runs() {
    let write = "refused, since it would write and `sql_query` only reads; use `sql_change`";
    for sql in [
        "INSERT INTO t(name) VALUES ('x') RETURNING id",
        "WITH n AS (SELECT 1) DELETE FROM t",
        "UPDATE t SET name = 1",
        "CREATE TABLE u(a)",
        "CREATE TEMP TABLE u(a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "ALTER TABLE t ADD COLUMN c",
        "DROP TABLE t",
        "ANALYZE",
        "VACUUM",
        "VACUUM INTO '/tmp/copy'",
        "CREATE VIRTUAL TABLE f USING fts5(a)",
        "EXPLAIN QUERY PLAN DELETE FROM t",
    ] {
        assert_eq!(run(sql, WHOLE).unwrap_err(), write, "{sql}");
    }
    let cases = [
        ("BEGIN", "refused, since a single query needs no transaction; leave it out"),
        ("SAVEPOINT a", "refused, since a single query needs no transaction; leave it out"),
        ("ATTACH ':memory:' AS a", "refused, since it reaches for another database; use one call for each"),
        ("SELECT load_extension('x')", "refused, since it would load code"),
        ("SELECT 1; SELECT 2", "`sql` holds more than one statement; query them one by one"),
        ("-- nothing", "`sql` holds no statement; give one"),
        ("SELECT 1\0; DROP TABLE t", "`sql` holds a NUL character; take it out"),
        ("SELECT nme FROM t", "no such column: nme"),
    ];
    for (sql, message) in cases {
        assert_eq!(run(sql, WHOLE).unwrap_err(), message, "{sql}");
    }
    for sql in
        ["PRAGMA user_version = 5", "PRAGMA writable_schema = ON", "PRAGMA wal_checkpoint", "PRAGMA journal_mode = WAL"]
    {
        let error = run(sql, WHOLE).unwrap_err();
        assert!(error.contains("is refused here; allowed are foreign_key_check, "), "{error}");
    }
}
