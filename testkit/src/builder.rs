use std::env;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use toolhost_core::{Approver, Limits};
use toolhost_loader::{BuildError, Host, SessionOptions};
use toolhost_plugin_sdk::{CustomToolFactory, LinkedPlugin, link};

use crate::script::Script;
use crate::{ExecReply, TestKit, UiReply};

/// How the plugin under test is called where nothing names it: neither the test nor cargo, as where the test's file is
/// started by hand.
const PLUGIN: &str = "plugin-under-test";

/// Why no test can begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The factory failed, or a session refuses one of its tools; each text says why, as a host would.
    #[error("{}", .0.join("\n"))]
    Tools(Vec<String>),
    /// The runtime is no use: it needs a time driver, as that of `#[tokio::test]` has.
    #[error(transparent)]
    Host(#[from] BuildError),
    /// No directory can be made for the session.
    #[error("no temporary directory can be made: {0}")]
    Directory(#[from] std::io::Error),
}

/// Describes a test: what the session is like, and what the tools' questions are answered.
#[derive(Default)]
#[must_use = "a test begins with `start`"]
pub struct TestKitBuilder {
    name: Option<String>,
    cwd: Option<PathBuf>,
    config: Option<Value>,
    without_store: bool,
    grace: Option<Duration>,
    approver: Option<Box<dyn FnOnce(SessionOptions) -> SessionOptions + Send>>,
    script: Script,
}

impl TestKitBuilder {
    /// The plugin's name, which the host's messages have; that of the package whose tests cargo runs by default, as it is
    /// that of the plugin's file. A plugin that is made to be linked brings its own.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The session's directory; a new, empty one by default, which goes away with the kit.
    pub fn cwd(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cwd = Some(directory.into());
        self
    }

    /// The plugin's settings.
    pub fn config(mut self, settings: Value) -> Self {
        self.config = Some(settings);
        self
    }

    /// A host that keeps no pending actions: every push is refused.
    pub fn without_store(mut self) -> Self {
        self.without_store = true;
        self
    }

    /// How long a tool that was asked to stop may go on before it is dropped; 2 seconds by default.
    pub fn grace(mut self, limit: Duration) -> Self {
        self.grace = Some(limit);
        self
    }

    /// Somebody who has the last word on every apply.
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Some(Box::new(move |options| options.approver(approver)));
        self
    }

    /// What the next run of this program is to answer; it is not run. Several are answered in this order. A reply that
    /// was never used fails the test as the kit is dropped.
    pub fn exec(self, program: impl Into<String>, reply: ExecReply) -> Self {
        self.execs(program, [reply])
    }

    /// What the next runs of this program are to answer, in this order; as several [`exec`](Self::exec).
    pub fn execs(self, program: impl Into<String>, replies: impl IntoIterator<Item = ExecReply>) -> Self {
        let program = program.into();
        let replies = replies.into_iter().map(|reply| (program.clone(), reply));
        self.script.lock().replies.extend(replies);
        self
    }

    /// Programs for which there is no reply are really run. By default they are refused.
    pub fn runs_programs(self) -> Self {
        self.script.lock().runs_programs = true;
        self
    }

    /// What the host's own service of this name is to answer next; several are answered in this order. A service
    /// without an answer is unknown to the tools, as to a host that does not offer it. An answer that was never asked for
    /// fails the test as the kit is dropped.
    pub fn service(self, name: impl Into<String>, answer: Value) -> Self {
        self.script.lock().services.push_back((name.into(), answer));
        self
    }

    /// What a person answers to the next question; several are answered in this order. Without any answer there is
    /// nobody to ask, unless [`with_ui`](Self::with_ui) says so. An answer that was never asked for fails the test as the
    /// kit is dropped.
    pub fn answer(self, reply: UiReply) -> Self {
        self.script.lock().answers.push_back(reply);
        self.with_ui()
    }

    /// There is a person, who reads notices and answers what there is an answer for.
    pub fn with_ui(self) -> Self {
        self.script.lock().has_ui = true;
        self
    }

    /// How many messages of a person's wait for the model, as a tool is told.
    pub fn queued_messages(self, messages: u32) -> Self {
        self.script.lock().queued_messages = messages;
        self
    }

    /// Runs the factory, as [`export_plugin!`](toolhost_plugin_sdk::export_plugin) takes it, and starts a session with
    /// its tools.
    ///
    /// # Errors
    ///
    /// Where the factory fails, and where a host would refuse a tool of it.
    pub async fn start<M: 'static>(self, factory: impl CustomToolFactory<M>) -> Result<TestKit, StartError> {
        let name = self.name.clone().or_else(|| env::var("CARGO_PKG_NAME").ok());
        self.start_plugin(link(name.as_deref().unwrap_or(PLUGIN), "0.0.0", factory)).await
    }

    /// The same for a plugin that is made to be linked.
    ///
    /// # Errors
    ///
    /// As for [`start`](Self::start).
    pub async fn start_plugin(self, plugin: LinkedPlugin) -> Result<TestKit, StartError> {
        let mut host = Host::builder().services(self.script.clone());
        if let Some(settings) = self.config {
            host = host.config(plugin.name(), settings);
        }
        let host = host.linked(plugin).build().await?;
        let own = if self.cwd.is_none() { Some(TempDir::with_prefix("toolhost-test-")?) } else { None };
        let cwd = self.cwd.or_else(|| own.as_ref().map(|own| own.path().to_owned())).unwrap_or_default();
        let mut limits = Limits::default();
        if let Some(grace) = self.grace {
            limits = limits.with_grace(grace);
        }
        let mut options = SessionOptions::new("test").cwd(cwd).limits(limits);
        if self.without_store {
            options = options.without_store();
        }
        if let Some(with_approver) = self.approver {
            options = with_approver(options);
        }
        let opened = host.session(options).await;
        if !opened.errors.is_empty() {
            return Err(StartError::Tools(opened.errors.iter().map(|error| error.kind.to_string()).collect()));
        }
        Ok(TestKit::new(opened.session, self.script, own))
    }
}
