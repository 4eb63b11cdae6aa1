//! Write a native tool plugin for toolhost.
//!
//! A plugin is a shared library with one or more tools that an agent's model calls by name. A tool that would change
//! something stages it first: the host shows a preview, and its `resolve` tool applies or discards it.
//!
//! # A first plugin
//!
//! `Cargo.toml` wants a library of type `cdylib`, this crate (by the path of a checkout) and serde:
//!
//! ```toml
//! [package]
//! name = "my-plugin"
//! version = "0.1.0"
//! edition = "2024"
//!
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! serde = { version = "1", features = ["derive"] }
//! toolhost-plugin-sdk = { path = "../toolhost/plugin-sdk" }
//! ```
//!
//! and `src/lib.rs` one trait and one macro:
//!
//! ```
//! //! Removes a file, after a preview.
//! use std::{fs, future::ready, path::PathBuf};
//! use toolhost_plugin_sdk::prelude::*;
//!
//! export_plugin!(|pi: CustomToolApi| RemoveFile { pi });
//!
//! struct RemoveFile { pi: CustomToolApi }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     /// The file to remove, relative to the session's directory.
//!     path: PathBuf,
//! }
//!
//! impl CustomTool for RemoveFile {
//!     const NAME: &'static str = "remove_file";
//!     const LABEL: &'static str = "Remove File";
//!     const DESCRIPTION: &'static str = "Previews the removal of a file and defers it to resolve";
//!     const EFFECT: Effect = Effect::Stages;
//!     type Params = Params;
//!
//!     async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
//!         let path = self.pi.cwd().join(&params.path);
//!         let old = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
//!         let action = PendingAction::new(format!("Remove {}", params.path.display()), {
//!             let path = path.clone();
//!             move |_reason| ready(fs::remove_file(&path).map(|()| "Removed.".into()).map_err(ToolError::from))
//!         });
//!         let changes = Changes::new().delete(&path, &old);
//!         self.pi.push_pending_action(action.source_tool_name(Self::NAME).changes(changes))?;
//!         Ok(format!("Would remove {} ({} bytes).", params.path.display(), old.len()).into())
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! `cargo build` makes the file; `toolhost list --plugin target/debug/libmy_plugin.so` checks it as a host does and says what
//! to mend, and `toolhost call remove_file --plugin target/debug/libmy_plugin.so path=notes.txt` runs it, shows the preview
//! and asks. (On macOS the file ends in `.dylib`.) The name of the package is the name of the plugin.
//!
//! The rest of this page goes through what a tool can do: [parameters](#parameters) ·
//! [results and failures](#results-and-failures) · [previews](#previews) · [several tools](#several-tools) ·
//! [async, progress, cancellation](#async-progress-cancellation) · [what the host offers](#what-the-host-offers) ·
//! [sessions](#sessions) · [tools made from data](#tools-made-from-data) · [what a person sees](#what-a-person-sees) ·
//! [logging](#logging) · [testing](#testing) · [shipping](#shipping) · [good manners](#good-manners).
//!
//! # Parameters
//!
//! A struct that derives `Deserialize` and [`JsonSchema`](schemars::JsonSchema). The model reads its schema: the names, the
//! types, and the doc comments as descriptions. So write those for the model.
//!
//! ```
//! use toolhost_plugin_sdk::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(rename_all = "camelCase")]
//! struct Params {
//!     /// The text to look for.
//!     text: String,
//!     /// Where to look, relative to the session's directory; everywhere when left out.
//!     directory: Option<std::path::PathBuf>,
//!     /// How many matches to return.
//!     #[serde(default = "ten")]
//!     #[schemars(range(min = 1, max = 1000))]
//!     limit: usize,
//!     /// How to compare.
//!     #[serde(default)]
//!     matching: Matching,
//! }
//!
//! #[derive(Default, Deserialize, JsonSchema)]
//! #[serde(rename_all = "camelCase")]
//! enum Matching {
//!     /// Letter by letter.
//!     #[default]
//!     Exact,
//!     /// `A` is `a`.
//!     IgnoreCase,
//! }
//!
//! fn ten() -> usize {
//!     10
//! }
//!
//! let schema = schema_of::<Params>();
//! assert_eq!(schema["properties"]["limit"]["maximum"], 1000);
//! assert_eq!(schema["required"], json!(["text"]));
//! ```
//!
//! The host checks every call against the schema before the tool runs, so that `execute` sees only parameters that fit; what
//! models commonly get wrong, such as `"10"` for `10`, it mends. A field that the struct does not have is refused. What a
//! schema cannot say is for `execute` to check, with an error that names the parameter. A tool without parameters takes
//! [`NoParams`].
//!
//! Parameters that exclude each other are `Option`s that `execute` matches on, and the struct's own comment says so; an
//! enum would make a schema with alternatives at its top, which some models' providers refuse. A type of another crate
//! that is no `JsonSchema` stands in the schema as what it is read from:
//!
//! ```
//! use std::net::IpAddr;
//! use toolhost_plugin_sdk::prelude::*;
//!
//! /// Either `host` or `address`.
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     /// A name to look up.
//!     host: Option<String>,
//!     /// An address, such as `192.0.2.1`.
//!     #[schemars(with = "Option<String>")]
//!     address: Option<IpAddr>,
//! }
//!
//! # fn target(params: Params) -> ToolResult {
//! let target = match (params.host, params.address) {
//!     (Some(host), None) => host,
//!     (None, Some(address)) => address.to_string(),
//!     _ => return Err("give either `host` or `address`".into()),
//! };
//! # Ok(target.into()) }
//! # let given = |params: Value| target(serde_json::from_value(params).unwrap());
//! # assert_eq!(given(json!({"address": "192.0.2.1"})).unwrap().to_text(), "192.0.2.1");
//! # assert!(given(json!({"host": "a", "address": "192.0.2.1"})).is_err());
//! let schema = schema_of::<Params>();
//! assert_eq!(schema["properties"]["address"]["type"], json!(["string", "null"]));
//! assert_eq!(schema["description"], "Either `host` or `address`.");
//! ```
//!
//! The schema takes any string for such a field. What the type then refuses is reported by the parameter's name all the
//! same; a `regex(pattern = …)` beside the `with` tells the model beforehand.
//!
//! # Results and failures
//!
//! A result is made of a text, of [`Content`], or of an [`AgentToolResult`] with details for programs:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Stat;
//! # impl CustomTool for Stat {
//! #     const NAME: &'static str = "stat";
//! #     const LABEL: &'static str = "Stat";
//! #     const DESCRIPTION: &'static str = "Looks at a file";
//! #     type Params = Params;
//! # fn output_schema(&self) -> Option<Value> { None }
//! async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
//!     // `?` takes any error; its sources become part of the message.
//!     let metadata = std::fs::metadata(&params.path)?;
//!     if metadata.is_dir() {
//!         return Err(ToolError::new(format!("`path` is the directory {}; name a file", params.path)).with_code("directory"));
//!     }
//!     let mut result = AgentToolResult::text(format!("{} bytes", metadata.len()));
//!     result.details = Some(json!({"bytes": metadata.len()}));
//!     Ok(result)
//! }
//! # }
//! # #[derive(Deserialize, JsonSchema)]
//! # struct Params { path: String }
//! # fn main() {}
//! ```
//!
//! The model gets the content in its order; where one text is made of it, as by [`AgentToolResult::to_text`], a line feed
//! joins the pieces. It never sees the details: what it needs to know is in the content. Programs read them, by the
//! [`output_schema`](CustomTool::output_schema) if there is one, against which no host checks them.
//!
//! A host cuts content that is longer than its limit, by default 1 MiB of texts and images (in base64) together, and tells
//! the model how much is missing. Details are not counted. What may become long wants a parameter such as `limit`.
//!
//! An error is what the model reads next: say which file or parameter it is about, and what to do instead.
//! [`ToolError::with_code`] and [`with_details`](ToolError::with_details) are for programs; [`code`] has the codes that an
//! author meets. anyhow's errors convert too. A
//! panic is caught, and reported with its place; the host lives on. Keep `panic = "unwind"`, the default: a host refuses a
//! plugin that was built to abort.
//!
//! # Previews
//!
//! A tool that changes something does not do it: it stages the change, and says what would happen. The host shows the
//! preview, and its tool `resolve` applies or discards it. [`CustomToolApi::push_pending_action`] takes a [`PendingAction`]
//! made of closures, or anything that implements [`StagedChange`], which reads better where there is state:
//!
//! ```
//! use std::{fs, path::PathBuf};
//! use toolhost_plugin_sdk::prelude::*;
//!
//! struct Overwrite {
//!     path: PathBuf,
//!     old: Vec<u8>,
//!     new: String,
//! }
//!
//! impl StagedChange for Overwrite {
//!     fn label(&self) -> String {
//!         format!("Overwrite {}", self.path.display())
//!     }
//!
//!     fn source_tool_name(&self) -> Option<String> {
//!         Some("overwrite".to_owned())
//!     }
//!
//!     fn changes(&self) -> Option<Changes> {
//!         Some(Changes::new().modify(&self.path, &self.old, &self.new))
//!     }
//!
//!     async fn apply(&self, _reason: &str) -> ToolResult {
//!         if fs::read(&self.path)? != self.old {
//!             return Err(ToolError::stale(format!("{} has changed since the preview", self.path.display())));
//!         }
//!         fs::write(&self.path, &self.new)?;
//!         Ok("Written.".into())
//!     }
//!
//!     async fn reject(&self, _reason: &str) -> RejectResult {
//!         Ok(None)
//!     }
//! }
//! ```
//!
//! [`Changes`] is the diff that a person sees, and what the host verifies right before it applies: leave it out, and what
//! somebody else wrote meanwhile is lost unless `apply` looks. `apply` does exactly what
//! was shown or fails and changes nothing; after a failure the action stays pending and may be tried again. Several actions
//! are resolved last first, so stage steps that build on each other as one action. Say `EFFECT = Effect::Stages`, so that a
//! host lets a model call the tool without asking a person first.
//!
//! # Several tools
//!
//! The argument of [`export_plugin!`] is a factory, which a host calls once per session. It returns one tool, a `Vec` or a
//! tuple of tools, a `Result`, or a future of any of these; [`tool`] forgets a tool's type, for a `Vec` of several:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Count;
//! # impl CustomTool for Count {
//! #     const NAME: &'static str = "count";
//! #     const LABEL: &'static str = "Count";
//! #     const DESCRIPTION: &'static str = "Counts";
//! #     type Params = NoParams;
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! # }
//! # struct Erase { _pi: CustomToolApi }
//! # impl CustomTool for Erase {
//! #     const NAME: &'static str = "erase";
//! #     const LABEL: &'static str = "Erase";
//! #     const DESCRIPTION: &'static str = "Erases";
//! #     type Params = NoParams;
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! # }
//! export_plugin!(async |pi: CustomToolApi| -> Result<Vec<AnyTool>, ToolError> {
//!     // An async factory may read files or ask the network; `?` fails the load with a message.
//!     Ok(vec![tool(Count), tool(Erase { _pi: pi })])
//! });
//! # fn main() {}
//! ```
//!
//! A closure that uses `?` states its return type, as here; a plain `fn` does, too, and can be called from a test as well as
//! exported. Tools that share something hold an `Arc` of it. One value of a tool serves all calls of its session, one after the other,
//! or at the same time where [`PARALLEL`](CustomTool::PARALLEL) is true: state that changes is in a `Mutex` or an atomic. Say
//! `PARALLEL = true` for a tool that only reads; a model often asks for several files or pages at once.
//!
//! # Async, progress, cancellation
//!
//! `tokio::time`, `fs`, `process`, `net`, `spawn`, `spawn_blocking` and `select!` work inside `execute`, `apply` and `reject`
//! without any set-up, whatever the host runs on: the SDK starts a runtime of the plugin's own on first use. A factory that
//! needs tokio is `async`. The plugin depends on tokio itself, with the features that it uses:
//!
//! ```toml
//! tokio = { version = "1", features = ["macros", "rt", "time"] }
//! ```
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Slow;
//! # impl CustomTool for Slow {
//! #     const NAME: &'static str = "slow";
//! #     const LABEL: &'static str = "Slow";
//! #     const DESCRIPTION: &'static str = "Takes its time";
//! #     type Params = NoParams;
//! async fn execute(&self, _params: NoParams, call: ToolCall) -> ToolResult {
//!     for step in 1..=3 {
//!         call.update(format!("step {step} of 3"));
//!         tokio::select! {
//!             () = tokio::time::sleep(std::time::Duration::from_millis(1)) => {}
//!             () = call.cancelled() => return Err(format!("stopped at step {step} of 3").into()),
//!         }
//!     }
//!     let sum = tokio::task::spawn_blocking({
//!         let call = call.clone();
//!         move || (0..1_000_000_u64).take_while(|_| !call.is_cancelled()).sum::<u64>()
//!     });
//!     Ok(format!("done: {}", sum.await?).into())
//! }
//! # }
//! ```
//!
//! A tool that is asked to stop should return soon, with whatever result: its caller has stopped waiting for it. Work that
//! computes for long belongs on `spawn_blocking`, since nothing can interrupt a future between two `await`s. What a spawned
//! task stages or runs belongs to the call where [`ToolCall::scope`] says so.
//!
//! # What the host offers
//!
//! [`CustomToolApi`] is the session: its [`cwd`](CustomToolApi::cwd), the plugin's own directory
//! ([`plugin_dir`](CustomToolApi::plugin_dir)), and what the host does for plugins.
//!
//! ```
//! use std::time::Duration;
//! use toolhost_plugin_sdk::prelude::*;
//!
//! export_plugin!(|pi: CustomToolApi| -> Result<Push, ToolError> {
//!     // The settings that the user gave this plugin; a wrong one fails the load, by its name.
//!     let settings = pi.config()?;
//!     Ok(Push { pi, settings })
//! });
//!
//! #[derive(Deserialize)]
//! #[serde(default, deny_unknown_fields)]
//! struct Settings {
//!     remote: String,
//! }
//!
//! impl Default for Settings {
//!     fn default() -> Self {
//!         Self { remote: "origin".to_owned() }
//!     }
//! }
//!
//! struct Push {
//!     pi: CustomToolApi,
//!     settings: Settings,
//! }
//!
//! impl CustomTool for Push {
//!     const NAME: &'static str = "push_branch";
//!     const LABEL: &'static str = "Push Branch";
//!     const DESCRIPTION: &'static str = "Pushes the current branch, if the person agrees";
//!     type Params = NoParams;
//!
//!     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
//!         let remote = &self.settings.remote;
//!         if self.pi.has_ui() && !self.pi.ui().confirm("Push?", format!("to {remote}")).await {
//!             return Err("the person does not want to push".into());
//!         }
//!         let options = ExecOptions::new().time_limit(Duration::from_secs(60));
//!         let pushed = self.pi.exec("git", ["push", remote, "HEAD"], options).await?.require_success()?;
//!         Ok(pushed.stderr_text().into_owned().into())
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! A program that [`exec`](CustomToolApi::exec) runs is killed with all that it started once the call is cancelled; it gets
//! no key or token from the environment. Up to 10 MiB of each of its outputs are kept, by the host's default
//! ([`ExecOptions::output_bytes`]). A path that a model gave is kept inside of the session's directory by
//! [`resolve_inside`](CustomToolApi::resolve_inside). A host may refuse to run programs, and may have nobody to ask: [`ui`](Ui) then
//! answers no, or nothing, at once.
//!
//! # Sessions
//!
//! [`CustomTool::on_session`] hears when the session starts, is switched, branched, compacted or shut down. What a tool keeps
//! in itself lasts as long as its session; nothing of it is shared with another.
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # use std::sync::Mutex;
//! # struct Notes { seen: Mutex<Vec<String>> }
//! # impl CustomTool for Notes {
//! #     const NAME: &'static str = "notes";
//! #     const LABEL: &'static str = "Notes";
//! #     const DESCRIPTION: &'static str = "Takes notes";
//! #     type Params = NoParams;
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! async fn on_session(&self, step: SessionStep) -> Result<(), ToolError> {
//!     if let SessionStep::Switch | SessionStep::Branch = step {
//!         self.seen.lock().map_err(|_| "a call that took notes has panicked")?.clear();
//!     }
//!     Ok(())
//! }
//! # }
//! # fn main() {}
//! ```
//!
//! # Tools made from data
//!
//! Where names and schemas are known only at run time (a list of queries in the settings, a file of commands), implement
//! [`DynamicTool`] instead; its documentation has a whole plugin.
//!
//! # What a person sees
//!
//! [`LABEL`](CustomTool::LABEL) or [`title`](CustomTool::title) names a tool. [`render_call`](CustomTool::render_call) and
//! [`render_result`](CustomTool::render_result) replace the host's own view of a call and of what came of it:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct Fetch;
//! # impl CustomTool for Fetch {
//! #     const NAME: &'static str = "fetch";
//! #     const LABEL: &'static str = "Fetch";
//! #     const DESCRIPTION: &'static str = "Fetches";
//! #     type Params = Params;
//! #     async fn execute(&self, _params: Params, _call: ToolCall) -> ToolResult { Ok("".into()) }
//! fn render_call(&self, params: &Params, view: View) -> Option<Vec<String>> {
//!     Some(vec![params.url.chars().take(view.width).collect()])
//! }
//! # }
//! # #[derive(Deserialize, JsonSchema)]
//! # struct Params { url: String }
//! # fn main() {}
//! ```
//!
//! # Logging
//!
//! Use [`tracing`], which the prelude brings along, or the crate `log`. Events and spans arrive in the host's own log, with
//! the plugin's name, the call, target, fields and place; the host's level decides, and a line that nobody wants costs a
//! comparison.
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # async fn fetch(url: &str) -> Result<String, ToolError> {
//! tracing::info!(url, "fetching");
//! # Ok(String::new()) }
//! ```
//!
//! On the command line, `TOOLHOST_LOG=info toolhost call …` shows it. Never set up a subscriber or a logger, nor print: the host's terminal is not the plugin's. A panic arrives in the log, too.
//!
//! # Testing
//!
//! The crate `toolhost-plugin-testkit` runs tools in an ordinary test, on the host's own implementation of previews and
//! `resolve`; programs and persons answer from a script. With `[dev-dependencies]`
//!
//! ```toml
//! tokio = { version = "1", features = ["macros", "rt", "time"] }
//! toolhost-plugin-testkit = { path = "../toolhost/testkit" }
//! ```
//!
//! a test of the first plugin on this page reads:
//!
//! ```
//! # use std::{fs, future::ready, path::PathBuf};
//! # use toolhost_plugin_sdk::prelude::*;
//! # struct RemoveFile { pi: CustomToolApi }
//! # #[derive(Deserialize, JsonSchema)]
//! # struct Params { path: PathBuf }
//! # impl CustomTool for RemoveFile {
//! #     const NAME: &'static str = "remove_file";
//! #     const LABEL: &'static str = "Remove File";
//! #     const DESCRIPTION: &'static str = "Previews the removal of a file and defers it to resolve";
//! #     type Params = Params;
//! #     async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
//! #         let path = self.pi.cwd().join(&params.path);
//! #         let old = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
//! #         let action = PendingAction::new(format!("Remove {}", params.path.display()), {
//! #             let path = path.clone();
//! #             move |_reason| ready(fs::remove_file(&path).map(|()| "Removed.".into()).map_err(ToolError::from))
//! #         });
//! #         let changes = Changes::new().delete(&path, &old);
//! #         self.pi.push_pending_action(action.source_tool_name(Self::NAME).changes(changes))?;
//! #         Ok(format!("Would remove {} ({} bytes).", params.path.display(), old.len()).into())
//! #     }
//! # }
//! use toolhost_plugin_testkit::TestKit;
//!
//! # async fn test() {
//! // #[tokio::test]
//! // async fn removes_a_file_once_that_is_applied() {
//! let kit = TestKit::builder().start(|pi| RemoveFile { pi }).await.unwrap();
//! std::fs::write(kit.cwd().join("notes.txt"), "old").unwrap();
//!
//! let preview = kit.call_text("remove_file", json!({"path": "notes.txt"})).await;
//! assert_eq!(preview, "Would remove notes.txt (3 bytes).");
//! assert!(kit.cwd().join("notes.txt").exists());
//!
//! let applied = kit.apply("not needed").await;
//! assert_eq!(applied.result.to_text(), "Removed.");
//! assert!(!kit.cwd().join("notes.txt").exists());
//! // }
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test());
//! ```
//!
//! `cargo test` does not run the examples in the documentation of a library that is only a `cdylib`: mark them `text`, so
//! that none looks tested. Nor does it make the file that a host loads: `cargo build` does.
//!
//! # Shipping
//!
//! The file that `cargo build --release` makes is all there is to ship. `lto = "fat"`, `strip = true` and
//! `opt-level = "s"` in the release profile make it several times smaller. It loads in older and in newer hosts on the
//! target that it was built for, whatever compiler built them; `docs/abi.md` in the repository says for how long.
//!
//! A program that links its plugins instead of loading files takes the same factory: see [`linked_plugin!`]. Log and panics
//! then need no bridge, since the plugin shares its host's.
//!
//! # Good manners
//!
//! A plugin shares its process with the host and with other plugins. It does not call `std::env::set_var` or
//! `set_current_dir`, install signal handlers, end the process, print, or close what it did not open. A thread that it starts
//! may outlive its session, and has to bear that: whatever the host is asked for then is refused. `docs/abi.md` in the
//! repository has the whole list.

