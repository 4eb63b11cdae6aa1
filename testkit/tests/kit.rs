//! The kit itself: what it records, what it answers, and that all else is as in a host.

// A case fails where something cannot be had; its helpers do too.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tokio::time::sleep;
use toolhost_core::service::NoticeLevel as Level;
use toolhost_plugin_sdk::prelude::*;
use toolhost_plugin_testkit::{
    CallError, ExecReply, Question, ResolveRequest, ResolveStatus, StartError, TestKit, UiReply,
};

/// Does the steps that it is given, in order, and says what came of each.
struct Steps {
    pi: CustomToolApi,
}

#[derive(Deserialize, JsonSchema)]
struct Params {
    steps: Vec<Step>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Step {
    Update(String),
    Push(String),
    /// A program and its arguments.
    Exec(Vec<String>),
    Select(Vec<String>),
    Confirm,
    Input,
    Notify,
    Status(Option<String>),
    State,
    Service(String),
    Abort,
    /// Until the call is cancelled.
    Wait,
    /// Longer than anybody waits.
    Stay,
    Fail(String),
    Panic,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    greeting: Option<String>,
}

impl CustomTool for Steps {
    const NAME: &'static str = "steps";
    const LABEL: &'static str = "Steps";
    const DESCRIPTION: &'static str = "Does what it is told";
    const EFFECT: Effect = Effect::Stages;
    type Params = Params;

