//! Queries an SQLite database at once; previews a change to it, and makes exactly that change once it is applied.
//!
//! ```text
//! sql_query  {"database": "shop.db", "sql": "SELECT id, status FROM orders WHERE id > :id", "params": {"id": 1}}
//!
//! id | status
//! ---+-------
//!  2 | new
//! 1 row.
//!
//! sql_change {"database": "shop.db", "sql": "UPDATE orders SET status = 'sent' WHERE id = 2"}
//!
//! Preview of a change to shop.db:
//! orders: 1 updated
//! ~ id 2: status "new" -> "sent"
//! Nothing is changed yet.
//!
//! resolve    {"action": "apply", "reason": "paid"}
//!
//! Changed shop.db: orders: 1 updated. Reason: paid
//! ```
//!
//! Two tools, since a host should know beforehand what a call can do: `sql_query` can only read. Its connection is
//! opened read-only, a guard refuses whatever does more than to read while SQLite compiles it, and what the guard does
//! not see SQLite's own verdict on the statement catches. `sql_change` stages, and writes to nothing but a private copy.
//!
//! The way of a query: [`params`], what the model sent; [`bind`], its values; [`database`], the connection;
//! [`mod@query`], under the [`guard`]; [`table`] and [`cell`], the result.
//!
//! The way of a change: [`plan`] makes a private [`mod@copy`], runs the [`script`] there in one transaction, and
//! compares both sides row by row ([`diff`], [`changes`]); [`preview`] says it in words. The user's file is only read,
//! under the lock of a reader and only while it is copied; then nothing is open until the change is applied. That costs
//! the time to copy the file. In return no statement, however long it runs, holds up another program, nothing of a
//! preview can reach the file, and one can be made of a file that is read-only or being written to.
//!
//! Apply runs the same statements again, in one transaction on the file, between two comparisons: before them the
//! database says what it said at the preview, and after them what the copy said, in its schema and in every row of
//! every table with its rowid ([`state`]). Any change by another program is a reason to refuse. A hash or the time of
//! the file would not do: in WAL mode content moves between files without a change, and to open the file beside SQLite
//! takes away its locks on Unix. For the same reason the host is told of no dependency.
//!
//! The present time and random values are those of the preview ([`frozen`]), since otherwise whatever uses them could
//! never come out as previewed. What else is left to chance, the second comparison catches.
//!
//! To read a database in WAL mode, SQLite puts its `-shm` and `-wal` beside the file, even for a query.
//!
//! One process should hold one SQLite for a file. Sessions of a host share this plugin's; another copy in the same
//! process, such as an older build of the plugin that still has something to apply, does not see its locks on Unix.

use std::sync::Arc;

use serde_json::Value;
use toolhost_plugin_sdk::prelude::*;

use crate::bind::Bound;
use crate::database::Database;
use crate::frozen::Frozen;
use crate::params::{ChangeParams, QueryParams};
use crate::plan::Plan;
use crate::problem::Problem;
use crate::query::{Limits, query};
use crate::script::Script;
use crate::stop::Stop;
use crate::text::name;

mod bind;
mod cell;
mod changes;
mod copy;
mod database;
mod diff;
mod frozen;
mod guard;
mod params;
mod plan;
mod preview;
mod problem;
mod query;
mod schema;
mod script;
mod state;
mod stop;
mod table;
mod text;

export_plugin!(|pi: CustomToolApi| (SqlQuery { pi: pi.clone() }, SqlChange { pi }));

struct SqlQuery {
    pi: CustomToolApi,
}

impl CustomTool for SqlQuery {
    const NAME: &'static str = "sql_query";
    const LABEL: &'static str = "SQL Query";
    const DESCRIPTION: &'static str = "Reads from an SQLite database file by one SQL statement.\n\
        Returns a table, at most `maxRows` rows (100 unless given) and 64 KiB; the last line says whether it was cut. \
        It cannot write: use sql_change for that. To find out what is there: `SELECT name, sql FROM sqlite_schema`. \
        In the table, text stands in double quotes wherever it could be taken for something else (\"12\" is text, 12 a \
        number), blobs as x'..'.";
    const EFFECT: Effect = Effect::ReadOnly;
    const PARALLEL: bool = true;
    type Params = QueryParams;

