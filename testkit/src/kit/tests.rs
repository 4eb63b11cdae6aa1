use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinError;
use toolhost_plugin_sdk::prelude::*;

use crate::{ExecReply, TestKit, TestKitBuilder, UiReply};

/// Runs `a` some times, asks some times, and fails if it is to.
struct Busy {
    pi: CustomToolApi,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Params {
    runs: usize,
    questions: usize,
    fails: bool,
}

impl CustomTool for Busy {
    const NAME: &'static str = "busy";
    const LABEL: &'static str = "Busy";
    const DESCRIPTION: &'static str = "Runs programs and asks questions";
    type Params = Params;

    async fn execute(&self, params: Params, _call: ToolCall) -> ToolResult {
        let mut said = Vec::new();
        for _ in 0..params.runs {
            let args = [OsString::from("b"), OsString::from_vec(b"caf\xe9".to_vec())];
            let options = ExecOptions::new().time_limit(Duration::from_millis(1_500)).output_bytes(7);
            said.push(self.pi.exec("a", args, options).await?.stdout_text().into_owned());
        }
        for _ in 0..params.questions {
            said.push(self.pi.ui().confirm("Sure?", "").await.to_string());
        }
        if params.fails { Err(said.join(" ").into()) } else { Ok(said.join(" ").into()) }
    }
}

async fn start(kit: TestKitBuilder) -> TestKit {
    kit.start(|pi| Busy { pi }).await.unwrap()
}

/// What the kit says as it is dropped; empty where it says nothing.
fn dropped(kit: TestKit) -> String {
    let panicked = catch_unwind(AssertUnwindSafe(|| drop(kit)));
    panicked.err().map(|payload| *payload.downcast::<String>().unwrap()).unwrap_or_default()
}

/// What a test says that panics.
fn said(failed: Result<String, JoinError>) -> String {
    *failed.unwrap_err().into_panic().downcast::<String>().unwrap()
}

#[tokio::test]
async fn several_replies_come_in_their_order() {
    let replies = ["1", "2"].map(ExecReply::stdout);
    let kit = start(TestKit::builder().execs("a", replies).exec("a", ExecReply::stdout("3"))).await;
    assert_eq!(kit.call_text("busy", json!({"runs": 3})).await, "1 2 3");
    assert_eq!(dropped(kit), "");
}

#[tokio::test]
async fn a_run_is_recorded_as_it_was_asked_for() {
    let kit = start(TestKit::builder().exec("a", ExecReply::stdout(""))).await;
    kit.call_text("busy", json!({"runs": 1})).await;
    let call = kit.exec_calls().remove(0);
    assert_eq!(call.args, ["b", "caf\u{fffd}"]);
    assert_eq!(call.os_args, [OsString::from("b"), OsString::from_vec(b"caf\xe9".to_vec())]);
    assert_eq!((call.time_limit, call.output_bytes), (Some(Duration::from_millis(1_500)), Some(7)));
}

#[tokio::test]
async fn what_was_never_used_fails_the_test() {
    let kit = TestKit::builder()
        .execs("b", [ExecReply::killed()])
        .execs("a", ["1", "2", "3"].map(ExecReply::stdout))
        .service("weather", json!(1))
        .answer(UiReply::Yes)
        .answer(UiReply::No);
    let kit = start(kit).await;
    assert_eq!(kit.call_text("busy", json!({"runs": 1, "questions": 1})).await, "1 true");
    let text = "`a` was run less often than the test foresaw; unused replies: 2\n\
                `b` was run less often than the test foresaw; unused replies: 1\n\
                the service `weather` was asked less often than the test foresaw; unused answers: 1\n\
                nothing asked for the test's answer No";
    assert_eq!(dropped(kit), text);
}

#[tokio::test]
async fn a_question_that_was_not_foreseen_fails_the_test() {
    let kit = start(TestKit::builder().with_ui()).await;
    assert_eq!(kit.call_text("busy", json!({"questions": 1})).await, "false");
    let text = "the test has no answer to Confirm { title: \"Sure?\", message: \"\" }; add one with `.answer(..)`";
    assert_eq!(dropped(kit), text);
}

#[tokio::test]
async fn a_test_that_fails_anyway_says_only_why() {
    let failed = tokio::spawn(async {
        let kit = start(TestKit::builder().exec("a", ExecReply::killed())).await;
        kit.call_error("busy", json!({})).await
    });
    let text = said(failed.await);
    assert!(text.ends_with(": `busy` succeeded: "), "{text}");
}

#[tokio::test]
async fn a_call_has_the_end_that_it_is_to_have_or_fails_the_test() {
    let kit = start(TestKit::builder()).await;
    assert_eq!(kit.call_text("busy", json!({})).await, "");
    assert_eq!(kit.call_error("busy", json!({"fails": true})).await, "");
    let refused = kit.call_error("busy", json!({"runs": "often"})).await;
    assert!(refused.contains("/runs: \"often\" is not of type \"integer\""), "{refused}");

    let line = line!() + 1;
    let failed = tokio::spawn(async move { kit.call_text("busy", json!({"fails": true})).await }).await;
    let text = said(failed);
    assert!(text.starts_with(&format!("{}:{line}:", file!())) && text.ends_with(": `busy` failed: "), "{text}");
}

#[tokio::test]
async fn a_plugin_is_called_as_its_package_or_as_the_test_says() {
    let failing = |_pi: CustomToolApi| Err::<Busy, _>(ToolError::new("no"));
    let text = TestKit::start(failing).await.unwrap_err().to_string();
    assert_eq!(text, format!("the factory of `{}` failed: no", env!("CARGO_PKG_NAME")));
    let text = TestKit::builder().name("tags").start(failing).await.unwrap_err().to_string();
    assert_eq!(text, "the factory of `tags` failed: no");
}

#[tokio::test(start_paused = true)]
async fn paused_time_is_that_of_the_tools() {
    struct Sleeps;

    impl CustomTool for Sleeps {
        const NAME: &'static str = "sleeps";
        const LABEL: &'static str = "Sleeps";
        const DESCRIPTION: &'static str = "Sleeps for a minute";
        type Params = NoParams;

        async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult {
            let began = tokio::time::Instant::now();
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(format!("{} s", began.elapsed().as_secs()).into())
        }
    }

    let kit = TestKit::start(|_pi| Sleeps).await.unwrap();
    assert_eq!(kit.call_text("sleeps", json!({})).await, "60 s");
}

#[tokio::test]
async fn a_tool_that_stages_and_says_that_it_only_reads_fails_the_test() {
    struct Stages {
        pi: CustomToolApi,
    }

    impl CustomTool for Stages {
        const NAME: &'static str = "stages";
        const LABEL: &'static str = "Stages";
        const DESCRIPTION: &'static str = "Stages, and says that it only reads";
        const EFFECT: Effect = Effect::ReadOnly;
        type Params = Labels;

        async fn execute(&self, params: Labels, _call: ToolCall) -> ToolResult {
            for label in params.labels {
                self.pi.push_pending_action(PendingAction::new(label, async |_reason| Ok("done".into())))?;
            }
            // No list of actions, but details that look like one.
            Ok(AgentToolResult::text("staged").with_details(json!({"pending": [{"label": "mine"}]})))
        }
    }

    #[derive(Deserialize, JsonSchema)]
    struct Labels {
        labels: Vec<String>,
    }

    let kit = TestKit::start(|pi| Stages { pi }).await.unwrap();
    assert_eq!(kit.call_text("stages", json!({"labels": []})).await, "staged");
    assert_eq!(dropped(kit), "");

    let kit = TestKit::start(|pi| Stages { pi }).await.unwrap();
    assert_eq!(kit.call_text("stages", json!({"labels": ["a", "b"]})).await, "staged");
    assert_eq!(kit.apply("").await.result.to_text(), "done");
    let text = "`stages` says that it only reads, and staged `a`; its EFFECT should be `Effect::Stages`\n\
                `stages` says that it only reads, and staged `b`; its EFFECT should be `Effect::Stages`";
    assert_eq!(dropped(kit), text);
}