    async fn execute(&self, params: Params, call: ToolCall) -> ToolResult {
        let mut came = Vec::new();
        for step in params.steps {
            came.push(self.step(step, &call).await?);
        }
        Ok(AgentToolResult::text("done").with_details(json!(came)))
    }
}

impl Steps {
    async fn step(&self, step: Step, call: &ToolCall) -> Result<Value, ToolError> {
        let ui = self.pi.ui();
        Ok(match step {
            Step::Update(text) => json!(call.update(text)),
            Step::Push(label) => {
                let (applied, rejected) = (label.clone(), label.clone());
                let action = PendingAction::new(label, move |reason| {
                    let result = format!("applied {applied}: {reason}");
                    async move { if reason == "fail" { Err("no luck".into()) } else { Ok(result.into()) } }
                });
                self.pi.push_pending_action(action.on_reject(move |reason| {
                    let result = format!("rejected {rejected}: {reason}");
                    async move { Ok(Some(result.into())) }
                }))?;
                json!("pushed")
            }
            Step::Exec(line) => {
                let options = ExecOptions::new().cwd("sub").env("A", "1").without_env("B").stdin("in");
                let (program, args) = line.split_first().ok_or("no program")?;
                let output = self.pi.exec(program, args, options).await?;
                json!([output.stdout_text(), output.stderr_text(), output.code, output.killed])
            }
            Step::Select(options) => json!(ui.select("Which?", &options).await),
            Step::Confirm => json!(ui.confirm("Sure?", "really").await),
            Step::Input => json!(ui.input("Name?", "Ada").await),
            Step::Notify => json!(ui.notify(NoticeLevel::Warning, "careful")),
            Step::Status(text) => json!(ui.set_status("progress", text.as_deref())),
            Step::State => json!(call.session_state().await?),
            Step::Service(name) => self.pi.service(&name, &json!({"n": 1})).await?,
            Step::Abort => json!(call.abort()),
            Step::Wait => {
                call.update("waits");
                json!(call.cancelled().await)
            }
            Step::Stay => {
                call.update("stays");
                json!(sleep(Duration::from_secs(3_600)).await)
            }
            Step::Fail(message) => Err(message)?,
            Step::Panic => panic!("on purpose"),
        })
    }
}

fn factory(pi: CustomToolApi) -> Result<Steps, ToolError> {
    let settings: Settings = pi.config()?;
    match settings.greeting.as_deref() {
        Some("rude") => Err("mind the greeting".into()),
        _ => Ok(Steps { pi }),
    }
}

async fn kit() -> TestKit {
    TestKit::builder().name("stepping").start(factory).await.unwrap()
}

/// What came of these steps.
async fn came(kit: &TestKit, steps: Value) -> Value {
    let result = kit.call("steps", json!({"steps": steps})).await.unwrap();
    assert_eq!(result.to_text(), "done", "{result:?}");
    match result.details.unwrap() {
        Value::Object(mut details) => details.remove("details").unwrap(),
        came => came,
    }
}

/// Why these steps fail.
async fn failure(kit: &TestKit, steps: Value) -> String {
    let result = kit.call("steps", json!({"steps": steps})).await.unwrap();
    assert!(result.is_error, "{result:?}");
    result.to_text()
}

#[tokio::test]
async fn what_is_staged_is_recorded_and_resolved() {
    let kit = kit().await;
    assert_eq!(
        came(&kit, json!([{"push": "a"}, {"push": "b"}, {"push": "c"}])).await,
        json!(["pushed", "pushed", "pushed"])
    );
    assert_eq!(kit.pending_labels(), ["c", "b", "a"]);
    let pending = kit.pending();
    assert_eq!((pending[0].label(), pending[0].attempts()), ("c", 0));

    let failed = kit.apply("fail").await;
    assert_eq!((failed.result.to_text().as_str(), failed.result.is_error), ("Apply failed: no luck", true));
    assert_eq!(kit.pending_labels(), ["c", "b", "a"]);
    assert_eq!(kit.pending()[0].attempts(), 1);
    assert_eq!(kit.apply("good").await.result.to_text(), "applied c: good");
    assert_eq!(kit.discard("bad").await.result.to_text(), "rejected b: bad");
    let id = kit.pending()[0].id().to_owned();
    let resolved = kit.resolve(ResolveRequest::apply("by its id").with_id(id)).await;
    assert_eq!((resolved.status, resolved.result.to_text().as_str()), (ResolveStatus::Applied, "applied a: by its id"));
    let nothing = "No pending action to resolve. Nothing to apply or discard.";
    assert_eq!(kit.apply("again").await.result.to_text(), nothing);
    // What was resolved stays on record.
    let pushes: Vec<_> = kit.pushes().into_iter().map(|push| (push.label, push.source_tool_name)).collect();
    assert_eq!(pushes, ["a", "b", "c"].map(|label| (label.to_owned(), "custom_tool".to_owned())));
}

#[tokio::test]
async fn the_end_of_the_session_discards_what_is_left() {
    let kit = kit().await;
    came(&kit, json!([{"push": "a"}, {"push": "b"}])).await;
    let texts: Vec<_> = kit.end().await.discarded.iter().map(|discarded| discarded.result.to_text()).collect();
    assert_eq!(texts, ["rejected b: the session ended", "rejected a: the session ended"]);
    let ended = kit.call("steps", json!({"steps": []})).await;
    assert_eq!(ended, Err(CallError::SessionEnded { session: "test".to_owned() }));
}

#[tokio::test]
async fn a_step_of_the_session_discards_as_in_a_host() {
    let kit = kit().await;
    came(&kit, json!([{"push": "a"}])).await;
    assert!(kit.step(SessionStep::Compaction).await.is_empty());
    let discarded = kit.step(SessionStep::Branch).await;
    assert_eq!(discarded[0].result.to_text(), "rejected a: the session was branched");
}

#[tokio::test]
async fn a_host_may_keep_no_actions() {
    let kit = TestKit::builder().without_store().start(factory).await.unwrap();
    let text = "Pending action store unavailable for custom tools in this runtime.";
    assert_eq!(failure(&kit, json!([{"push": "a"}])).await, text);
    assert!(kit.pending().is_empty() && kit.pushes().is_empty());
}

#[tokio::test]
async fn updates_are_recorded_in_order() {
    let kit = kit().await;
    assert_eq!(came(&kit, json!([{"update": "one"}, {"update": "two"}])).await, json!([true, true]));
    assert_eq!(kit.update_texts(), ["one", "two"]);
    came(&kit, json!([{"update": "three"}])).await;
    assert_eq!(kit.updates(), ["one", "two", "three"].map(AgentToolResult::text));
}

#[tokio::test]
async fn programs_are_answered_as_the_test_says_and_recorded() {
    let kit = TestKit::builder()
        .exec("git", ExecReply::stdout("first").stderr("hint"))
        .exec("make", ExecReply::failure(2, "no rule"))
        .exec("git", ExecReply::stdout("second"))
        .exec("git", ExecReply::killed())
        .exec("git", ExecReply::refused("no git here"))
        .start(factory)
        .await
        .unwrap();
    let git = json!({"exec": ["git", "log", "-1"]});
    let answers = came(&kit, json!([git, git, {"exec": ["make"]}, git])).await;
    let expected =
        json!([["first", "hint", 0, false], ["second", "", 0, false], ["", "no rule", 2, false], ["", "", 137, true]]);
    assert_eq!(answers, expected);
    assert_eq!(failure(&kit, json!([git])).await, "no git here");
    assert_eq!(kit.exec_lines(), ["git log -1", "git log -1", "make", "git log -1", "git log -1"]);
    let calls = kit.exec_calls();
    let call = &calls[0];
    assert_eq!((call.command.as_str(), &call.args[..]), ("git", &["log".to_owned(), "-1".to_owned()][..]));
    assert_eq!((call.cwd.as_deref(), call.tool.as_deref()), (Some("sub".as_ref()), Some("steps")));
    assert_eq!((&call.env["A"], &call.env["B"]), (&Some("1".to_owned()), &None));
    assert_eq!(call.stdin.as_deref(), Some(&b"in"[..]));
}

#[tokio::test]
async fn a_program_without_a_reply_is_refused_with_what_to_add() {
    let kit = kit().await;
    let text = "the test has no reply of `git` to `git push -f`; add `.exec(\"git\", ExecReply::..)`, or \
                `.runs_programs()` to run it";
    assert_eq!(failure(&kit, json!([{"exec": ["git", "push", "-f"]}])).await, text);
    assert_eq!(kit.exec_lines(), ["git push -f"]);
}

#[tokio::test]
async fn programs_are_really_run_where_the_test_says_so() {
    let kit =
        TestKit::builder().runs_programs().exec("git", ExecReply::stdout("scripted")).start(factory).await.unwrap();
    std::fs::create_dir(kit.cwd().join("sub")).unwrap();
    let answers = came(&kit, json!([{"exec": ["sh", "-c", "echo $A; cat; pwd >&2; exit 3"]}, {"exec": ["git"]}])).await;
    let sub = format!("{}\n", kit.cwd().canonicalize().unwrap().join("sub").display());
    assert_eq!(answers, json!([["1\nin", sub, 3, false], ["scripted", "", 0, false]]));
}

#[tokio::test]
async fn services_of_the_host_answer_as_the_test_says_and_are_recorded() {
    let kit = TestKit::builder().service("a", json!(1)).service("b", json!(null)).service("a", json!([2]));
    let kit = kit.start(factory).await.unwrap();
    let asked = json!([{"service": "a"}, {"service": "a"}, {"service": "b"}]);
    assert_eq!(came(&kit, asked).await, json!([1, [2], null]));
    let text = "the test has no answer of the service `a`; add `.service(\"a\", ..)`";
    assert_eq!(failure(&kit, json!([{"service": "a"}])).await, text);
    let calls = ["a", "a", "b", "a"].map(|name| (name.to_owned(), json!({"n": 1})));
    assert_eq!(kit.service_calls(), calls);
}

#[tokio::test]
async fn a_person_answers_as_the_test_says() {
    let kit = TestKit::builder()
        .answer(UiReply::Choose("right"))
        .answer(UiReply::Yes)
        .answer(UiReply::Type("Grace"))
        .answer(UiReply::No)
        .answer(UiReply::Dismiss)
        .answer(UiReply::Dismiss)
        .answer(UiReply::Dismiss)
        .start(factory)
        .await
        .unwrap();
    let select = json!({"select": ["left", "right"]});
    let asked = json!([select, "confirm", "input", "confirm", select, "confirm", "input"]);
    assert_eq!(came(&kit, asked).await, json!([1, true, "Grace", false, null, false, null]));
    let questions = kit.questions();
    assert_eq!(questions.len(), 7);
    let Question::Select { title, options, .. } = &questions[0] else { panic!("{questions:?}") };
    assert_eq!((title.as_str(), &options[..]), ("Which?", &["left".to_owned(), "right".to_owned()][..]));
    let Question::Confirm { title, message, .. } = &questions[1] else { panic!("{questions:?}") };
    assert_eq!((title.as_str(), message.as_str()), ("Sure?", "really"));
    let Question::Input { title, placeholder, .. } = &questions[2] else { panic!("{questions:?}") };
    assert_eq!((title.as_str(), placeholder.as_str()), ("Name?", "Ada"));
}

#[tokio::test]
async fn without_a_person_nobody_answers_and_nothing_is_recorded() {
    let kit = kit().await;
    let answers = came(&kit, json!([{"select": ["a"]}, "confirm", "input", "notify", {"status": "1 of 2"}])).await;
    assert_eq!(answers, json!([null, false, null, null, null]));
    assert!(kit.questions().is_empty() && kit.notices().is_empty() && kit.statuses().is_empty());
}

#[tokio::test]
async fn notices_and_status_lines_are_recorded() {
    let kit = TestKit::builder().with_ui().start(factory).await.unwrap();
    came(&kit, json!(["notify", {"status": "1 of 2"}, {"status": null}])).await;
    assert_eq!(kit.notices(), [(Level::Warning, "careful".to_owned())]);
    let progress = || "progress".to_owned();
    assert_eq!(kit.statuses(), [(progress(), Some("1 of 2".to_owned())), (progress(), None)]);
}

#[tokio::test]
#[should_panic(expected = "the test has no answer to Confirm { title: \"Sure?\", message: \"really\" }; add one with \
                           `.answer(..)`")]
async fn a_question_that_the_test_did_not_foresee_fails_it() {
    let kit = TestKit::builder().with_ui().start(factory).await.unwrap();
    assert_eq!(came(&kit, json!(["confirm"])).await, json!([false]));
}

#[tokio::test]
#[should_panic(
    expected = "the test's answer Choose(\"up\") is none to Select { title: \"Which?\", options: [\"left\"] }"
)]
async fn an_answer_that_does_not_fit_the_question_fails_the_test() {
    let kit = TestKit::builder().answer(UiReply::Choose("up")).start(factory).await.unwrap();
    assert_eq!(came(&kit, json!([{"select": ["left"]}])).await, json!([null]));
}

