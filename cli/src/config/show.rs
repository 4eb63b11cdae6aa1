//! `toolhost config`: what is set, and where it comes from.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost_loader::Trust;

use super::file::{DEFINITION_BYTES, FACTORY_SECONDS, TOOLS};
use super::{Config, Owner, Settings, Source};
use crate::args::Plugins;
use crate::error::{CliError, OK};
use crate::list::columns;
use crate::output::{BOLD, Output};
use crate::search::{self, Place};

/// One value, by its key in a file of settings.
struct Line {
    key: String,
    value: Value,
    source: Source,
}

pub(crate) fn run(plugins: &Plugins, output: &Output) -> Result<u8, CliError> {
    let config = Config::read(plugins)?;
    let places = search::places(plugins, &config);
    if let Some(warning) = &config.project.warning {
        output.warn(warning);
    }
    let lines = lines(&config);
    if output.is_json() {
        output.print_json(&as_json(&config, &lines, &places));
    } else {
        output.print(&as_text(&config, &lines, &places, output.width()));
    }
    Ok(OK)
}

fn lines(config: &Config) -> Vec<Line> {
    let line = |key: String, value: Value, source: &Source| Line { key, value, source: source.clone() };
    let limit = |key: &str, value: Value, source: &Source| line(format!("limits.{key}"), value, source);
    let mut lines = vec![
        limit(FACTORY_SECONDS, seconds(config.factory.value), &config.factory.source),
        limit(TOOLS, json!(config.tools.value), &config.tools.source),
        limit(DEFINITION_BYTES, json!(config.definition_bytes.value), &config.definition_bytes.source),
    ];
    let directories = config.directories.iter();
    lines.extend(
        directories.map(|directory| {
            line("directories".to_owned(), json!(directory.value.to_string_lossy()), &directory.source)
        }),
    );
    lines.extend(config.disabled.iter().map(|(plugin, source)| line("disabled".to_owned(), json!(plugin), source)));
    for (plugin, settings) in &config.plugins {
        match settings {
            Settings::Each(settings) => lines.extend(settings.iter().map(|(key, setting)| {
                line(format!("plugins.{}.{}", part(plugin), part(key)), setting.value.clone(), &setting.source)
            })),
            Settings::Whole(setting) => {
                lines.push(line(format!("plugins.{}", part(plugin)), setting.value.clone(), &setting.source));
            }
        }
    }
    lines
}

/// As somebody would write them: 10, and 2.5.
fn seconds(duration: Duration) -> Value {
    match duration.subsec_nanos() {
        0 => json!(duration.as_secs()),
        _ => json!(duration.as_secs_f64()),
    }
}

/// A part of a key as TOML has it: in quotation marks where it is not plain.
fn part(key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    match !key.is_empty() && key.chars().all(plain) {
        true => key.to_owned(),
        false => json!(key).to_string(),
    }
}

fn as_text(config: &Config, lines: &[Line], places: &[Place], width: Option<u16>) -> String {
    let values = lines.iter().map(|line| vec![line.key.clone(), line.value.to_string(), line.source.to_string()]);
    let values = columns(&["SETTING", "VALUE", "FROM"], values, width);
    let there = |there: bool| if there { "yes" } else { "no" }.to_owned();
    let searched = places.iter().map(|place| {
        vec![place.path.to_string_lossy().into_owned(), place.why.to_string(), there(place.path.exists())]
    });
    let searched = columns(&["PATH", "FROM", "THERE"], searched, width);
    let files = config.files.iter().map(|(path, owner, is_there)| {
        vec![path.to_string_lossy().into_owned(), name(*owner).to_owned(), there(*is_there)]
    });
    let files = columns(&["FILE", "OF", "THERE"], files, width);
    format!(
        "{values}\n\n{BOLD}Plugins are looked for in this order{BOLD:#}\n{searched}\n\n{BOLD}Settings are read from, the \
         later over the earlier{BOLD:#}\n{files}"
    )
}

fn name(owner: Owner) -> &'static str {
    match owner {
        Owner::User => "user",
        Owner::Project => "project",
    }
}

fn as_json(config: &Config, lines: &[Line], places: &[Place]) -> Value {
    let values: Vec<_> = lines
        .iter()
        .map(|line| json!({"key": line.key, "value": line.value, "source": line.source.as_json()}))
        .collect();
    let search: Vec<_> = places
        .iter()
        .map(|place| {
            let trust = match place.why.trust() {
                Trust::Given => "given",
                Trust::Recorded => "recorded",
                _ => "owned",
            };
            let path = place.path.to_string_lossy();
            json!({"path": path, "source": place.why.as_json(), "trust": trust, "exists": place.path.exists()})
        })
        .collect();
    let files: Vec<_> = config
        .files
        .iter()
        .map(|(path, owner, exists)| json!({"path": path.to_string_lossy(), "of": name(*owner), "exists": exists}))
        .collect();
    json!({"values": values, "search": search, "files": files})
}