    async fn execute(&self, params: QueryParams, call: ToolCall) -> ToolResult {
        let cwd = self.pi.cwd().to_owned();
        let shown = name(&params.database);
        let limits = Limits { rows: params.max_rows as usize, cell_bytes: params.max_cell_bytes as usize };
        let work = move |stop: &Stop| {
            let bound = Bound::new(params.params)?;
            let mut connection = Database::find(&cwd, &params.database)?.reader(stop)?;
            query(&mut connection, &params.sql, &bound, limits)
        };
        let found = until_cancelled(&call, params.max_seconds, &shown, work).await?;
        let (text, details) = found.present(limits);
        Ok(AgentToolResult::text(text).with_details(details))
    }
}

struct SqlChange {
    pi: CustomToolApi,
}

impl CustomTool for SqlChange {
    const NAME: &'static str = "sql_change";
    const LABEL: &'static str = "SQL Change";
    const DESCRIPTION: &'static str = "Previews a change to an SQLite database file and defers it to resolve.\n\
        Runs the statements on a private copy, and shows how many rows of which tables they insert, update and delete \
        (triggers and foreign keys included), the first of these rows before and after, and what changes in the \
        schema. Nothing is changed before resolve applies the preview; then all of it is changed in one transaction, \
        or nothing where the database changed meanwhile. Foreign keys are enforced. The present time and random values \
        are those of the preview. To only read, use sql_query.";
    const EFFECT: Effect = Effect::Stages;
    type Params = ChangeParams;

    async fn execute(&self, params: ChangeParams, call: ToolCall) -> ToolResult {
        let cwd = self.pi.cwd().to_owned();
        let shown = name(&params.database);
        let work = move |stop: &Stop| {
            let bound = Bound::new(params.params)?;
            let database = Database::find(&cwd, &params.database)?;
            let script = Script { sql: params.sql, bound, frozen: Frozen::new()? };
            Plan::new(database, script, stop)
        };
        let plan = until_cancelled(&call, params.max_seconds, &shown, work).await?;
        if plan.changes().is_empty() {
            return Ok(format!("Nothing would change in {shown}, so nothing was staged.").into());
        }
        let staged = SqlChangeStaged { shown, plan: Arc::new(plan) };
        let text = staged.text();
        call.push_pending_action(staged)?;
        Ok(text.into())
    }
}

/// A change that waits for a decision.
struct SqlChangeStaged {
    /// The database's path as it was given.
    shown: String,
    plan: Arc<Plan>,
}

impl SqlChangeStaged {
    fn text(&self) -> String {
        let changes = self.plan.changes();
        let moment = preview::moment(changes.used, self.plan.script().frozen.now());
        format!("Preview of a change to {}:\n{}\nNothing is changed yet.{moment}", self.shown, preview::text(changes))
    }
}

impl StagedChange for SqlChangeStaged {
    fn label(&self) -> String {
        preview::label(self.plan.changes())
    }

    async fn apply(&self, reason: &str) -> ToolResult {
        let plan = Arc::clone(&self.plan);
        until_dropped(&self.shown, move |stop| plan.apply(stop)).await?;
        let text = format!("Changed {}: {}. Reason: {reason}", self.shown, preview::summary(self.plan.changes()));
        Ok(AgentToolResult::text(text).with_details(self.plan.json()))
    }

    fn source_tool_name(&self) -> Option<String> {
        Some(SqlChange::NAME.to_owned())
    }

    // No list of changes to files: it could say of a database only that it differs.
    fn details(&self) -> Option<Value> {
        Some(self.plan.json())
    }
}

/// Does what blocks on a thread of its own, until it took too long or the call is cancelled. It has ended when this
/// does, with its connections.
async fn until_cancelled<T: Send + 'static>(
    call: &ToolCall,
    seconds: u32,
    shown: &str,
    work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::after(seconds);
    let on_drop = stop.on_drop();
    let mut task = tokio::task::spawn_blocking(move || work(&stop));
    let done = tokio::select! {
        done = &mut task => match done? {
            Err(Problem::Stopped) => Err(Problem::TooLong(seconds)),
            done => done,
        },
        () = call.cancelled() => {
            drop(on_drop);
            task.await?
        }
    };
    done.map_err(|problem| problem.into_tool_error(shown))
}

/// The same for what no call waits for: it is asked to stop only where nobody waits for it any more.
async fn until_dropped<T: Send + 'static>(
    shown: &str,
    work: impl FnOnce(&Stop) -> Result<T, Problem> + Send + 'static,
) -> Result<T, ToolError> {
    let stop = Stop::default();
    let _on_drop = stop.on_drop();
    tokio::task::spawn_blocking(move || work(&stop)).await?.map_err(|problem| problem.into_tool_error(shown))
}