#[tokio::test]
async fn the_session_is_what_the_test_says() {
    let kit = TestKit::builder().queued_messages(3).start(factory).await.unwrap();
    assert_eq!(came(&kit, json!(["state"])).await, json!([{"idle": false, "queuedMessages": 3}]));
    assert_eq!(kit.aborts(), 0);
    let cancelled = kit.call("steps", json!({"steps": ["abort"]})).await;
    assert_eq!(cancelled, Ok(AgentToolResult::text("done").with_details(json!([null]))));
    assert_eq!(kit.aborts(), 1);
}

#[tokio::test]
async fn a_call_is_watched_and_cancelled_while_it_runs() {
    let kit = kit().await;
    let mut call = kit.begin("steps", json!({"steps": [{"update": "first"}, "wait", {"update": "late"}]}));
    assert_eq!(call.next_update().await.unwrap().to_text(), "first");
    assert_eq!(call.next_update().await.unwrap().to_text(), "waits");
    call.cancel();
    assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "steps".to_owned() }));
    assert_eq!(kit.update_texts()[..2], ["first", "waits"]);
}

#[tokio::test]
async fn a_program_that_hangs_ends_with_its_call() {
    let kit = TestKit::builder().exec("sleep", ExecReply::hangs()).start(factory).await.unwrap();
    let mut call = kit.begin("steps", json!({"steps": [{"update": "runs"}, {"exec": ["sleep"]}]}));
    assert_eq!(call.next_update().await.unwrap().to_text(), "runs");
    call.cancel();
    assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "steps".to_owned() }));
}

