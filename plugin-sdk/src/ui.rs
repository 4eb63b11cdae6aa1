use serde::Serialize;
use serde::de::DeserializeOwned;
use toolhost_protocol::service::{
    NoticeLevel, UI_CONFIRM, UI_INPUT, UI_NOTIFY, UI_SELECT, UI_SET_STATUS, UiConfirm, UiInput, UiNotice, UiSelect,
    UiStatus,
};

use crate::adapter::HostLink;
use crate::context;

/// The person behind a session.
///
/// Where there is none, every question is answered at once, by `None` or `false`, and notices go nowhere. A question is
/// answered like that too where the call that asks it is cancelled. A question of the agent's model goes into a tool's
/// result instead: a person is asked only what a person alone can say.
///
/// ```
/// # use toolhost_plugin_sdk::prelude::*;
/// # async fn ask(pi: CustomToolApi) -> ToolResult {
/// let branches = ["main".to_owned(), "next".to_owned()];
/// let Some(chosen) = pi.ui().select("Onto which branch?", &branches).await else {
///     return Err("no branch was chosen".into());
/// };
/// # let _ = chosen;
/// # Ok("".into()) }
/// ```
#[derive(Debug, Clone)]
pub struct Ui {
    /// Absent where there is nobody.
    host: Option<HostLink>,
}

impl Ui {
    pub(crate) fn new(host: Option<HostLink>) -> Self {
        Self { host }
    }

    /// Lets the person choose one of the options: its place in the list, from 0. `None` where they would not, and
    /// where there are no options.
    pub async fn select<S: AsRef<str>>(&self, title: impl Into<String>, options: &[S]) -> Option<usize> {
        let mut question = UiSelect::default();
        question.title = title.into();
        question.options = options.iter().map(|option| option.as_ref().to_owned()).collect();
        let chosen: Option<usize> = self.ask(UI_SELECT, question).await;
        chosen.filter(|&chosen| chosen < options.len())
    }

    /// Asks yes or no; `message` is what the person should know to answer. Whatever is no clear yes is `false`.
    pub async fn confirm(&self, title: impl Into<String>, message: impl Into<String>) -> bool {
        let mut question = UiConfirm::default();
        (question.title, question.message) = (title.into(), message.into());
        self.ask(UI_CONFIRM, question).await
    }

    /// Asks for a line of text; `placeholder` is an example of one. `None` where they would not.
    pub async fn input(&self, title: impl Into<String>, placeholder: impl Into<String>) -> Option<String> {
        let mut question = UiInput::default();
        (question.title, question.placeholder) = (title.into(), placeholder.into());
        self.ask(UI_INPUT, question).await
    }

    /// Shows a notice. Never waits.
    pub fn notify(&self, level: NoticeLevel, message: impl Into<String>) {
        let mut notice = UiNotice::default();
        (notice.level, notice.message) = (level, message.into());
        self.tell(UI_NOTIFY, &notice);
    }

    /// Shows what is going on, such as `3 of 7 files`, until the next text with this key; `None` takes it away. Never
    /// waits.
    pub fn set_status(&self, key: impl Into<String>, text: Option<&str>) {
        let mut status = UiStatus::default();
        (status.key, status.text) = (key.into(), text.map(ToOwned::to_owned));
        self.tell(UI_SET_STATUS, &status);
    }

    /// A host that fails to ask has nobody to answer.
    async fn ask<T: DeserializeOwned + Default>(&self, service: &str, question: impl Serialize) -> T {
        match &self.host {
            Some(host) => host.ask(context::current_call(), service, &question).await.unwrap_or_default(),
            None => T::default(),
        }
    }

    fn tell(&self, service: &str, notice: &impl Serialize) {
        if let Some(host) = &self.host {
            // It was taken as it was asked.
            drop(host.ask::<(), _>(context::current_call(), service, notice));
        }
    }
}
