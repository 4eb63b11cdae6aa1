//! What a model sends to `batch_rename_preview`.

use toolhost_plugin_sdk::prelude::*;

/// The parameters of one preview.
///
/// `find` chooses the files that are renamed: one whose name it does not match is left alone. Without `find`, `case`,
/// `extensionCase` and `number` apply to every file.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(example = serde_json::json!({"files": ["IMG_1.JPG"], "find": "IMG", "replace": "trip"}))]
pub(crate) struct Params {
    /// Paths of the files or directories to rename, all inside the session's directory: relative to it or absolute, each
    /// once. Their order is the order of the numbers.
    pub(crate) files: Vec<String>,
    /// A regular expression to find in each file's name (the last part of its path). Every match in the name is
    /// replaced; a file without a match is left alone. Needs `replace`.
    pub(crate) find: Option<String>,
    /// What each match becomes; `""` removes it. `$1` or `${name}` insert a capture group, `$$` is a dollar sign. A `/`
    /// moves the file into a directory that must exist already. Needs `find`.
    pub(crate) replace: Option<String>,
    /// Takes `find` and `replace` literally: no regular expression, no `$1`.
    #[serde(default)]
    pub(crate) literal: bool,
    /// Changes the case of the name, without its extension, after replacing. `title`: Each Word Like This.
    pub(crate) case: Option<Case>,
    /// Changes the case of the extension (what follows the last dot; a directory has none), after replacing.
    pub(crate) extension_case: Option<Case>,
    /// Adds a running number to each name, after everything else. `{}` gives `name-1.txt`, `name-2.txt`, and so on.
    pub(crate) number: Option<Number>,
}

/// How letters change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Case {
    Lower,
    Upper,
    Title,
}

/// A running number, in the order in which the files were given. A file that `find` does not match takes no number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Number {
    /// The first number.
    pub(crate) start: u32,
    /// How much each number adds to the one before it.
    #[schemars(range(min = 1))]
    pub(crate) step: u32,
    /// Pads with zeros to this many digits. Left out: as many as the largest number has, so that names sort.
    pub(crate) width: Option<u8>,
    /// What stands between the name and its number.
    pub(crate) separator: String,
    /// `after`: `name-1.txt`; `before`: `1-name.txt`.
    pub(crate) position: Position,
}

impl Default for Number {
    fn default() -> Self {
        Self { start: 1, step: 1, width: None, separator: "-".to_owned(), position: Position::After }
    }
}

/// On which side of the name its number stands.
// Serialize: the schema shows the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Position {
    Before,
    After,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: serde_json::Value) -> Result<Params, String> {
        serde_json::from_value(json).map_err(|e| e.to_string())
    }

    #[test]
    fn the_smallest_number_has_useful_defaults() {
        let params = parse(serde_json::json!({"files": ["a"], "number": {}})).unwrap();
        let number = Number { start: 1, step: 1, width: None, separator: "-".to_owned(), position: Position::After };
        assert_eq!(params.number, Some(number));
    }

    #[test]
    fn names_are_camel_case_and_unknown_ones_are_refused() {
        let params = parse(serde_json::json!({"files": [], "extensionCase": "lower"})).unwrap();
        assert_eq!(params.extension_case, Some(Case::Lower));
        let error = parse(serde_json::json!({"files": [], "pattern": "x"})).unwrap_err();
        assert!(error.starts_with("unknown field `pattern`, expected one of `files`"), "{error}");
    }

    #[test]
    fn the_schema_asks_for_files_alone_and_shows_an_example() {
        let schema = serde_json::to_value(schemars::schema_for!(Params)).unwrap();
        assert_eq!(schema["required"], serde_json::json!(["files"]));
        assert_eq!(schema["additionalProperties"], serde_json::json!(false));
        let example = serde_json::json!([{"files": ["IMG_1.JPG"], "find": "IMG", "replace": "trip"}]);
        assert_eq!(schema["examples"], example);
        assert_eq!(schema["properties"]["literal"]["type"], "boolean");
        let number = &schema["$defs"]["Number"]["properties"];
        assert_eq!(number["position"]["default"], "after");
        assert_eq!(number["separator"]["default"], "-");
        assert_eq!(schema["$defs"]["Case"]["enum"], serde_json::json!(["lower", "upper", "title"]));
    }
}
