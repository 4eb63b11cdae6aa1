//! From `--plugin` to a session with tools.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost_core::ToolDefinition;
use toolhost_loader::{Host, LoadError, LoadErrorKind, Session, SessionOptions};

use crate::error::CliError;
use crate::output::Output;
use crate::signals::Signals;

/// A session, and what could not be loaded for it.
pub(crate) struct Loaded {
    pub(crate) host: Host,
    pub(crate) session: Session,
    pub(crate) errors: Vec<LoadError>,
}

/// Loads the plugins and opens a session in this directory.
pub(crate) async fn load(plugins: &[PathBuf], cwd: Option<&Path>, signals: &Signals) -> Result<Loaded, CliError> {
    if plugins.is_empty() {
        let fix = "add --plugin PATH, where PATH is a plugin's file or the directory that it was built into";
        return Err(CliError::usage("no-plugin", "no plugin was named", fix));
    }
    let options = SessionOptions::new(format!("cli-{}", std::process::id()));
    let options = match cwd {
        Some(cwd) => options.cwd(directory(cwd)?),
        None => options,
    };
    tokio::select! {
        code = signals.wait() => Err(CliError::interrupted(code)),
        loaded = open(plugins, options) => loaded,
    }
}

async fn open(plugins: &[PathBuf], options: SessionOptions) -> Result<Loaded, CliError> {
    let builder = plugins.iter().fold(Host::builder(), |builder, plugin| builder.plugin(plugin));
    let host = builder.build().await.map_err(|error| {
        CliError::usage("host", error.to_string(), "set HOME, or XDG_CACHE_HOME to a directory of yours")
    })?;
    let missing = |error: &&LoadError| matches!(error.kind, LoadErrorKind::NotFound);
    if let Some(error) = host.load_errors().iter().find(missing) {
        let message = format!("{}: {}", error.path.display(), error.kind);
        return Err(CliError::usage("plugin-not-found", message, "check the path after --plugin"));
    }
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
    /// What a program is told of a tool.
    pub(crate) fn as_json(&self, tool: &ToolDefinition) -> Value {
        let tools = self.session.tools();
        let origin = tools.origin(&tool.name);
        json!({
            "name": tool.name,
            "label": tool.label,
            "description": tool.description,
            "effect": tool.effect,
            "plugin": origin.map(|origin| &origin.plugin),
            "version": origin.map(|origin| &origin.version),
        })
    }

    /// One line for each plugin or tool that is left out.
    pub(crate) fn report_errors(&self, output: &Output) {
        for error in &self.errors {
            output.warn(&error.to_string());
        }
    }

    /// Refuses to go on where there is nothing to go on with.
    pub(crate) fn require_tools(&self) -> Result<(), CliError> {
        if !self.session.tools().is_empty() {
            return Ok(());
        }
        let cause = match self.errors.as_slice() {
            [] => "the plugins have no tools".to_owned(),
            [error] => format!("the plugin could not be loaded: {}: {}", error.path.display(), error.kind),
            errors => format!("none of the plugins could be loaded ({} errors)", errors.len()),
        };
        let fix = self.errors.first().map_or("name a plugin that has tools", LoadError::fix);
        Err(CliError::usage("no-tools", format!("no tool is loaded; {cause}"), fix))
    }
}
