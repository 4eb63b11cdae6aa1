//! The parameters derive no `JsonSchema`.
//
// error: `Params` cannot be the parameters of a tool
// label: a tool's parameters are read from JSON, and their schema tells a model of them
// note: write `#[derive(Deserialize, JsonSchema)]` above it, and above the types of its fields
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| Greet { pi });

struct Greet {
    pi: CustomToolApi,
}

#[derive(Deserialize)]
struct Params {
    name: String,
}

impl CustomTool for Greet {
    const NAME: &'static str = "greet";
    const LABEL: &'static str = "Greet";
    const DESCRIPTION: &'static str = "Greets";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
