//! The factory takes nothing.
//
// error: closure is expected to take 1 argument, but it takes 0 arguments
// help: consider changing the closure to take and ignore the expected argument
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|| Greet);

struct Greet;

#[derive(Deserialize, JsonSchema)]
struct Params {
    name: String,
}

impl CustomTool for Greet {
    const NAME: &'static str = "greet";
    const LABEL: &'static str = "Greet";
    const DESCRIPTION: &'static str = "Greets";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        Ok(format!("Hello {}", params.name).into())
    }
}

fn main() {}
