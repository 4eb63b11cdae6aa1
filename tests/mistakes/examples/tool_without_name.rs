//! The tool has no name.
//
// error: not all trait items implemented, missing: `NAME`
// help: implement the missing item: `const NAME: &'static str = "";`
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
    const LABEL: &'static str = "Greet";
    const DESCRIPTION: &'static str = "Greets";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
