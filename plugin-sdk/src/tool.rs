use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost_protocol::{Effect, ToolDefinition};

use crate::adapter::{Concrete, ErasedTool};
use crate::{ToolCall, ToolResult};

/// A tool that a model calls by name.
///
/// One value serves one session, and its calls may overlap: state that changes wants a lock of its own.
pub trait CustomTool: Send + Sync + 'static {
    /// The name that a model calls it by: 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    const NAME: &'static str;
    /// The name that a person reads.
    const LABEL: &'static str;
    /// What it does and when to use it, for the model. The first line stands in lists.
    const DESCRIPTION: &'static str;
    /// What a call does to the world; the gravest unless said otherwise.
    const EFFECT: Effect = Effect::Changes;

    /// The parameters: a struct whose field docs become the descriptions that the model reads.
    /// A tool without any takes [`NoParams`].
    type Params: DeserializeOwned + JsonSchema + Send + 'static;

    /// Runs the tool. The parameters fit [`Params`](Self::Params) and its schema.
    ///
    /// A failure that the model should know of is an error; `?` makes one of whatever failed.
    fn execute(&self, params: Self::Params, call: ToolCall) -> impl Future<Output = ToolResult> + Send;

    /// Whether the tool is left out of the lists that a person sees.
    fn hidden(&self) -> bool {
        false
    }

    /// Whether a model is offered `resolve` together with this tool, since it stages changes.
    fn deferrable(&self) -> bool {
        Self::EFFECT == Effect::Stages
    }
}

/// The parameters of a tool that takes none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub struct NoParams {}

/// A tool whose type is forgotten, for a factory that returns tools of several types; [`tool`] makes one.
pub struct AnyTool(Arc<dyn ErasedTool>);

/// Forgets a tool's type.
pub fn tool<T: CustomTool>(tool: T) -> AnyTool {
    AnyTool(Arc::new(Concrete(tool)))
}

impl AnyTool {
    pub(crate) fn into_erased(self) -> Arc<dyn ErasedTool> {
        self.0
    }
}

impl fmt::Debug for AnyTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyTool").finish_non_exhaustive()
    }
}

pub(crate) fn define<T: CustomTool>(tool: &T) -> ToolDefinition {
    let mut definition = ToolDefinition::new(T::NAME);
    definition.label = T::LABEL.to_owned();
    definition.description = T::DESCRIPTION.to_owned();
    definition.parameters = schema::<T::Params>();
    definition.effect = T::EFFECT;
    definition.hidden = tool.hidden();
    definition.deferrable = tool.deferrable();
    definition
}

/// The schema with nothing behind a `$ref`, which some clients cannot follow, and without what only names Rust types.
fn schema<P: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<P>();
    schema.remove("title");
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let schema = schema::<Params>();
        assert_eq!(schema["properties"]["path"], json!({"type": "string", "description": "Where to look."}));
        assert_eq!(schema["required"], json!(["path"]));
        assert!(!schema.to_string().contains("$ref"), "{schema}");
        assert_eq!(schema.get("title"), None);
    }

    #[test]
    fn no_parameters_are_an_empty_object() {
        let schema = schema::<NoParams>();
        assert_eq!(schema["type"], "object");
        serde_json::from_value::<NoParams>(json!({})).unwrap();
    }
}
