//! Values from JSON, bound to the parameters of statements.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rusqlite::Statement;
use rusqlite::types::Value as SqlValue;
use serde_json::Value;

use crate::params::Values;
use crate::problem::Problem;
use crate::text::{count, list};

/// The values for one call's statements.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Bound {
    /// None were given.
    Nothing,
    /// For the one statement that takes parameters.
    Listed(Vec<SqlValue>),
    /// For each parameter of that name, without its `:`, `@` or `$`.
    Named(BTreeMap<String, SqlValue>),
}

impl Bound {
    /// What was sent, as SQLite takes it.
    pub(crate) fn new(values: Option<Values>) -> Result<Self, Problem> {
        match values {
            None => Ok(Self::Nothing),
            Some(Values::Listed(values)) => {
                let values = values.into_iter().enumerate();
                let values = values.map(|(at, value)| sql_value(value, &format!("`params[{at}]`")));
                values.collect::<Result<_, _>>().map(Self::Listed)
            }
            Some(Values::Named(values)) => {
                let mut named = BTreeMap::new();
                for (key, value) in values {
                    let value = sql_value(value, &format!("`params.{key}`"))?;
                    let name = key.strip_prefix([':', '@', '$']).unwrap_or(&key).to_owned();
                    if named.insert(name, value).is_some() {
                        return Err(Problem::Parameters(format!("`params` has `{key}` twice; give it once")));
                    }
                }
                Ok(Self::Named(named))
            }
        }
    }
}

/// Binds values to one statement after the other, and knows at the end which were of use.
#[derive(Debug)]
pub(crate) struct Binder<'b> {
    bound: &'b Bound,
    listed_used: bool,
    named_used: BTreeSet<String>,
}

impl<'b> Binder<'b> {
    /// Nothing is bound yet.
    pub(crate) fn new(bound: &'b Bound) -> Self {
        Self { bound, listed_used: false, named_used: BTreeSet::new() }
    }

    /// Binds all parameters of `statement`.
    pub(crate) fn bind(&mut self, statement: &mut Statement<'_>) -> Result<(), Problem> {
        let wanted = statement.parameter_count();
        if wanted == 0 {
            return Ok(());
        }
        match self.bound {
            Bound::Nothing => {
                let names: Vec<_> = (1..=wanted).filter_map(|at| statement.parameter_name(at)).collect();
                let takes = if names.len() == wanted { list(&names) } else { count(wanted as u64, "value") };
                Err(Problem::Parameters(format!("the statement takes {takes}; give `params`")))
            }
            Bound::Listed(values) => {
                if std::mem::replace(&mut self.listed_used, true) {
                    return Err(Problem::Parameters(
                        "a second statement takes parameters, and a list serves one; name them (`:name`), and give \
                         `params` as an object"
                            .to_owned(),
                    ));
                }
                if values.len() != wanted {
                    let (given, wanted) = (count(values.len() as u64, "value"), count(wanted as u64, "value"));
                    return Err(Problem::Parameters(format!("the statement takes {wanted}, and `params` has {given}")));
                }
                (1..).zip(values).try_for_each(|(at, value)| Ok(statement.raw_bind_parameter(at, value)?))
            }
            Bound::Named(values) => (1..=wanted).try_for_each(|at| {
                let Some(name) = statement.parameter_name(at).filter(|name| !name.starts_with('?')) else {
                    return Err(Problem::Parameters(
                        "the statement takes a parameter without a name; give `params` as a list, or write `:name`"
                            .to_owned(),
                    ));
                };
                // Each starts with one character that tells its kind.
                let name = name[1..].to_owned();
                let Some(value) = values.get(&name) else {
                    return Err(Problem::Parameters(format!("`params` has no `{name}`, which the statement takes")));
                };
                statement.raw_bind_parameter(at, value)?;
                self.named_used.insert(name);
                Ok(())
            }),
        }
    }

    /// An error where a value was given that no statement takes.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        let unused: Vec<String> = match self.bound {
            Bound::Listed(values) if !self.listed_used && !values.is_empty() => vec!["`params`".to_owned()],
            Bound::Named(values) => {
                let unused = values.keys().filter(|name| !self.named_used.contains(*name));
                unused.map(|name| format!("`params.{name}`")).collect()
            }
            _ => return Ok(()),
        };
        if unused.is_empty() {
            return Ok(());
        }
        Err(Problem::Parameters(format!("no statement takes {}; leave it out", list(&unused))))
    }
}

