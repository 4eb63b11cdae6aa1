//! From `--plugin` to a session with tools.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost_core::ToolDefinition;
use toolhost_loader::{FirstSight, Host, LoadError, LoadErrorKind, PluginInfo, Session, SessionOptions};

use crate::args::{FIRST_SIGHT, Plugins};
use crate::blame;
use crate::config::{self, Setting};
use crate::error::CliError;
use crate::output::Output;
use crate::plain::plain_line;
use crate::screen::SCREEN;
use crate::services::Services;
use crate::signals::Signals;

/// A session, and what could not be loaded for it.
pub(crate) struct Loaded {
    pub(crate) host: Host,
    pub(crate) session: Session,
    pub(crate) errors: Vec<LoadError>,
}

/// How the session differs from the usual one.
#[derive(Default)]
pub(crate) struct Settings<'a> {
    pub(crate) cwd: Option<&'a Path>,
    pub(crate) journal: Option<PathBuf>,
    /// What plugins may ask for; by default they have nobody to ask.
    pub(crate) services: Option<Services>,
}

/// Loads the plugins and opens a session with these settings.
pub(crate) async fn load(plugins: &Plugins, settings: Settings<'_>, signals: &Signals) -> Result<Loaded, CliError> {
    if plugins.paths.is_empty() {
        let fix = "add --plugin PATH, where PATH is a plugin's file or the directory that it was built into";
        return Err(CliError::usage("no-plugin", "no plugin was named", fix));
    }
    let configs = config::parse(&plugins.configs)?;
    let options = SessionOptions::new(format!("cli-{}", std::process::id()));
    let options = match settings.cwd {
        Some(cwd) => options.cwd(directory(cwd)?),
        None => options,
    };
    let options = match settings.journal {
        Some(journal) => options.journal(journal),
        None => options,
    };
    let options = options.services(settings.services.unwrap_or_else(|| Services::new(!plugins.no_exec)));
    tokio::select! {
        code = signals.wait() => {
            SCREEN.take_back();
            Err(CliError::interrupted(code))
        }
        loaded = open(plugins, options, configs) => loaded,
    }
}

async fn open(plugins: &Plugins, options: SessionOptions, configs: Vec<Setting>) -> Result<Loaded, CliError> {
    let mut builder =
        plugins.paths.iter().fold(Host::builder().open_late(true), |builder, plugin| builder.plugin(plugin));
    if let Ok(program) = std::env::current_exe() {
        builder = builder.first_sight(FirstSight::new(program).arg(FIRST_SIGHT));
    }
    let started = blame::start();
    builder = builder.quarantined(started.quarantined);
    if let Some(watch) = started.watch {
        builder = builder.watch(watch);
    }
    if let Some(directory) = &plugins.cache_dir {
        builder = builder.cache_dir(directory);
    }
    builder = configs.iter().fold(builder, |builder, (plugin, settings)| builder.config(plugin, settings.clone()));
    let host = builder
        .build()
        .await
        .map_err(|error| CliError::usage("host", error.to_string(), "give a directory of yours with --cache-dir"))?;
    blame::note_refused(host.load_errors());
    // What was named has to be there; what a directory happens to hold, such as a link that leads nowhere, has not.
    let named =
        |path: &Path| plugins.paths.iter().any(|named| std::path::absolute(named).is_ok_and(|named| named == path));
    let missing = |error: &&LoadError| matches!(error.kind, LoadErrorKind::NotFound) && named(&error.path);
    if let Some(error) = host.load_errors().iter().find(missing) {
        let message = format!("{}: {}", error.path.display(), error.kind);
        return Err(CliError::usage("plugin-not-found", message, error.fix()));
    }
    config::check(&configs, &host)?;
    let opened = host.session(options).await;
    let errors = host.load_errors().iter().cloned().chain(opened.errors).collect();
    Ok(Loaded { host, session: opened.session, errors })
}

fn directory(cwd: &Path) -> Result<PathBuf, CliError> {
    let usage = |reason: &str| {
        let message = format!("{}: {reason}", cwd.display());
        CliError::usage("cwd", message, "give a directory that exists after --cwd")
    };
    match cwd.canonicalize() {
        Ok(path) if path.is_dir() => Ok(path),
        Ok(_) => Err(usage("it is not a directory")),
        Err(error) => Err(usage(&format!("it cannot be used: {error}"))),
    }
}

impl Loaded {
    /// The plugin that a tool comes from.
    pub(crate) fn plugin(&self, tool: &ToolDefinition) -> Option<&PluginInfo> {
        let tools = self.session.tools();
        let origin = tools.origin(&tool.name)?;
        self.host.plugins().find(|plugin| plugin.fingerprint == origin.fingerprint && plugin.name == origin.plugin)
    }

    /// What a program is told of a tool.
    pub(crate) fn as_json(&self, tool: &ToolDefinition) -> Value {
        let tools = self.session.tools();
        let origin = tools.origin(&tool.name);
        let mut object = json!({
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "effect": tool.effect,
            "plugin": origin.map(|origin| &origin.plugin),
            "version": origin.map(|origin| &origin.version),
            "path": self.plugin(tool).map(|plugin| plugin.path.to_string_lossy()),
        });
        if let Some(title) = &tool.title {
            object["title"] = json!(title);
        }
        if let Some(schema) = &tool.output_schema {
            object["outputSchema"] = schema.clone();
        }
        object
    }

    /// Says in one line each what is left out, and refuses to go on where there is nothing to go on with.
    pub(crate) fn require_tools(&self, output: &Output) -> Result<(), CliError> {
        let empty = self.session.tools().is_empty();
        if let ([error], true) = (self.errors.as_slice(), empty) {
            let path = plain_line(&error.path.to_string_lossy());
            let message = format!("no tool is loaded: {path}: {} ({})", error.kind, error.code());
            return Err(CliError::usage("no-tools", message, error.fix()));
        }
        for error in &self.errors {
            output.warn(&error.to_string());
        }
        match (empty, self.errors.first()) {
            (false, _) => Ok(()),
            (true, None) => {
                Err(CliError::usage("no-tools", "the plugins have no tools", "name a plugin that has tools"))
            }
            (true, Some(first)) => {
                let message = format!("no tool is loaded, for the {} reasons above", self.errors.len());
                Err(CliError::usage("no-tools", message, first.fix()))
            }
        }
    }
}
