//! What stands in a database besides its rows.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::database::Quoted;
use crate::problem::Problem;

/// The objects of a database, and what its tables are like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema {
    /// The statements that made tables, indexes, views and triggers, by kind and name.
    pub(crate) objects: BTreeMap<(String, String), String>,
    /// The tables, by name.
    pub(crate) tables: BTreeMap<String, Table>,
    /// Numbers that programs keep in the file, by the name of their pragma.
    pub(crate) numbers: BTreeMap<&'static str, i64>,
}

/// One table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// The names of its columns, but for those that follow from others.
    pub(crate) columns: Vec<String>,
    /// What tells its rows apart.
    pub(crate) key: Key,
    /// The columns of its primary key.
    pub(crate) primary: Vec<usize>,
}

/// What a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One that people made to hold rows.
    Plain,
    /// One that a module answers for.
    Virtual,
    /// One that SQLite or a module keeps its own books in.
    Internal,
}

/// What tells the rows of a table apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Key {
    /// The rowid, by a name that no column has.
    Rowid(&'static str),
    /// The columns of its primary key, as expressions with the collations by which that tells values apart.
    Columns(Vec<String>),
}

impl Schema {
    /// Reads it in one go; have a transaction open.
    pub(crate) fn read(connection: &Connection) -> Result<Self, Problem> {
        let mut numbers = BTreeMap::new();
        for name in ["application_id", "user_version"] {
            numbers.insert(name, connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0))?);
        }
        Ok(Self { objects: objects(connection)?, tables: tables(connection)?, numbers })
    }
}

