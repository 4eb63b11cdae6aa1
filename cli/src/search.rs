//! Where plugins are looked for, in order.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde_json::{Value, json};
use toolhost_loader::{HostBuilder, Trust};

use crate::args::Plugins;
use crate::config::{Config, Source};
use crate::paths;

/// Directories to look for plugins in, with colons between them.
const VARIABLE: &str = "TOOLHOST_PLUGIN_PATH";
/// Below a directory for data.
const PLUGINS: &str = "toolhost/plugins";
/// What stands for `XDG_DATA_DIRS`, as the XDG base directory specification has it.
const SYSTEM: &str = "/usr/local/share:/usr/share";

/// A path at which plugins are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) why: Why,
}

/// Why plugins are looked for there, which says also why those there may be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    Named,
    Variable,
    Project,
    /// By `directories` in the user's file.
    Configured(Source),
    User,
    System,
}

impl Why {
    pub(crate) fn trust(&self) -> Trust {
        match self {
            Self::Named => Trust::Given,
            Self::Project => Trust::Recorded,
            Self::Variable | Self::Configured(_) | Self::User | Self::System => Trust::Owned,
        }
    }

    /// What a program is told.
    pub(crate) fn as_json(&self) -> Value {
        match self {
            Self::Named => Source::CommandLine("--plugin").as_json(),
            Self::Variable => Source::Environment(VARIABLE).as_json(),
            Self::Configured(source) => source.as_json(),
            Self::Project => json!({"kind": "project"}),
            Self::User => json!({"kind": "user"}),
            Self::System => json!({"kind": "system"}),
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named => Source::CommandLine("--plugin").fmt(f),
            Self::Variable => Source::Environment(VARIABLE).fmt(f),
            Self::Configured(source) => source.fmt(f),
            Self::Project => f.write_str("the project"),
            Self::User => f.write_str("the user"),
            Self::System => f.write_str("the system"),
        }
    }
}

/// All of them, the first one first.
pub(crate) fn places(plugins: &Plugins, config: &Config) -> Vec<Place> {
    let named = plugins.paths.iter().map(|path| Place { path: given(path), why: Why::Named });
    if plugins.no_discovery {
        return named.collect();
    }
    let variable = env::var_os(VARIABLE).unwrap_or_default();
    let split: Vec<PathBuf> = env::split_paths(&variable).filter(|path| !path.as_os_str().is_empty()).collect();
    let variable = split.iter().map(|path| Place { path: given(path), why: Why::Variable });
    let project = config.project.directory.iter();
    let project = project.map(|directory| Place { path: directory.join("plugins"), why: Why::Project });
    let configured = config
        .directories
        .iter()
        .map(|directory| Place { path: directory.value.clone(), why: Why::Configured(directory.source.clone()) });
    let own = user_directory().into_iter().map(|path| Place { path, why: Why::User });
    let system = system_directories().into_iter().map(|path| Place { path, why: Why::System });
    named.chain(variable).chain(project).chain(configured).chain(own).chain(system).collect()
}

/// A path that was given to this command. One that is there as it stands is meant.
fn given(path: &Path) -> PathBuf {
    let path = if path.exists() { path.to_owned() } else { paths::expand(path) };
    std::path::absolute(&path).unwrap_or(path)
}

/// Where this user's plugins are.
fn user_directory() -> Option<PathBuf> {
    etcetera::choose_base_strategy().ok().map(|base| base.data_dir().join(PLUGINS))
}

fn system_directories() -> Vec<PathBuf> {
    let given = env::var_os("XDG_DATA_DIRS").filter(|given| !given.is_empty()).unwrap_or_else(|| SYSTEM.into());
    // The specification has relative ones ignored.
    env::split_paths(&given).filter(|path| path.is_absolute()).map(|path| path.join(PLUGINS)).collect()
}

/// Adds the places to what a host is made of.
pub(crate) fn add(places: &[Place], builder: HostBuilder) -> HostBuilder {
    places.iter().fold(builder, |builder, place| match place.why {
        Why::Named => builder.plugin(&place.path),
        _ => builder.plugin_dir(&place.path, place.why.trust()),
    })
}
