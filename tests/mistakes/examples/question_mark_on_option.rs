//! `?` stands after something that may be absent.
//
// error: the `?` operator can only be used on `Result`s, not `Option`s, in an async function that returns `Result`
// label: use `.ok_or(...)?` to provide an error compatible with `Result<AgentToolResult, ToolError>`
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| Greet { pi });

struct Greet {
    pi: CustomToolApi,
}

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
        let _first = params.name.chars().next()?;
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
