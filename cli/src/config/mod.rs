//! What is set: by default, by the user's file, by the project's, by the command line, each over those before it.

mod file;
mod show;
mod source;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcetera::BaseStrategy;
use rustix::fs::OFlags;
use serde_json::{Map, Value};
use toolhost_loader::LoadLimits;

use crate::args::Plugins;
use crate::error::CliError;
use crate::plain::plain_line;
use crate::project::{self, Project};
use crate::{paths, settings};
pub(crate) use file::Owner;
use file::{At, Content, Problem};
pub(crate) use show::run;
pub(crate) use source::{Source, Sourced};

/// The name of a file of settings.
const NAME: &str = "toolhost.toml";
/// Larger files are none.
const LARGEST: u64 = 1 << 20;

/// Everything that is set.
#[derive(Debug)]
pub(crate) struct Config {
    /// The files in which settings are looked for, and whether they are there.
    pub(crate) files: Vec<(PathBuf, Owner, bool)>,
    pub(crate) project: Project,
    pub(crate) directories: Vec<Sourced<PathBuf>>,
    pub(crate) disabled: BTreeMap<String, Source>,
    pub(crate) factory: Sourced<Duration>,
    pub(crate) tools: Sourced<usize>,
    pub(crate) definition_bytes: Sourced<usize>,
    pub(crate) plugins: BTreeMap<String, Settings>,
    /// The plugins that the command line gives settings to.
    pub(crate) given: Vec<String>,
}

/// What one plugin is given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Settings {
    /// Each from where it was last set.
    Each(BTreeMap<String, Sourced<Value>>),
    /// Something else than an object.
    Whole(Sourced<Value>),
}

impl Settings {
    pub(crate) fn value(&self) -> Value {
        match self {
            Self::Each(settings) => {
                let entries = settings.iter().map(|(key, setting)| (key.clone(), setting.value.clone()));
                Value::Object(entries.collect::<Map<_, _>>())
            }
            Self::Whole(setting) => setting.value.clone(),
        }
    }
}

impl Config {
    /// Reads the files, and what the command line says.
    pub(crate) fn read(plugins: &Plugins) -> Result<Self, CliError> {
        let mut config = Self::defaults();
        let (user, is_named) = match &plugins.config_file {
            Some(path) => (Some(paths::expand(path)), true),
            None => {
                (etcetera::choose_base_strategy().ok().map(|base| base.config_dir().join("toolhost").join(NAME)), false)
            }
        };
        if let Some(path) = user {
            config.read_file(path, Owner::User, is_named)?;
        }
        if let Ok(cwd) = std::env::current_dir() {
            config.project = project::find(&cwd, paths::home().as_deref());
        }
        if let Some(directory) = config.project.directory.clone() {
            config.read_file(directory.join(NAME), Owner::Project, false)?;
        }
        config.add_command_line(settings::parse(&plugins.configs)?);
        Ok(config)
    }

    fn defaults() -> Self {
        let limits = LoadLimits::default();
        Self {
            files: Vec::new(),
            project: Project::default(),
            directories: Vec::new(),
            disabled: BTreeMap::new(),
            factory: Sourced::default(limits.factory),
            tools: Sourced::default(limits.tools),
            definition_bytes: Sourced::default(limits.definition_bytes),
            plugins: BTreeMap::new(),
            given: Vec::new(),
        }
    }

    pub(crate) fn limits(&self) -> LoadLimits {
        let limits = LoadLimits::default().with_factory(self.factory.value).with_tools(self.tools.value);
        limits.with_definition_bytes(self.definition_bytes.value)
    }

    fn read_file(&mut self, path: PathBuf, owner: Owner, is_named: bool) -> Result<(), CliError> {
        let path = std::path::absolute(&path).unwrap_or(path);
        let shown = plain_line(&path.to_string_lossy());
        let text = match read(&path) {
            Ok(text) => text,
            Err(error) if !is_named && is_missing(&error) => {
                self.files.push((path, owner, false));
                return Ok(());
            }
            Err(error) => {
                let fix = if is_named { "name a file of settings that can be read" } else { "mend or remove it" };
                return Err(CliError::usage("config", format!("{shown} cannot be read: {error}"), fix));
            }
        };
        let content = file::parse(&text, owner).map_err(|Problem { at: (line, column), message, fix }| {
            CliError::usage("config", format!("{shown}:{line}:{column}: {message}"), fix)
        })?;
        self.add(content, &path, owner)?;
        self.files.push((path, owner, true));
        Ok(())
    }

    fn add(&mut self, content: Content, path: &Path, owner: Owner) -> Result<(), CliError> {
        let source = |line: usize| Source::File { path: path.to_owned(), line };
        for At { value, line } in content.directories {
            let given = Path::new(&value);
            if let Some(other) = paths::other_home(given) {
                let message = format!("{}: `{}` is not known here", source(line), other.to_string_lossy());
                let fix = format!("write that user's home in full, or `./{value}` for a directory of that name");
                return Err(CliError::usage("config", message, fix));
            }
            let beside = path.parent().unwrap_or(Path::new("/"));
            self.directories.push(Sourced::new(beside.join(paths::expand(given)), source(line)));
        }
        for At { value, line } in content.disabled {
            self.disabled.entry(value).or_insert_with(|| source(line));
        }
        let factory =
            content.factory_seconds.map(|At { value, line }| At { value: Duration::from_secs_f64(value), line });
        set(&mut self.factory, factory, owner, source);
        set(&mut self.tools, content.tools, owner, source);
        set(&mut self.definition_bytes, content.definition_bytes, owner, source);
        for (plugin, settings) in content.plugins {
            let settings = settings.into_iter().map(|(key, at)| (key, Sourced::new(at.value, source(at.line))));
            self.give(plugin, settings);
        }
        Ok(())
    }

    fn add_command_line(&mut self, settings: Vec<settings::Setting>) {
        let source = Source::CommandLine("--config");
        for (plugin, value) in settings {
            self.given.push(plugin.clone());
            match value {
                Value::Object(settings) => {
                    let settings = settings.into_iter().map(|(key, value)| (key, Sourced::new(value, source.clone())));
                    self.give(plugin, settings);
                }
                other => {
                    self.plugins.insert(plugin, Settings::Whole(Sourced::new(other, source.clone())));
                }
            }
        }
    }

    fn give(&mut self, plugin: String, settings: impl Iterator<Item = (String, Sourced<Value>)>) {
        let given = self.plugins.entry(plugin).or_insert_with(|| Settings::Each(BTreeMap::new()));
        if let Settings::Each(known) = given {
            known.extend(settings);
        }
    }
}

/// A project may only lower a limit.
fn set<T: PartialOrd>(limit: &mut Sourced<T>, given: Option<At<T>>, owner: Owner, source: impl Fn(usize) -> Source) {
    if let Some(At { value, line }) = given
        && (owner == Owner::User || value < limit.value)
    {
        *limit = Sourced::new(value, source(line));
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn read(path: &Path) -> io::Result<String> {
    // A pipe that nobody writes to would hold up an open that may block.
    #[allow(clippy::cast_possible_wrap)]
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::other(format!("it is no UTF-8 text, at byte {at}"))
    })
}
