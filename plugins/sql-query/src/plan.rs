//! A change that was tried on a copy, and can be made to the database itself.

use std::os::unix::ffi::OsStrExt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::changes::Changes;
use crate::copy::Copy;
use crate::database::Database;
use crate::problem::Problem;
use crate::schema::Schema;
use crate::script::Script;
use crate::state::State;
use crate::stop::Stop;

/// A previewed change. It holds no connection and no lock, and can be tried again after it failed.
#[derive(Debug)]
pub(crate) struct Plan {
    database: Database,
    script: Script,
    /// What the database said at the preview.
    before: State,
    /// What it is to say afterwards.
    after: State,
    changes: Changes,
}

impl Plan {
    /// Tries `script` on a copy of `database`, to which nothing happens.
    pub(crate) fn new(database: Database, script: Script, stop: &Stop) -> Result<Self, Problem> {
        let mut copy = Copy::of(&database, stop)?;
        let old = Schema::read(&copy.before)?;
        let before = State::of(&copy.before, &old)?;
        copy.after.execute_batch("BEGIN IMMEDIATE")?;
        let used = script.run(&mut copy.after)?;
        let new = Schema::read(&copy.after)?;
        let after = State::of(&copy.after, &new)?;
        // Checks the foreign keys that wait for the end.
        copy.after.execute_batch("COMMIT")?;
        let changed = before.changed_tables(&after);
        let changes = Changes::between((&copy.before, &old), (&copy.after, &new), &changed, used)?;
        Ok(Self { database, script, before, after, changes })
    }

    /// What it would change.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// What it runs.
    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// For programs: the database's path, what changes, and hashes of what the database says before and afterwards. Two previews are the same where this is.
    pub(crate) fn json(&self) -> Value {
        let mut json = self.changes.json();
        let path = self.database.path();
        match path.to_str() {
            Some(path) => json.insert("database".to_owned(), json!(path)),
            None => json.insert("databaseBytes".to_owned(), json!(BASE64_STANDARD.encode(path.as_os_str().as_bytes()))),
        };
        json.insert("beforeHash".to_owned(), json!(self.before.hex()));
        json.insert("afterHash".to_owned(), json!(self.after.hex()));
        if self.changes.used.time {
            json.insert("now".to_owned(), json!(self.script.frozen.now()));
        }
        Value::Object(json)
    }

    /// Makes the change, in one transaction, where the database says what it said and the change comes out as it did.
    /// Otherwise nothing happens: a transaction that is not committed is undone with its connection.
    ///
    /// Other programs cannot write meanwhile. It takes as long as the statements, and to read the database twice.
    pub(crate) fn apply(&self, stop: &Stop) -> Result<(), Problem> {
        if !self.database.path().exists() {
            return Err(Problem::Gone);
        }
        let mut connection = self.database.writer(stop)?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let differences = self.before.differences(&State::of(&connection, &Schema::read(&connection)?)?);
        if !differences.is_empty() {
            return Err(Problem::Changed(differences));
        }
        self.script.run(&mut connection)?;
        let differences = self.after.differences(&State::of(&connection, &Schema::read(&connection)?)?);
        if !differences.is_empty() {
            return Err(Problem::Differs(differences));
        }
        connection.execute_batch("COMMIT")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
