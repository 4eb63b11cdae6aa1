use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost_protocol::CreateRequest;
use toolhost_protocol::service::{EXEC, UI};

use crate::adapter::HostLink;
use crate::context;
use crate::exec::{self, ExecOptions, ExecOutput};
use crate::inside::resolve_inside;
use crate::pending::{PendingActionId, StagedChange};
use crate::{ToolError, Ui, code};

/// What a factory is given: the session that its tools are made for, and the host behind it.
///
/// Cheap to clone; a tool keeps one and may use it from any thread and any task.
#[derive(Debug, Clone)]
pub struct CustomToolApi {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    host: HostLink,
    session: CreateRequest,
}

impl CustomToolApi {
    pub(crate) fn new(host: HostLink, session: CreateRequest) -> Self {
        Self { inner: Arc::new(Inner { host, session }) }
    }

    /// The session's working directory, absolute. A plugin resolves relative paths against it, never against the
    /// process's own directory, which belongs to the host.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.inner.session.cwd.0
    }

    /// Where a path that a model gave leads, if that is inside of the session's directory: absolute, and without
    /// symbolic links. The directory itself counts as inside.
    ///
    /// A relative path starts at [`cwd`](Self::cwd). Links, `..` and absolute paths are fine as long as they end inside.
    /// What the path leads to may be absent, such as a file to write; the directory that is to hold it may not.
    ///
    /// ```
    /// # use toolhost_plugin_sdk::prelude::*;
    /// # fn read(pi: &CustomToolApi, path: &str) -> ToolResult {
    /// let file = pi.resolve_inside(path)?;
    /// let text = std::fs::read_to_string(file).map_err(|error| ToolError::from(error).context(path))?;
    /// # Ok(text.into()) }
    /// ```
    ///
    /// This stops a model that is mistaken, and is no sandbox. It tells how things are at this moment: whoever may write
    /// into the directory can put a link in the way right after. So an apply asks again. A tool that has to withstand
    /// that opens its files relative to an open directory, as the crate cap-std does. The file system is asked at once:
    /// where that may take long, call it on `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// The path as it was given, and why: it ends outside, its directory does not exist, it is a link to what does not
    /// exist, or what the system says.
    pub fn resolve_inside(&self, path: impl AsRef<Path>) -> Result<PathBuf, ToolError> {
        resolve_inside(self.cwd(), path.as_ref())
    }

    /// The directory in which the plugin's file was found, absolute.
    #[must_use]
    pub fn plugin_dir(&self) -> &Path {
        &self.inner.session.plugin_dir.0
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &str {
        &self.inner.session.session_id
    }

    /// The plugin's settings, as a type of the author's; no settings at all are an empty object, so that a field that may
    /// be absent wants `#[serde(default)]`.
    ///
    /// Read them in the factory, which then returns a `Result`: a wrong setting becomes an error of the load.
    ///
    /// ```
    /// # use toolhost_plugin_sdk::prelude::*;
    /// # struct Fetch { _timeout: u64 }
    /// # impl CustomTool for Fetch {
    /// #     const NAME: &'static str = "fetch";
    /// #     const LABEL: &'static str = "Fetch";
    /// #     const DESCRIPTION: &'static str = "Fetches";
    /// #     type Params = NoParams;
    /// #     async fn execute(&self, _params: NoParams, _call: ToolCall) -> ToolResult { Ok("".into()) }
    /// # }
    /// #[derive(Default, Deserialize)]
    /// #[serde(default, rename_all = "camelCase", deny_unknown_fields)]
    /// struct Settings {
    ///     timeout_seconds: u64,
    /// }
    ///
    /// export_plugin!(|pi: CustomToolApi| -> Result<Fetch, ToolError> {
    ///     let settings: Settings = pi.config()?;
    ///     Ok(Fetch { _timeout: settings.timeout_seconds })
    /// });
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    ///
    /// Which setting is wrong, by its path, and why. Of a wrong setting inside of `#[serde(flatten)]` or of an untagged
    /// enum, the path ends at what stands around it, since serde reads those without saying where it is.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        let settings = match self.config_value() {
            Value::Null => Value::Object(serde_json::Map::new()),
            settings => settings.clone(),
        };
        serde_path_to_error::deserialize(settings).map_err(|error| {
            let path = error.path().to_string();
            let whose =
                if path == "." { "the plugin's settings".to_owned() } else { format!("the plugin's setting `{path}`") };
            ToolError::new(format!("{whose}: {}", error.inner())).with_code(code::CONFIG)
        })
    }

    /// The plugin's settings as they are; null where there are none.
    #[must_use]
    pub fn config_value(&self) -> &Value {
        &self.inner.session.config
    }

    /// Runs a program, without a shell between, and waits for its end. A code other than 0 is no error: see
    /// [`ExecOutput::require_success`].
    ///
    /// Where the tool call that asks is cancelled, and where the future is dropped, the program is killed together with
    /// all that it started. A cancelled run answers, as [killed by that](ExecOutput::killed_by); it does not
    /// fail.
    ///
    /// The output comes once the program has ended, not while it runs. A tool that wants to tell how far it is runs
    /// several programs, each for a part of the work, with a [`ToolCall::update`](crate::ToolCall::update) after each.
    ///
    /// ```
    /// # use toolhost_plugin_sdk::prelude::*;
    /// # async fn log(pi: CustomToolApi) -> ToolResult {
    /// let log = pi.exec("git", ["log", "--oneline", "-5"], ExecOptions::new()).await?.require_success()?;
    /// # let _ = log;
    /// # Ok("".into()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Where the host runs no programs for plugins, with the code [`REFUSED_SERVICE`](code::REFUSED_SERVICE), and where
    /// this one cannot be started, with the code [`EXEC`](code::EXEC). Either message names the program, and says what
    /// to mend.
    pub async fn exec<A: AsRef<OsStr>>(
        &self,
        command: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
        options: ExecOptions,
    ) -> Result<ExecOutput, ToolError> {
        let request = options.into_request(command.as_ref(), args);
        let result = self.inner.host.ask(context::current_call(), EXEC, &request).await?;
        Ok(ExecOutput::new(exec::name(&request), result))
    }

    /// Asks the host for a service of its own, by name: what the program that embeds the host offers beside programs and
    /// a person. Names and parameters are that program's; one that has no such service answers with an error of the
    /// code `unknown-service`.
    ///
    /// Belongs to the running call as [`exec`](Self::exec) does, and stops where the future is dropped.
    ///
    /// ```
    /// # use toolhost_plugin_sdk::prelude::*;
    /// # async fn forecast(pi: CustomToolApi) -> ToolResult {
    /// #[derive(Deserialize)]
    /// struct Forecast {
    ///     degrees: f64,
    /// }
    /// let forecast: Forecast = pi.service("weather.forecast", &json!({"city": "Zurich"})).await?;
    /// Ok(format!("{} degrees", forecast.degrees).into())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What the service answers, that there is none of this name, and that its answer is no `T`.
    pub async fn service<T: DeserializeOwned>(
        &self,
        name: &str,
        parameters: &(impl Serialize + ?Sized),
    ) -> Result<T, ToolError> {
        Ok(self.inner.host.ask(context::current_call(), name, parameters).await?)
    }

    /// The person behind the session. Without one, questions are answered at once, by nothing or no.
    #[must_use]
    pub fn ui(&self) -> Ui {
        Ui::new(self.has_ui().then(|| self.inner.host.clone()))
    }

    /// Whether there is a person to ask.
    #[must_use]
    pub fn has_ui(&self) -> bool {
        self.inner.session.services.iter().any(|service| service == UI)
    }

    /// Stages a change: it waits on top of the session's stack until `resolve` applies or discards it.
    ///
    /// Called while a tool call runs, the action belongs to that call, and the call's result lists it. From a task
    /// that the tool spawned use [`ToolCall::push_pending_action`](crate::ToolCall::push_pending_action) or
    /// [`ToolCall::scope`](crate::ToolCall::scope), so that it still does.
    ///
    /// # Errors
    ///
    /// The host refuses where it has no store for pending actions, where the session has ended, and where the tool
    /// call was cancelled; the message says which. Nothing was staged then.
    pub fn push_pending_action(&self, change: impl StagedChange) -> Result<PendingActionId, ToolError> {
        Ok(PendingActionId(self.inner.host.push(context::current_call(), change)?))
    }
}