#[tokio::test]
async fn a_tool_that_does_not_stop_is_left_behind_after_the_grace() {
    let kit = TestKit::builder().grace(Duration::from_millis(1)).start(factory).await.unwrap();
    let mut call = kit.begin("steps", json!({"steps": ["stay"]}));
    assert_eq!(call.next_update().await.unwrap().to_text(), "stays");
    call.cancel();
    assert_eq!(call.outcome().await, Err(CallError::Cancelled { tool: "steps".to_owned() }));
}

#[tokio::test]
async fn failures_are_those_of_a_host() {
    let kit = kit().await;
    assert_eq!(failure(&kit, json!([{"fail": "no luck"}])).await, "no luck");
    assert_eq!(failure(&kit, json!(["panic"])).await, "tool `steps` of plugin `stepping` panicked: on purpose");
    let error = kit.call("steps", json!({"step": []})).await.unwrap_err().to_string();
    let text = "invalid parameters for tool `steps`:\n- Additional properties are not allowed ('step' was unexpected)\n\
                - \"steps\" is a required property\nreceived: {\"step\":[]}";
    assert_eq!(error, text);
    let error = kit.call("step", json!({})).await.unwrap_err();
    assert_eq!(error, CallError::unknown_tool("step", vec!["steps".to_owned()]));
    let definition = kit.definition("steps").unwrap();
    assert_eq!((definition.effect, definition.deferrable), (Effect::Stages, true));
    assert_eq!(kit.definition("step"), None);
}

