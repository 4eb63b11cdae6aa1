//! A package exports two plugins.
//
// error: the name `a_package_exports_one_plugin` is defined multiple times
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
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

export_plugin!(|pi: CustomToolApi| Greet { pi });

fn main() {}
