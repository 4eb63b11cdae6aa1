//! A tool is put into a list that is none.
//
// error: `&str` is no tool
// label: it implements neither `CustomTool` nor `DynamicTool`
// note: write `impl CustomTool for &str`, with NAME, LABEL, DESCRIPTION, Params and execute
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| vec![tool(Greet { pi }), tool("part")]);

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
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