// The macro's expansion names this crate, also inside of it.
extern crate self as toolhost_plugin_sdk;

mod adapter;
mod api;
mod bridge;
mod call;
mod changes;
pub mod code;
mod context;
mod dynamic;
mod error;
mod exec;
mod export;
mod factory;
mod inside;
mod linked;
mod parameters;
mod pending;
mod plugin;
mod schema;
mod tool;
mod ui;
mod view;

pub use api::CustomToolApi;
pub use call::ToolCall;
pub use changes::{Changes, file_dependency};
pub use context::Scoped;
pub use dynamic::DynamicTool;
pub use error::{ToolError, ToolResult};
pub use exec::{ExecOptions, ExecOutput};
pub use factory::{CustomToolFactory, IntoTools, SingleTool, forms};
pub use linked::{LinkedPlugin, link};
pub use parameters::Parameters;
pub use pending::{PendingAction, PendingActionId, RejectResult, StagedChange};
pub use schema::schema_of;
pub use tool::{AnyTool, CustomTool, NoParams, tool};
pub use toolhost_protocol::service::{NoticeLevel, SessionState};
pub use toolhost_protocol::{
    AgentToolResult, ChangeKind, Content, Dependency, DependencyState, Effect, FileChange, FileState, SessionStep,
};
pub use ui::Ui;
pub use view::View;

#[doc(hidden)]
pub use export::__private;

/// Everything that a plugin usually needs: `use toolhost_plugin_sdk::prelude::*;`
pub mod prelude {
    pub use crate::{
        AgentToolResult, AnyTool, ChangeKind, Changes, Content, CustomTool, CustomToolApi, DynamicTool, Effect,
        ExecOptions, ExecOutput, LinkedPlugin, NoParams, NoticeLevel, PendingAction, RejectResult, SessionStep,
        StagedChange, ToolCall, ToolError, ToolResult, View, export_plugin, linked_plugin, schema_of, tool,
    };
    pub use schemars::{self, JsonSchema};
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
    pub use tracing;
}
