use std::sync::Arc;

use toolhost_abi::abi_stable::std_types::RVec;
use toolhost_abi::change::ChangeObject;
use toolhost_core::{AgentToolResult, Failure, PendingAction};
use toolhost_protocol::PendingHead;

use super::decode;
use super::foreign::Foreign;
use crate::trust::Guarded;

/// A plugin's change as a pending action, which is withdrawn once the plugin is blocked.
pub(super) fn action(plugin: String, head: PendingHead, change: Guarded<Foreign<ChangeObject>>) -> PendingAction {
    let (plugin, change): (Arc<str>, _) = (plugin.into(), Arc::new(change));
    let (rejecting, rejected, guarded) = (plugin.clone(), change.clone(), change.clone());
    let label = head.label.clone();
    let mut action = PendingAction::new(head.label, move |reason| {
        let (plugin, label) = (plugin.clone(), label.clone());
        let running = change.start(|change| change.apply(bytes(reason)));
        async move {
            let answer = running.await;
            let says_applied = answer.is_ok();
            decode(&plugin, answer).or_else(|failure| {
                if says_applied { Ok(unread(&label, &failure)) } else { Err(of_plugin(&plugin, failure)) }
            })
        }
    })
    .on_reject(move |reason| {
        let plugin = rejecting.clone();
        let running = rejected.start(|change| change.reject(bytes(reason)));
        async move { decode(&plugin, running.await).map_err(|failure| of_plugin(&plugin, failure)) }
    })
    .withdrawn_if(move || guarded.guard().refusal().map(|refusal| capitalized(&refusal)));
    if let Some(name) = head.source_tool_name {
        action = action.source_tool_name(name);
    }
    if let Some(details) = head.details {
        action = action.details(details);
    }
    action.depends_on(head.depends_on)
}

/// The same as the beginning of a sentence.
fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(text.chars().next().map_or(0, char::len_utf8));
    first.to_uppercase() + rest
}

/// What stands for the result of an apply that happened: were it a failure, the action could be applied once more.
fn unread(label: &str, failure: &Failure) -> AgentToolResult {
    AgentToolResult::text(format!("Applied: {label}. Its result could not be read: {}", failure.message))
}

/// Says whose panic it was; the action and its tool stand beside it already.
fn of_plugin(plugin: &str, failure: Failure) -> Failure {
    match failure.code.as_deref() {
        Some("panic") => Failure::new(format!("plugin `{plugin}` {}", failure.message)).with_code("panic"),
        _ => failure,
    }
}

fn bytes(text: String) -> RVec<u8> {
    text.into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Mark;
    use serde_json::json;
    use tokio::runtime::Handle;
    use toolhost_abi::Bytes;
    use toolhost_abi::abi_stable::sabi_trait::TD_Opaque;
    use toolhost_abi::abi_stable::std_types::RResult;
    use toolhost_abi::async_ffi::{FfiFuture, FutureExt};
    use toolhost_abi::change::Change;
    use toolhost_core::{ResolveRequest, ResolveStatus, Session, SessionOptions};

    /// Answers everything with this.
    struct Answers(Bytes);

    impl Change for Answers {
        fn apply(&self, _reason: RVec<u8>) -> FfiFuture<Bytes> {
            std::future::ready(self.0.clone()).into_ffi()
        }

        fn reject(&self, _reason: RVec<u8>) -> FfiFuture<Bytes> {
            std::future::ready(self.0.clone()).into_ffi()
        }
    }

    /// What applying it says, how it ended, and whether it is still pending.
    async fn applied(answer: Bytes) -> (String, ResolveStatus, bool) {
        let session = Session::new(SessionOptions::new("test"), Handle::current());
        let change = Foreign::new(Mark::default(), ChangeObject::from_value(Answers(answer), TD_Opaque));
        let change = Guarded::new(change, Arc::default());
        let store = session.pending().unwrap();
        store.push(action("painter".to_owned(), PendingHead::new("Paint it"), change)).unwrap();
        let resolution = session.resolve(ResolveRequest::apply("why")).await;
        (resolution.result.to_text(), resolution.status, store.has_pending())
    }

    #[tokio::test]
    async fn an_apply_that_succeeded_is_applied_whatever_its_result_looks_like() {
        let deep = format!(r#"{{"content": [], "details": {}{}}}"#, "[".repeat(200), "]".repeat(200));
        for (json, why) in [
            (deep.as_str(), "recursion limit exceeded at line 1 column 154"),
            ("7", "invalid type: integer `7`, expected struct AgentToolResult at line 1 column 1"),
        ] {
            let text = format!(
                "Applied: Paint it. Its result could not be read: plugin `painter` answered with JSON that cannot be \
                 read: {why}"
            );
            let answer = RResult::ROk(json.as_bytes().to_vec().into());
            assert_eq!(applied(answer).await, (text, ResolveStatus::Applied, false));
        }
    }

    #[tokio::test]
    async fn an_apply_that_failed_is_still_pending() {
        let failure = json!({"message": "out of paint"}).to_string();
        let failed = ResolveStatus::ApplyFailed { code: None };
        let answer = RResult::RErr(failure.into_bytes().into());
        assert_eq!(applied(answer).await, ("Apply failed: out of paint".to_owned(), failed, true));
    }
}
