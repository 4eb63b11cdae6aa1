//! The host that the tools of a test ask: it records, and answers as the test said.

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::Value;
use toolhost_core::service::{
    ExecRequest, ExecResult, NoticeLevel, SessionState, UNKNOWN_SERVICE, UiConfirm, UiInput, UiNotice, UiSelect,
    UiStatus,
};
use toolhost_core::{
    AgentToolResult, BoxFuture, Caller, Failure, HostServices, LocalExec, PendingSummary, UserInterface,
};

use crate::{ExecCall, ExecReply, Question, UiReply};

/// What the test said, and what the tools asked. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) has_ui: bool,
    pub(crate) runs_programs: bool,
    pub(crate) replies: VecDeque<(String, ExecReply)>,
    pub(crate) services: VecDeque<(String, Value)>,
    pub(crate) answers: VecDeque<UiReply>,
    pub(crate) queued_messages: u32,
    pub(crate) exec_calls: Vec<ExecCall>,
    pub(crate) service_calls: Vec<(String, Value)>,
    pub(crate) questions: Vec<Question>,
    pub(crate) notices: Vec<(NoticeLevel, String)>,
    pub(crate) statuses: Vec<(String, Option<String>)>,
    pub(crate) aborts: usize,
    /// What the test did not foresee: questions, and what was staged by tools that only read.
    pub(crate) surprises: Vec<String>,
}

impl Script {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a tool staged that says that it only reads.
    pub(crate) fn complain_of_staged(&self, tool: &str, result: &AgentToolResult) {
        let listed = result.details.as_ref().and_then(|details| details.get("pending"));
        let staged: Vec<PendingSummary> =
            listed.and_then(|list| Deserialize::deserialize(list).ok()).unwrap_or_default();
        self.lock().surprises.extend(staged.iter().map(|PendingSummary { label, .. }| {
            format!("`{tool}` says that it only reads, and staged `{label}`; its EFFECT should be `Effect::Stages`")
        }));
    }

    /// How what the tools asked differs from what the test foresaw. Says so once.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut state = self.lock();
        let mut complaints = std::mem::take(&mut state.surprises);
        complaints.extend(unused(&mut state.replies).iter().map(|(program, unused)| {
            format!("`{program}` was run less often than the test foresaw; unused replies: {unused}")
        }));
        complaints.extend(unused(&mut state.services).iter().map(|(service, unused)| {
            format!("the service `{service}` was asked less often than the test foresaw; unused answers: {unused}")
        }));
        let answers = std::mem::take(&mut state.answers);
        complaints.extend(answers.iter().map(|reply| format!("nothing asked for the test's answer {reply:?}")));
        complaints
    }

    /// The answer to a question; `fits` says whether it is one to this kind.
    fn answer<T: Send + 'static>(
        &self,
        question: Question,
        fits: impl FnOnce(UiReply) -> Option<Option<T>>,
    ) -> BoxFuture<Option<T>> {
        let mut state = self.lock();
        state.questions.push(question.clone());
        let reply = state.answers.pop_front();
        let answer = match reply {
            Some(UiReply::Dismiss) => None,
            Some(reply) => fits(reply).unwrap_or_else(|| {
                state.surprises.push(format!("the test's answer {reply:?} is none to {question:?}"));
                None
            }),
            None => {
                state.surprises.push(format!("the test has no answer to {question:?}; add one with `.answer(..)`"));
                None
            }
        };
        Box::pin(ready(answer))
    }
}

/// Takes what is left, and counts it by name.
fn unused<T>(left: &mut VecDeque<(String, T)>) -> BTreeMap<String, usize> {
    let mut unused = BTreeMap::new();
    for (name, _) in left.drain(..) {
        *unused.entry(name).or_default() += 1;
    }
    unused
}

impl HostServices for Script {
    fn exec(&self, caller: Caller, request: ExecRequest) -> BoxFuture<Result<ExecResult, Failure>> {
        let call = ExecCall::new(&caller, &request);
        let mut state = self.lock();
        state.exec_calls.push(call.clone());
        let place = state.replies.iter().position(|(program, _)| *program == call.command);
        if let Some((_, reply)) = place.and_then(|place| state.replies.remove(place)) {
            return Box::pin(reply.run(caller, request));
        }
        if state.runs_programs {
            return LocalExec::new().run(caller, request);
        }
        let text = format!(
            "the test has no reply of `{}` to `{}`; add `.exec({:?}, ExecReply::..)`, or `.runs_programs()` to run it",
            call.command,
            call.line(),
            call.command
        );
        Box::pin(ready(Err(Failure::new(text))))
    }

    fn ui(&self, _session: &str) -> Option<Arc<dyn UserInterface>> {
        self.lock().has_ui.then(|| Arc::new(self.clone()) as Arc<dyn UserInterface>)
    }

    fn session_state(&self, _caller: &Caller, mut known: SessionState) -> SessionState {
        known.queued_messages = self.lock().queued_messages;
        known
    }

    fn abort(&self, _caller: &Caller) {
        self.lock().aborts += 1;
    }

    fn call(&self, _caller: Caller, service: &str, parameters: Value) -> BoxFuture<Result<Value, Failure>> {
        let mut state = self.lock();
        state.service_calls.push((service.to_owned(), parameters));
        let place = state.services.iter().position(|(name, _)| name == service);
        let answer = place.and_then(|place| state.services.remove(place)).map(|(_, answer)| answer);
        Box::pin(ready(answer.ok_or_else(|| {
            let text = format!("the test has no answer of the service `{service}`; add `.service({service:?}, ..)`");
            Failure::new(text).with_code(UNKNOWN_SERVICE)
        })))
    }
}

impl UserInterface for Script {
    fn select(&self, _caller: Caller, UiSelect { title, options, .. }: UiSelect) -> BoxFuture<Option<usize>> {
        let places = options.clone();
        self.answer(Question::Select { title, options }, |reply| match reply {
            UiReply::Choose(text) => places.iter().position(|option| option == text).map(Some),
            _ => None,
        })
    }

    fn confirm(&self, _caller: Caller, UiConfirm { title, message, .. }: UiConfirm) -> BoxFuture<bool> {
        let answer = self.answer(Question::Confirm { title, message }, |reply| match reply {
            UiReply::Yes => Some(Some(true)),
            UiReply::No => Some(Some(false)),
            _ => None,
        });
        Box::pin(async move { answer.await.unwrap_or(false) })
    }

    fn input(&self, _caller: Caller, UiInput { title, placeholder, .. }: UiInput) -> BoxFuture<Option<String>> {
        self.answer(Question::Input { title, placeholder }, |reply| match reply {
            UiReply::Type(text) => Some(Some(text.to_owned())),
            _ => None,
        })
    }

    fn notify(&self, _caller: &Caller, notice: UiNotice) {
        self.lock().notices.push((notice.level, notice.message));
    }

    fn set_status(&self, _caller: &Caller, status: UiStatus) {
        self.lock().statuses.push((status.key, status.text));
    }
}
