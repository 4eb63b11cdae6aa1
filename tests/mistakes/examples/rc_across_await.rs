//! Something that cannot leave its thread is kept while the tool waits.
//
// error: future cannot be sent between threads safely
// label: await occurs here, with `name` maybe used later
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
        let name = std::rc::Rc::new(params.name.clone());
        tokio::task::yield_now().await;
        let _ = name;
        drop(name);
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