fn objects(connection: &Connection) -> Result<BTreeMap<(String, String), String>, Problem> {
    // The indexes that SQLite makes for constraints have no statement.
    let mut statement = connection.prepare("SELECT type, name, coalesce(sql, '') FROM main.sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

// By statements, since a table of the file could take the name of a function such as `pragma_table_list`.
fn tables(connection: &Connection) -> Result<BTreeMap<String, Table>, Problem> {
    let mut statement = connection.prepare("PRAGMA main.table_list")?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, row.get("type")?, row.get("wr")?)))?;
    let rows: Vec<(String, String, bool)> = rows.collect::<Result<_, _>>()?;
    let mut tables = BTreeMap::new();
    for (name, of, is_without_rowid) in rows {
        let kind = match of.as_str() {
            "view" => continue,
            _ if name == "sqlite_schema" => continue,
            "virtual" => Kind::Virtual,
            "shadow" => Kind::Internal,
            _ if name.starts_with("sqlite_") => Kind::Internal,
            _ => Kind::Plain,
        };
        match table(connection, &name, kind, is_without_rowid) {
            Ok(table) => {
                tables.insert(name, table);
            }
            // Of a module that is not there; no statement can reach it, and its rows stand in tables of their own.
            Err(Problem::Sql(_)) if kind == Kind::Virtual => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(tables)
}

fn table(connection: &Connection, name: &str, kind: Kind, is_without_rowid: bool) -> Result<Table, Problem> {
    let mut statement = connection.prepare(&format!("PRAGMA main.table_xinfo({})", Quoted(name)))?;
    let rows = statement.query_map([], |row| Ok((row.get("name")?, row.get("pk")?, row.get("hidden")?)))?;
    let all: Vec<(String, i64, i64)> = rows.collect::<Result<_, _>>()?;
    let is_free = |alias: &&str| !all.iter().any(|(column, ..)| column.eq_ignore_ascii_case(alias));
    let key = if is_without_rowid {
        Key::Columns(primary_key(connection, name)?)
    } else {
        let rowid = ["rowid", "_rowid_", "oid"].into_iter().find(is_free);
        Key::Rowid(rowid.ok_or_else(|| Problem::NoRowid(crate::text::name(name)))?)
    };
    let listed: Vec<_> = all.into_iter().filter(|(_, _, hidden)| *hidden == 0).collect();
    let mut primary: Vec<usize> = (0..listed.len()).filter(|at| listed[*at].1 > 0).collect();
    primary.sort_by_key(|at| listed[*at].1);
    let columns = listed.into_iter().map(|(column, ..)| column).collect();
    Ok(Table { name: name.to_owned(), kind, columns, key, primary })
}

/// The primary key of a table without rowids.
fn primary_key(connection: &Connection, table: &str) -> Result<Vec<String>, Problem> {
    let mut indexes = connection.prepare(&format!("PRAGMA main.index_list({})", Quoted(table)))?;
    let indexes = indexes.query_map([], |row| Ok((row.get("name")?, row.get("origin")?)))?;
    let indexes: Vec<(String, String)> = indexes.collect::<Result<_, _>>()?;
    let mut expressions = Vec::new();
    for (name, _) in indexes.iter().filter(|(_, origin)| origin == "pk") {
        let mut columns = connection.prepare(&format!("PRAGMA main.index_xinfo({})", Quoted(name)))?;
        let mut columns = columns.query([])?;
        while let Some(column) = columns.next()? {
            if column.get("key")? {
                let (name, collation): (String, String) = (column.get("name")?, column.get("coll")?);
                expressions.push(format!("{} COLLATE {}", Quoted(&name), Quoted(&collation)));
            }
        }
    }
    Ok(expressions)
}

impl Table {
    /// The expressions of its key.
    pub(crate) fn keys(&self) -> Vec<String> {
        match &self.key {
            Key::Rowid(rowid) => vec![(*rowid).to_owned()],
            Key::Columns(columns) => columns.clone(),
        }
    }

    /// `SELECT` of its key and then of its columns, of all of its rows.
    pub(crate) fn select(&self) -> String {
        let columns = self.columns.iter().map(|column| Quoted(column).to_string());
        let list: Vec<String> = self.keys().into_iter().chain(columns).collect();
        format!("SELECT {} FROM main.{}", list.join(", "), Quoted(&self.name))
    }

    /// The same in the order of its key.
    pub(crate) fn select_in_order(&self) -> String {
        format!("{} ORDER BY {}", self.select(), self.keys().join(", "))
    }

    /// The same of the one row with the key that is bound.
    pub(crate) fn select_one(&self) -> String {
        let keys: Vec<String> = self.keys().iter().map(|key| format!("{key} = ?")).collect();
        format!("{} WHERE {}", self.select(), keys.join(" AND "))
    }

    /// Whether rows of `other` can be found by the keys of this one.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        match (&self.key, &other.key) {
            (Key::Rowid(_), Key::Rowid(_)) => true,
            (Key::Columns(_), Key::Columns(_)) => self.keys() == other.keys(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(sql: &str) -> Result<Schema, Problem> {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(sql).unwrap();
        Schema::read(&connection)
    }

    #[test]
    fn every_kind_of_table_has_its_key() {
        let schema = schema(
            "CREATE TABLE plain(a, \"b \"\"c\" TEXT, rowid, d AS (a + 1));
             CREATE TABLE pk(y COLLATE NOCASE, x, PRIMARY KEY(x COLLATE RTRIM, y)) WITHOUT ROWID;
             CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT);
             CREATE VIRTUAL TABLE docs USING fts5(body);
             CREATE VIEW v AS SELECT 1",
        )
        .unwrap();
        let select = |name: &str| schema.tables[name].select();
        assert_eq!(select("plain"), r#"SELECT _rowid_, "a", "b ""c", "rowid" FROM main."plain""#);
        assert_eq!(select("counted"), r#"SELECT rowid, "id" FROM main."counted""#);
        let pk = &schema.tables["pk"];
        let (x, y) = (r#""x" COLLATE "RTRIM""#, r#""y" COLLATE "NOCASE""#);
        let select = format!(r#"SELECT {x}, {y}, "y", "x" FROM main."pk""#);
        assert_eq!(pk.select_in_order(), format!("{select} ORDER BY {x}, {y}"));
        assert_eq!(pk.select_one(), format!("{select} WHERE {x} = ? AND {y} = ?"));
        let kinds: Vec<_> = schema.tables.values().map(|table| (table.name.as_str(), table.kind)).collect();
        let internal = |name| (name, Kind::Internal);
        let expected = [
            ("counted", Kind::Plain),
            ("docs", Kind::Virtual),
            internal("docs_config"),
            internal("docs_content"),
            internal("docs_data"),
            internal("docs_docsize"),
            internal("docs_idx"),
            ("pk", Kind::Plain),
            ("plain", Kind::Plain),
            internal("sqlite_sequence"),
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn a_table_whose_rows_cannot_be_told_apart_is_an_error() {
        let problem = schema("CREATE TABLE t(rowid, oid, _ROWID_)").unwrap_err();
        assert!(problem.to_string().starts_with("the table t has columns named rowid, _rowid_ and oid"), "{problem}");
        assert!(schema("CREATE TABLE t(rowid PRIMARY KEY, oid, _rowid_) WITHOUT ROWID").is_ok());
    }

    #[test]
    fn a_table_of_a_module_that_is_not_there_is_left_out() {
        let unknown = "CREATE TABLE t(a); PRAGMA writable_schema = ON;
                       INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING absent(x)');
                       PRAGMA writable_schema = RESET";
        let schema = schema(unknown).unwrap();
        assert_eq!(schema.tables.keys().collect::<Vec<_>>(), ["t"]);
        assert_eq!(schema.objects.len(), 2);
    }

    #[test]
    fn a_name_that_is_not_utf_8_is_an_error() {
        let latin = "CREATE TABLE t(a); PRAGMA writable_schema = ON;
                     UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c452074286ce929' AS TEXT)";
        let expected = "a name or a statement of its schema is not UTF-8; rename it with another program";
        assert_eq!(schema(latin).unwrap_err().to_string(), expected);
    }

    #[test]
    fn no_table_of_the_file_hides_another() {
        let tables = "CREATE TABLE pragma_table_list(name, type, wr, schema); CREATE TABLE pragma_table_xinfo(a);
                      CREATE TABLE sqlitefoo(a); CREATE TABLE SQLITE(a)";
        let schema = schema(tables).unwrap();
        let names: Vec<_> = schema.tables.keys().map(String::as_str).collect();
        assert_eq!(names, ["SQLITE", "pragma_table_list", "pragma_table_xinfo", "sqlitefoo"]);
    }
}
