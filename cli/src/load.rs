//! From where plugins are to a session with tools.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolhost_core::{CallError, RESOLVE, ToolDefinition};
use toolhost_loader::{
    FirstSight, Host, HostBuilder, LoadError, LoadErrorKind, PluginInfo, Session, SessionOptions, Stage,
};
use tracing::debug;

use crate::args::{FIRST_SIGHT, Plugins};
use crate::blame;
use crate::config::Config;
use crate::error::{CliError, TRUST};
use crate::output::Output;
use crate::places;
use crate::plain::plain_line;
use crate::screen::SCREEN;
use crate::search::{self, Place, Why};
use crate::services::Services;
use crate::settings;
use crate::signals::Signals;

/// A session, and what could not be loaded for it.
pub(crate) struct Loaded {
    pub(crate) host: Host,
    pub(crate) session: Session,
    pub(crate) errors: Vec<LoadError>,
    config: Config,
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
pub(crate) async fn load(
    plugins: &Plugins,
    settings: Settings<'_>,
    output: &Output,
    signals: &Signals,
) -> Result<Loaded, CliError> {
    if plugins.no_discovery && plugins.paths.is_empty() {
        let fix = "add --plugin PATH, where PATH is a plugin's file or the directory that it was built into, or leave out \
                   --no-discovery";
        return Err(CliError::usage("no-plugin", "no plugin was named", fix));
    }
    let config = Config::read(plugins)?;
    if let Some(warning) = &config.project.warning {
        output.warn(warning);
    }
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
        loaded = open(plugins, options, config) => loaded,
    }
}

async fn open(plugins: &Plugins, options: SessionOptions, config: Config) -> Result<Loaded, CliError> {
    let places = search::places(plugins, &config);
    let mut builder = search::add(&places, Host::builder().open_late(true).limits(config.limits()));
    builder = places::trust_file().into_iter().fold(builder, HostBuilder::trust_from);
    builder = places::block_files().fold(builder, HostBuilder::blocks_from);
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
    builder = config.disabled.keys().fold(builder, |builder, plugin| builder.disable(plugin));
    builder = config.plugins.iter().fold(builder, |builder, (plugin, given)| builder.config(plugin, given.value()));
    let host = builder
        .build()
        .await
        .map_err(|error| CliError::usage("host", error.to_string(), "give a directory of yours with --cache-dir"))?;
    blame::note_refused(host.load_errors());
    // What was named has to be there; what a directory happens to hold, such as a link that leads nowhere, has not.
    let named = |path: &Path| places.iter().any(|place| place.why == Why::Named && place.path == path);
    let missing = |error: &&LoadError| matches!(error.kind, LoadErrorKind::NotFound) && named(&error.path);
    if let Some(error) = host.load_errors().iter().find(missing) {
        let message = format!("{}: {}", error.path.display(), error.kind);
        return Err(CliError::usage("plugin-not-found", message, error.fix()));
    }
    if host.plugins().next().is_none() && host.load_errors().is_empty() {
        return Err(nothing_found(&host, &places, &config));
    }
    settings::check(&config.given, &host)?;
    let unread = config.plugins.keys().filter(|name| !host.plugins().any(|plugin| plugin.name == **name));
    for plugin in unread {
        debug!(plugin, "settings of a plugin that is not loaded");
    }
    let opened = host.session(options).await;
    let errors = host.load_errors().iter().cloned().chain(opened.errors).collect();
    Ok(Loaded { host, session: opened.session, errors, config })
}

/// Where plugins were looked for in vain.
fn nothing_found(host: &Host, places: &[Place], config: &Config) -> CliError {
    if let Some(plugin) = host.disabled().first() {
        let by = config.disabled.get(&plugin.name).map(ToString::to_string).unwrap_or_default();
        let message = format!("every plugin that was found is disabled, such as `{}` by {by}", plugin.name);
        return CliError::usage("no-plugin", message, "take it off `disabled`, which `toolhost config` shows");
    }
    let looked = places.iter().map(|place| {
        let there = if place.path.exists() { "" } else { ", which is not there" };
        format!("\n{} ({}){there}", plain_line(&place.path.to_string_lossy()), place.why)
    });
    let message = format!("there is no plugin in any of these places:{}", looked.collect::<String>());
    let fix = "install one with `toolhost install FILE`, or name it with --plugin PATH";
    CliError::usage("no-plugin", message, fix)
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

    /// What a plugin is disabled by.
    pub(crate) fn disabled_by(&self, plugin: &PluginInfo) -> String {
        self.config.disabled.get(&plugin.name).map(ToString::to_string).unwrap_or_default()
    }

    /// What a program is told of a plugin that is disabled.
    pub(crate) fn disabled_json(&self, plugin: &PluginInfo) -> Value {
        json!({
            "path": plugin.path.to_string_lossy(),
            "plugin": plugin.name,
            "version": plugin.version,
            "by": self.config.disabled.get(&plugin.name).map(|source| source.as_json()),
        })
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

    /// Refuses to look for a tool in vain where a plugin that is not trusted, blocked or in quarantine declares it or may
    /// have it.
    pub(crate) fn require_trusted(&self, tool: &str, output: &Output) -> Result<(), CliError> {
        let tools = self.session.tools();
        if tools.definition(tool).is_some() || tool == RESOLVE {
            return Ok(());
        }
        let (untrusted, others): (Vec<_>, Vec<_>) = self.errors.iter().partition(|error| error.stage() == Stage::Trust);
        let declare = untrusted.iter().filter(|error| declared(error).iter().any(|name| name == tool));
        let declare: Vec<_> = declare.copied().collect();
        let may_have: Vec<_> = untrusted.into_iter().filter(|error| declared(error).is_empty()).collect();
        let (begin, asked) = if declare.is_empty() {
            let unknown = CallError::unknown_tool(tool, tools.similar_names(tool));
            (format!("{unknown}; it may be one of a plugin that is not loaded"), may_have)
        } else {
            (format!("`{}` is a tool of a plugin that is not loaded", plain_line(tool)), declare)
        };
        let Some(first) = asked.first() else {
            return Ok(());
        };
        for error in others {
            output.warn(&error.to_string());
        }
        let code = match first.kind {
            LoadErrorKind::Blocked { .. } => "blocked",
            LoadErrorKind::Quarantined { .. } => "quarantined",
            _ => "not-trusted",
        };
        let why = |error: &&LoadError| {
            format!("{}: {} ({})", plain_line(&error.path.to_string_lossy()), error.kind, error.code())
        };
        let message = format!("{begin}: {}", asked.iter().map(why).collect::<Vec<_>>().join("\n"));
        let mut fixes: Vec<_> = asked.iter().map(|error| error.fix().into_owned()).collect();
        fixes.dedup();
        Err(CliError { exit: TRUST, code, message, fix: fixes.join("\n") })
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

/// The tools that a plugin declares which was not loaded.
fn declared(error: &LoadError) -> &[String] {
    match &error.kind {
        LoadErrorKind::NotTrusted { plugin } | LoadErrorKind::ChangedSinceTrusted { plugin, .. } => &plugin.tools,
        _ => &[],
    }
}
