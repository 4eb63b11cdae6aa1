//! The factory returns something else.
//
// error: a factory cannot return `std::string::String`
// label: not a tool, nor several
// note: return a type that implements `CustomTool`, a `Vec` of such or a tuple of up to 12, or `AnyTool` made by `tool(..)`
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| pi.session_id().to_owned());

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
