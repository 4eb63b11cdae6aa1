//! Test a plugin's tools in an ordinary `#[tokio::test]`.
//!
//! The tools run in the test's own process, on the same core and through the same adapters as in a host, so that a
//! preview, an apply or a refusal here is what it will be there. What a tool stages, streams, runs and asks is recorded;
//! what it gets for an answer is scripted. The plugin names this crate under `[dev-dependencies]`, beside tokio with the
//! features `macros`, `rt` and `time`.
//!
//! ```
//! use toolhost_plugin_sdk::prelude::*;
//! use toolhost_plugin_testkit::{ExecReply, TestKit, UiReply};
//!
//! struct Tag { pi: CustomToolApi }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Params {
//!     name: String,
//! }
//!
//! impl CustomTool for Tag {
//!     const NAME: &'static str = "tag";
//!     const LABEL: &'static str = "Tag";
//!     const DESCRIPTION: &'static str = "Stages a tag of the commit that is checked out";
//!     const EFFECT: Effect = Effect::Stages;
//!     type Params = Params;
//!
//!     async fn execute(&self, Params { name }: Params, call: ToolCall) -> ToolResult {
//!         if self.pi.ui().select("Which kind?", &["light", "annotated"]).await.is_none() {
//!             return Err("no kind of tag was chosen".into());
//!         }
//!         call.update("looking at HEAD");
//!         let head = self.pi.exec("git", ["rev-parse", "HEAD"], ExecOptions::new()).await?.require_success()?;
//!         let head = head.stdout_text().trim().to_owned();
//!         let pi = self.pi.clone();
//!         let tag = PendingAction::new(format!("Tag {head} as {name}"), move |_reason| {
//!             let (pi, head, name) = (pi.clone(), head.clone(), name.clone());
//!             async move {
//!                 pi.exec("git", ["tag", &name, &head], ExecOptions::new()).await?.require_success()?;
//!                 Ok("Tagged.".into())
//!             }
//!         });
//!         self.pi.push_pending_action(tag.source_tool_name(Self::NAME))?;
//!         Ok("Ready to tag.".into())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // #[tokio::test] async fn tags_head() {
//! let kit = TestKit::builder()
//!     .answer(UiReply::Choose("light"))
//!     .execs("git", ["0a1b2c\n", ""].map(ExecReply::stdout))
//!     .start(|pi| Tag { pi })
//!     .await
//!     .unwrap();
//!
//! assert_eq!(kit.call_text("tag", json!({"name": "v1"})).await, "Ready to tag.");
//! assert_eq!(kit.update_texts(), ["looking at HEAD"]);
//! assert_eq!(kit.pending_labels(), ["Tag 0a1b2c as v1"]);
//!
//! let applied = kit.apply("released").await;
//! assert_eq!(applied.result.to_text(), "Tagged.");
//! assert_eq!(kit.exec_lines(), ["git rev-parse HEAD", "git tag v1 0a1b2c"]);
//! # }
//! ```
//!
//! A parameter that the tool's schema refuses, a second apply, a failing apply that leaves its action pending: all of it
//! behaves as in a host. [`TestKit::call_error`] is for calls that are to fail, [`TestKit::call`] for results with details,
//! and [`TestKit::begin`] gives a call that can be watched and cancelled while it runs.
//!
//! # A call under way
//!
//! What a tool streams is awaited, so that the test knows how far the tool is before it goes on. A program that
//! [hangs](ExecReply::hangs) keeps it there:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! use toolhost_plugin_testkit::{CallError, ExecReply, TestKit};
//!
//! struct Build { pi: CustomToolApi }
//!
//! impl CustomTool for Build {
//!     const NAME: &'static str = "build";
//! #     const LABEL: &'static str = "Build";
//! #     const DESCRIPTION: &'static str = "Builds everything";
//! #     type Params = NoParams;
//!     // ...
//!
//!     async fn execute(&self, _params: NoParams, call: ToolCall) -> ToolResult {
//!         call.update("building");
//!         let make = self.pi.exec("make", ["all"], ExecOptions::new()).await?;
//!         if make.killed_by() == Some(KilledBy::Cancellation) {
//!             self.pi.ui().notify(NoticeLevel::Info, "The build was stopped.");
//!         }
//!         make.require_success()?;
//!         Ok("built".into())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // #[tokio::test] async fn a_build_that_is_cancelled_says_so() {
//! let kit = TestKit::builder().with_ui().exec("make", ExecReply::hangs()).start(|pi| Build { pi }).await.unwrap();
//!
//! let mut call = kit.begin("build", json!({}));
//! assert_eq!(call.next_update().await.unwrap().to_text(), "building");
//! call.cancel();
//! assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "build".to_owned() }));
//! assert_eq!(kit.notices(), [(NoticeLevel::Info, "The build was stopped.".to_owned())]);
//! # }
//! ```
//!
//! # What is logged
//!
//! A tool under test logs as all code of the test does. `#[tokio::test]` runs it on the test's own thread, where a
//! subscriber of that thread hears it, and hears nothing of other tests; not what threads of the tool's own and
//! `spawn_blocking` log. With `tracing-subscriber` under `[dev-dependencies]`:
//!
//! ```
//! # use toolhost_plugin_sdk::prelude::*;
//! # use toolhost_plugin_testkit::TestKit;
//! use std::fs::{File, read_to_string};
//!
//! # struct Sync;
//! # impl CustomTool for Sync {
//! #     const NAME: &'static str = "sync";
//! #     const LABEL: &'static str = "Sync";
//! #     const DESCRIPTION: &'static str = "Syncs";
//! #     type Params = NoParams;
//! #
//! // In the tool's `execute`: tracing::warn!(target: "sync", tries = 3, "gave up");
//! #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
//! #         tracing::warn!(target: "sync", tries = 3, "gave up");
//! #         Ok("later".into())
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! // #[tokio::test] async fn a_sync_that_gives_up_is_logged() {
//! let kit = TestKit::start(|_pi| Sync).await.unwrap();
//! let log = kit.cwd().join("log");
//! let subscriber = tracing_subscriber::fmt().with_writer(File::create(&log).unwrap()).with_ansi(false).without_time();
//! let _until_the_end = tracing::subscriber::set_default(subscriber.finish());
//!
//! kit.call_text("sync", json!({})).await;
//! assert_eq!(read_to_string(log).unwrap(), " WARN sync: gave up tries=3\n");
//! # }
//! ```
//!
//! # What fails a test by itself
//!
//! As the kit is dropped it panics, unless the test does already, where a tool asked a person what the test has no answer
//! to, where a reply or an answer was left over, and where a tool staged something whose `EFFECT` says that it only reads.
//! A program without a reply is refused: the tool gets an error that says how to add one.
//!
//! # Time, and the plugin's own runtime
//!
//! The tools share the test's runtime. So `tokio::time::pause` and `#[tokio::test(start_paused = true)]`, with tokio's
//! feature `test-util`, hold for them, too. Paused time leaps ahead whenever every task waits, be it for a socket or for a
//! program that is really run.
//!
//! In a host a plugin's file has a runtime and a tokio of its own. A test is no proof that the plugin names the features of
//! tokio that it uses, since those of its `[dev-dependencies]` and of this crate are enabled as well; `cargo build`, which
//! leaves them out, is.

mod builder;
mod kit;
mod record;
mod reply;
mod running;
mod script;

pub use builder::{StartError, TestKitBuilder};
pub use kit::TestKit;
pub use record::{ExecCall, Question};
pub use reply::{ExecReply, UiReply};
pub use running::RunningCall;
pub use toolhost_core::{
    AgentToolResult, CallError, EndReport, Pending, PendingSummary, Resolution, ResolveRequest, ResolveStatus,
    SessionStep, ToolDefinition,
};
