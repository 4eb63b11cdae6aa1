//! What a model sends.

use std::collections::BTreeMap;

use toolhost_plugin_sdk::prelude::*;

/// How many rows a query returns where it does not say.
const ROWS: u32 = 100;
/// How many rows a query can ask for.
pub(crate) const MAX_ROWS: u32 = 1_000;
/// How much of one value a query returns where it does not say.
const CELL_BYTES: u32 = 1_000;
/// How much of one value a query can ask for.
pub(crate) const MAX_CELL_BYTES: u32 = 32_768;

/// How many seconds a call takes at most where it does not say.
const SECONDS: u32 = 60;
/// How many seconds a call can ask for.
pub(crate) const MAX_SECONDS: u32 = 3_600;

/// The parameters of a query.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"database": "shop.db", "sql": "SELECT * FROM orders WHERE id = ?", "params": [7]}))]
pub(crate) struct QueryParams {
    /// Path of the SQLite file, relative to the session's directory or absolute. It must exist.
    pub(crate) database: String,
    /// One statement that reads: SELECT, EXPLAIN QUERY PLAN of one, or a PRAGMA that only tells something, such as
    /// `PRAGMA table_info(orders)`. The tables stand in `sqlite_schema`.
    pub(crate) sql: String,
    /// Values for the parameters of `sql`: a list for `?`, an object by name for `:name`.
    pub(crate) params: Option<Values>,
    /// How many rows to return at most.
    #[serde(default = "rows")]
    #[schemars(range(min = 1, max = 1_000))]
    pub(crate) max_rows: u32,
    /// How many bytes of one text or blob to return at most. The whole result has at most 64 KiB.
    #[serde(default = "cell_bytes")]
    #[schemars(range(min = 1, max = 32_768))]
    pub(crate) max_cell_bytes: u32,
    /// After how many seconds to give up.
    #[serde(default = "seconds")]
    #[schemars(range(min = 1, max = 3_600))]
    pub(crate) max_seconds: u32,
}

/// The parameters of a change.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({
    "database": "shop.db", "sql": "UPDATE orders SET status = :to WHERE status = 'new'", "params": {"to": "sent"}
}))]
pub(crate) struct ChangeParams {
    /// Path of the SQLite file, relative to the session's directory or absolute. It must exist; an empty file is an
    /// empty database.
    pub(crate) database: String,
    /// One or more statements, separated by semicolons: INSERT, UPDATE, DELETE, CREATE, ALTER, DROP. They are one
    /// transaction: leave out BEGIN and COMMIT.
    pub(crate) sql: String,
    /// Values for the parameters of `sql`: a list for `?` where one statement takes them, an object by name for
    /// `:name` in any of them.
    pub(crate) params: Option<Values>,
    /// After how many seconds to give up the preview.
    #[serde(default = "seconds")]
    #[schemars(range(min = 1, max = 3_600))]
    pub(crate) max_seconds: u32,
}

/// Values for the parameters of statements. Each is null, a boolean (1 or 0), a number, a string, or
/// `{"blob": ".."}` with base64.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Values {
    /// In the order of the parameters.
    Listed(Vec<Value>),
    /// By name.
    Named(BTreeMap<String, Value>),
}

fn rows() -> u32 {
    ROWS
}

fn cell_bytes() -> u32 {
    CELL_BYTES
}

fn seconds() -> u32 {
    SECONDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_query_has_the_limits_that_its_schema_states() {
        let params: QueryParams = serde_json::from_value(json!({"database": "a", "sql": "b"})).unwrap();
        let limits = (params.max_rows, params.max_cell_bytes, params.max_seconds);
        assert_eq!((limits, params.params), ((100, 1_000, 60), None));
        let schema = serde_json::to_value(schemars::schema_for!(QueryParams)).unwrap();
        assert_eq!(schema["required"], json!(["database", "sql"]));
        let limits = |of: &str| {
            let of = &schema["properties"][of];
            (of["minimum"].clone(), of["default"].clone(), of["maximum"].clone())
        };
        assert_eq!(limits("maxRows"), (json!(1), json!(ROWS), json!(MAX_ROWS)));
        assert_eq!(limits("maxCellBytes"), (json!(1), json!(CELL_BYTES), json!(MAX_CELL_BYTES)));
        assert_eq!(limits("maxSeconds"), (json!(1), json!(SECONDS), json!(MAX_SECONDS)));
    }

    #[test]
    fn values_are_a_list_or_an_object() {
        let values = |json: Value| serde_json::from_value::<Values>(json).ok();
        assert_eq!(values(json!([1, null])), Some(Values::Listed(vec![json!(1), Value::Null])));
        assert_eq!(values(json!({"a": "x"})), Some(Values::Named(BTreeMap::from([("a".to_owned(), json!("x"))]))));
        assert_eq!(values(json!("x")), None);
    }
}
