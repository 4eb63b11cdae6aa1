//! The tool has state that calls cannot share.
//
// error: future cannot be sent between threads safely
// error: `Cell<u32>` cannot be shared between threads safely
// note: if you want to do aliasing and mutation between multiple threads, use `std::sync::RwLock` or `std::sync::atomic::AtomicU32` instead
use toolhost_plugin_sdk::prelude::*;

export_plugin!(|pi: CustomToolApi| Greet { pi, greeted: Default::default() });

struct Greet {
    pi: CustomToolApi,
    greeted: std::cell::Cell<u32>,
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
        self.greeted.set(self.greeted.get() + 1);
        Ok(format!("Hello {}, in {}", params.name, self.pi.session_id()).into())
    }
}

fn main() {}