/// The value as SQLite takes it, or why it does not.
fn sql_value(value: Value, place: &str) -> Result<SqlValue, Problem> {
    let flaw = |what| Problem::Parameters(format!("{place} {what}"));
    let nested = "is neither null, a boolean, a number, a string nor `{\"blob\": \"<base64>\"}`; give JSON as a string";
    match value {
        Value::Null => Ok(SqlValue::Null),
        Value::Bool(flag) => Ok(SqlValue::Integer(flag.into())),
        Value::Number(number) => match (number.as_i64(), number.is_u64(), number.as_f64()) {
            (Some(integer), ..) => Ok(SqlValue::Integer(integer)),
            (None, false, Some(real)) => Ok(SqlValue::Real(real)),
            _ => Err(flaw("is an integer beyond 64 bits with a sign; give it as a string")),
        },
        Value::String(text) => Ok(SqlValue::Text(text)),
        Value::Object(object) => match object.get("blob") {
            Some(Value::String(text)) if object.len() == 1 => {
                let decoded = BASE64_STANDARD.decode(text).map(SqlValue::Blob);
                decoded.map_err(|_| flaw("is no base64 with padding; encode the blob's bytes so"))
            }
            _ => Err(flaw(nested)),
        },
        Value::Array(_) => Err(flaw(nested)),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;
    use serde_json::json;

    use super::*;

    fn bound(values: Value) -> Result<Bound, String> {
        Bound::new(Some(serde_json::from_value(values).unwrap())).map_err(|problem| problem.to_string())
    }

    /// What these statements return one after the other, with `params` bound.
    fn run(statements: &[&str], params: Value) -> Result<Vec<String>, String> {
        let connection = Connection::open_in_memory().unwrap();
        let bound = bound(params)?;
        let mut binder = Binder::new(&bound);
        let mut results = Vec::new();
        for sql in statements {
            let mut statement = connection.prepare(sql).unwrap();
            binder.bind(&mut statement).map_err(|problem| problem.to_string())?;
            results.push(statement.raw_query().next().unwrap().unwrap().get(0).unwrap());
        }
        binder.finish().map_err(|problem| problem.to_string())?;
        Ok(results)
    }

    #[test]
    fn every_json_value_has_its_own_type() {
        let sql = "SELECT quote(?) || quote(?) || quote(?) || quote(?) || quote(?) || quote(?)";
        let params = json!([null, true, i64::MIN, 1.5, "it's", {"blob": "AP8="}]);
        assert_eq!(run(&[sql], params).unwrap(), ["NULL1-92233720368547758081.5'it''s'X'00FF'"]);
    }

    #[test]
    fn names_serve_all_statements_and_a_list_one() {
        let named = ["SELECT quote(:a)", "SELECT 'none'", "SELECT quote($b) || quote(@a)"];
        assert_eq!(run(&named, json!({"a": 1, ":b": "x"})).unwrap(), ["1", "none", "'x'1"]);
        assert_eq!(run(&["SELECT 'none'", "SELECT quote(?2) || quote(?1)"], json!([1, 2])).unwrap(), ["none", "21"]);
        let twice = run(&["SELECT quote(?)", "SELECT quote(?)"], json!([1])).unwrap_err();
        assert!(twice.starts_with("a second statement takes parameters, and a list serves one; name them"), "{twice}");
    }

    #[test]
    fn whatever_does_not_fit_is_an_error() {
        let cases: [(&str, Value, &str); 9] = [
            ("SELECT ?", json!([]), "the statement takes 1 value, and `params` has 0 values"),
            ("SELECT ?", json!([1, 2]), "the statement takes 1 value, and `params` has 2 values"),
            ("SELECT 'none'", json!([1]), "no statement takes `params`; leave it out"),
            (
                "SELECT quote(:a)",
                json!({"a": 1, "b": 1, "c": 1}),
                "no statement takes `params.b` and `params.c`; leave it out",
            ),
            ("SELECT :b", json!({"a": 1}), "`params` has no `b`, which the statement takes"),
            (
                "SELECT ?",
                json!({"a": 1}),
                "the statement takes a parameter without a name; give `params` as a list, or write `:name`",
            ),
            (
                "SELECT ?",
                json!([u64::MAX]),
                "`params[0]` is an integer beyond 64 bits with a sign; give it as a string",
            ),
            (
                "SELECT :a",
                json!({"a": {"blob": "?"}}),
                "`params.a` is no base64 with padding; encode the blob's bytes so",
            ),
            ("SELECT :a", json!({"a": 1, "@a": 2}), "`params` has `a` twice; give it once"),
        ];
        for (sql, params, message) in cases {
            assert_eq!(run(&[sql], params).unwrap_err(), message, "{sql}");
        }
        let nested = bound(json!([[1]])).unwrap_err();
        assert!(nested.ends_with("`{\"blob\": \"<base64>\"}`; give JSON as a string"), "{nested}");
    }

    #[test]
    fn parameters_without_values_are_an_error_and_not_null() {
        let connection = Connection::open_in_memory().unwrap();
        for (sql, message) in [
            ("SELECT :a, $b", "the statement takes :a and $b; give `params`"),
            ("SELECT ?, ?", "the statement takes 2 values; give `params`"),
        ] {
            let mut statement = connection.prepare(sql).unwrap();
            let problem = Binder::new(&Bound::Nothing).bind(&mut statement).unwrap_err();
            assert_eq!(problem.to_string(), message);
        }
    }
}