#[tokio::test]
async fn a_factory_that_fails_says_so_before_the_test_begins() {
    let start = async |settings: Value| TestKit::builder().name("stepping").config(settings).start(factory).await;
    assert!(start(json!({"greeting": "hello"})).await.is_ok());
    let failed = |reason: &str| format!("the factory of `stepping` failed: {reason}");
    let error = start(json!({"greeting": "rude"})).await.unwrap_err();
    assert_eq!(error.to_string(), failed("mind the greeting"));
    let error = start(json!({"greeting": 7})).await.unwrap_err();
    let reason = "the plugin's setting `greeting`: invalid type: integer `7`, expected a string";
    assert_eq!(error.to_string(), failed(reason));
    assert!(matches!(error, StartError::Tools(texts) if texts.len() == 1));

    let twice = TestKit::builder().name("stepping");
    let twice = twice.start(|pi: CustomToolApi| (Steps { pi: pi.clone() }, Steps { pi })).await.unwrap_err();
    let text = "tool number 2 of `stepping` was left out: the tool name `steps` is taken by stepping 0.0.0";
    assert_eq!(twice.to_string(), text);
}

#[test]
fn a_runtime_without_a_time_driver_is_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(TestKit::start(factory)).unwrap_err();
    let text = "the tokio runtime has no time driver; build it with `enable_time` or `enable_all`";
    assert_eq!(error.to_string(), text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_made_to_be_linked_keeps_its_name_and_gets_its_settings() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = linked_plugin!(factory);
    let builder = TestKit::builder().cwd(directory.path()).config(json!({"greeting": "hello"}));
    let kit = builder.start_plugin(plugin).await.unwrap();
    assert_eq!(kit.cwd(), directory.path());
    let origin = kit.session().tools().origin("steps").cloned().unwrap();
    assert_eq!(
        (origin.plugin.as_str(), origin.version.as_str()),
        ("toolhost-plugin-testkit", env!("CARGO_PKG_VERSION"))
    );
}

#[tokio::test]
async fn the_kits_own_directory_is_empty_and_goes_with_it() {
    let kit = kit().await;
    let cwd = kit.cwd().to_owned();
    assert_eq!(std::fs::read_dir(&cwd).unwrap().count(), 0);
    drop(kit);
    assert!(!cwd.exists());
}
