use std::sync::Arc;

use toolhost_abi::abi_stable::std_types::RVec;
use toolhost_abi::change::ChangeObject;
use toolhost_core::{Failure, PendingAction};
use toolhost_protocol::PendingHead;

use super::decode;

/// A plugin's change as a pending action.
pub(super) fn action(plugin: String, head: PendingHead, change: ChangeObject) -> PendingAction {
    let (plugin, change): (Arc<str>, _) = (plugin.into(), Arc::new(change));
    let (rejecting, rejected) = (plugin.clone(), change.clone());
    let mut action = PendingAction::new(head.label, move |reason| {
        let (plugin, running) = (plugin.clone(), change.apply(bytes(reason)));
        async move { decode(&plugin, running.await).map_err(|failure| of_plugin(&plugin, failure)) }
    })
    .on_reject(move |reason| {
        let (plugin, running) = (rejecting.clone(), rejected.reject(bytes(reason)));
        async move { decode(&plugin, running.await).map_err(|failure| of_plugin(&plugin, failure)) }
    });
    if let Some(name) = head.source_tool_name {
        action = action.source_tool_name(name);
    }
    if let Some(details) = head.details {
        action = action.details(details);
    }
    action.depends_on(head.depends_on)
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
