//! The statements of a change.

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

use crate::bind::{Binder, Bound};
use crate::frozen::{Frozen, Used};
use crate::guard::{Guard, May};
use crate::problem::Problem;

/// What a change runs, each time in the same way.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    /// One or more statements.
    pub(crate) sql: String,
    /// The values of their parameters.
    pub(crate) bound: Bound,
    /// The moment in which they run.
    pub(crate) frozen: Frozen,
}

impl Script {
    /// Runs it on a new connection, in the transaction that is open there, which it cannot end. Returns what of its
    /// moment it used.
    ///
    /// After an error, drop the connection: that undoes what was done.
    pub(crate) fn run(&self, connection: &mut Connection) -> Result<Used, Problem> {
        if self.sql.contains('\0') {
            return Err(Problem::Nul);
        }
        let usage = self.frozen.install(connection)?;
        let guard = Guard::set(connection, May::Change)?;
        self.statements(connection, &guard)?;
        guard.lift(connection)?;
        // Has modules write down what they hold back until the transaction ends, as those for full-text search do.
        connection.execute_batch("SAVEPOINT written; RELEASE written")?;
        Ok(usage.used())
    }

    fn statements(&self, connection: &Connection, guard: &Guard) -> Result<(), Problem> {
        let mut binder = Binder::new(&self.bound);
        let mut batch = Batch::new(connection, &self.sql);
        let mut number = 0;
        loop {
            let step = batch.next().map_err(|error| guard.problem(error)).and_then(|statement| {
                let Some(mut statement) = statement else {
                    return Ok(false);
                };
                binder.bind(&mut statement)?;
                let mut rows = statement.raw_query();
                while rows.next().map_err(|error| guard.problem(error))?.is_some() {}
                // A constraint or a trigger may roll back; what follows would be a transaction of its own.
                if connection.is_autocommit() { Err(Problem::Ended) } else { Ok(true) }
            });
            number += 1;
            match step {
                Ok(true) => {}
                Ok(false) if number == 1 => return Err(Problem::Empty),
                Ok(false) => return binder.finish(),
                Err(Problem::Stopped) => return Err(Problem::Stopped),
                Err(problem) => return Err(Problem::At(number, Box::new(problem))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::config::DbConfig;
    use serde_json::json;

    use super::*;

    fn database() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE log(x);
                 CREATE TABLE c(id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE);
                 CREATE TRIGGER tr AFTER DELETE ON c BEGIN INSERT INTO log VALUES (old.id); END;
                 CREATE VIRTUAL TABLE docs USING fts5(body);
                 INSERT INTO p VALUES (1); INSERT INTO c VALUES (5, 1)",
            )
            .unwrap();
        connection
    }

    fn run_on(connection: &mut Connection, sql: &str, params: serde_json::Value) -> Result<(), String> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let bound = Bound::new(serde_json::from_value(params).unwrap()).unwrap();
        let script = Script { sql: sql.to_owned(), bound, frozen: Frozen::new().unwrap() };
        script.run(connection).map(|_| ()).map_err(|problem| problem.to_string())
    }

    fn run(sql: &str) -> Result<(), String> {
        run_on(&mut database(), sql, json!(null))
    }

    #[test]
    fn statements_run_in_order_with_their_values_and_stay_in_the_transaction() {
        let mut connection = database();
        let sql = "INSERT INTO p VALUES (:id); -- a comment; with a semicolon\n
                   UPDATE log SET x = 'a;b'; INSERT INTO log SELECT max(id) FROM p RETURNING x;";
        run_on(&mut connection, sql, json!({"id": 9})).unwrap();
        assert!(!connection.is_autocommit());
        assert_eq!(connection.query_row("SELECT x FROM log", [], |row| row.get(0)), Ok(9));
    }

    #[test]
    fn what_would_leave_the_transaction_is_refused_with_its_place() {
        let transaction = "refused, since all statements are one transaction already; leave it out";
        let cases = [
            ("COMMIT", 1, transaction),
            ("BEGIN; DELETE FROM log", 1, transaction),
            ("DELETE FROM log; ROLLBACK; DELETE FROM p", 2, transaction),
            ("SAVEPOINT a", 1, transaction),
            ("DELETE FROM log; RELEASE a", 2, transaction),
            ("ATTACH 'x.db' AS x", 1, "refused, since it reaches for another database; use one call for each"),
            ("VACUUM", 1, "cannot VACUUM from within a transaction"),
            (
                "PRAGMA foreign_keys = OFF",
                1,
                "refused: foreign keys are always enforced; `PRAGMA defer_foreign_keys = ON` has them checked at the end",
            ),
            (
                "INSERT INTO p VALUES (2); INSERT OR ROLLBACK INTO p VALUES (1); DELETE FROM log",
                2,
                "UNIQUE constraint failed: p.id",
            ),
            ("UPDATE sqlite_schema SET sql = ''", 1, "table sqlite_master may not be modified"),
            ("INSERT INTO docs_data VALUES (9, 9)", 1, "table docs_data may not be modified"),
            ("DELETE FROM log; SELEC 1", 2, "near \"SELEC\": syntax error"),
        ];
        for (sql, number, what) in cases {
            assert_eq!(run(sql).unwrap_err(), format!("statement {number}: {what}"), "{sql}");
        }
        let pragma = run("PRAGMA journal_mode = DELETE").unwrap_err();
        assert!(pragma.ends_with("and to set application_id, defer_foreign_keys, user_version"), "{pragma}");
        assert_eq!(run(" ; -- nothing").unwrap_err(), "`sql` holds no statement; give one");
        assert_eq!(run("SELECT 1\0").unwrap_err(), "`sql` holds a NUL character; take it out");
    }

    #[test]
    fn a_trigger_that_rolls_back_ends_the_script() {
        let mut connection = database();
        connection
            .execute_batch("CREATE TRIGGER no BEFORE DELETE ON log BEGIN SELECT RAISE(ROLLBACK, 'never'); END; INSERT INTO log VALUES (1)")
            .unwrap();
        let error =
            run_on(&mut connection, "INSERT INTO p VALUES (2); DELETE FROM log; INSERT INTO p VALUES (3)", json!(null));
        assert_eq!(error.unwrap_err(), "statement 2: never");
        assert_eq!(connection.query_row("SELECT count(*) FROM p", [], |row| row.get(0)), Ok(1));
    }

    #[test]
    fn values_that_no_statement_takes_are_an_error() {
        let error = run_on(&mut database(), "DELETE FROM log; DELETE FROM p", json!([1])).unwrap_err();
        assert_eq!(error, "no statement takes `params`; leave it out");
        let error = run_on(&mut database(), "DELETE FROM log WHERE x = ?; DELETE FROM p WHERE id = ?", json!([1]));
        assert!(error.unwrap_err().starts_with("statement 2: a second statement takes parameters"));
    }
}
