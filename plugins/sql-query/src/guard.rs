//! What a statement may do, decided while SQLite compiles it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::problem::Problem;

/// What statements may do on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum May {
    /// Read, and nothing else.
    Read,
    /// Change rows and the schema, within the transaction that is open.
    Change,
}

/// Pragmas that tell about the database, some of a table or an index that they are given.
const ABOUT: [&str; 10] = [
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that tell a setting where they are given no value, and change it where they are. `data_version` is what
/// modules such as FTS5 ask for.
const SETTINGS: [&str; 10] = [
    "application_id",
    "auto_vacuum",
    "data_version",
    "encoding",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "page_count",
    "page_size",
    "user_version",
];

/// Settings that a change may make: those that are part of the database and of its transaction.
const SETTABLE: [&str; 3] = ["application_id", "defer_foreign_keys", "user_version"];

/// Watches the statements of one connection until it is lifted.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    refused: Arc<Mutex<Option<Refusal>>>,
}

impl Guard {
    /// Watches `connection` from now on.
    pub(crate) fn set(connection: &mut Connection, may: May) -> Result<Self, Problem> {
        let guard = Self::default();
        let refused = Arc::clone(&guard.refused);
        let decide = move |context: AuthContext<'_>| match refusal(&context.action, may) {
            None => Authorization::Allow,
            Some(refusal) => {
                refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refusal);
                Authorization::Deny
            }
        };
        connection.authorizer(Some(decide))?;
        Ok(guard)
    }

    /// Stops watching.
    pub(crate) fn lift(self, connection: &mut Connection) -> Result<(), Problem> {
        Ok(connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?)
    }

    /// What an error of SQLite means: a refusal has its own reason.
    pub(crate) fn problem(&self, error: rusqlite::Error) -> Problem {
        match self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(refusal) => Problem::Refused(refusal),
            None => error.into(),
        }
    }
}

fn refusal(action: &AuthAction<'_>, may: May) -> Option<Refusal> {
    match *action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => None,
        AuthAction::Function { function_name } => {
            function_name.eq_ignore_ascii_case("load_extension").then_some(Refusal::Extension)
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let is_in = |list: &[&str]| list.iter().any(|name| pragma_name.eq_ignore_ascii_case(name));
            let allowed = is_in(&ABOUT)
                || (is_in(&SETTINGS) && pragma_value.is_none())
                || (may == May::Change && is_in(&SETTABLE));
            (!allowed).then(|| Refusal::Pragma { name: pragma_name.to_owned(), may })
        }
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => Some(Refusal::Transaction(may)),
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Some(Refusal::Attach),
        _ if may == May::Change => None,
        _ => Some(Refusal::Write),
    }
}

/// Why a statement is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It would write, and must not.
    Write,
    /// It begins or ends a transaction.
    Transaction(May),
    /// It reaches for another database.
    Attach,
    /// It loads code.
    Extension,
    /// A pragma that does more than to tell about the database.
    Pragma { name: String, may: May },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write => write!(f, "refused, since it would write and `sql_query` only reads; use `sql_change`"),
            Self::Transaction(May::Read) => {
                write!(f, "refused, since a single query needs no transaction; leave it out")
            }
            Self::Transaction(May::Change) => {
                write!(f, "refused, since all statements are one transaction already; leave it out")
            }
            Self::Attach => write!(f, "refused, since it reaches for another database; use one call for each"),
            Self::Extension => write!(f, "refused, since it would load code"),
            Self::Pragma { name, .. } if name.eq_ignore_ascii_case("foreign_keys") => {
                write!(
                    f,
                    "refused: foreign keys are always enforced; `PRAGMA defer_foreign_keys = ON` has them checked at the end"
                )
            }
            Self::Pragma { name, may } => {
                write!(f, "`PRAGMA {name}` is refused here; allowed are ")?;
                ABOUT.iter().chain(&SETTINGS).try_for_each(|name| write!(f, "{name}, "))?;
                match may {
                    May::Read => write!(f, "all without setting a value"),
                    May::Change => write!(f, "and to set {}", SETTABLE.join(", ")),
                }
            }
        }
    }
}
