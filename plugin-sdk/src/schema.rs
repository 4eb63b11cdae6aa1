use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema (2020-12) of a type, as a model and its clients want it: nothing stands behind a `$ref`, which some
/// cannot follow, and no Rust type is named. Fields that the type does not have are refused.
///
/// It is what a [`CustomTool`](crate::CustomTool) has for its parameters; a
/// [`DynamicTool`](crate::DynamicTool) and an output schema may use it too.
#[must_use]
pub fn schema_of<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<P>();
    schema.remove("title");
    // A parameter that no field takes would be dropped in silence, and the call do something else than was asked.
    if schema.get("type").is_some_and(|kind| kind == "object") && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoParams;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        /// How many.
        count: u8,
    }

    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Params {
        /// Where to look.
        path: String,
        inner: Option<Inner>,
    }

    #[test]
    fn field_docs_become_descriptions_and_nothing_is_a_reference() {
        let schema = schema_of::<Params>();
        assert_eq!(schema["properties"]["path"], json!({"type": "string", "description": "Where to look."}));
        assert_eq!(schema["required"], json!(["path"]));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
        assert_eq!(schema.get("title"), None);
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        let schema = schema_of::<NoParams>();
        let description = "The parameters of a tool that takes none.";
        assert_eq!(schema, json!({"type": "object", "description": description, "additionalProperties": false}));
        serde_json::from_value::<NoParams>(json!({})).unwrap();
    }
}
