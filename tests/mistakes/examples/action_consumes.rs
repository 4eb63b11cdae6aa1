//! What is to be applied can be applied once only.
//
// error: cannot move out of `name`, a captured variable in an `Fn` closure
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
        let name = params.name.clone();
        self.pi.push_pending_action(PendingAction::new("Greet", move |_reason: String| {
            let greeting = async move |name: String| Ok(format!("Hello {name}").into());
            greeting(name)
        }))?;
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
