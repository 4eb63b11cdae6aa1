//! The settings of plugins, from `--config`.

use std::fs;

use serde_json::Value;
use toolhost_loader::Host;

use crate::error::CliError;
use crate::plain::plain_line;
use crate::similar;

/// A plugin's name, and its settings.
pub(crate) type Setting = (String, Value);

/// Reads what the command line gives.
pub(crate) fn parse(given: &[String]) -> Result<Vec<Setting>, CliError> {
    let mut settings: Vec<Setting> = Vec::new();
    for given in given {
        let (plugin, value) = one(given)?;
        if settings.iter().any(|(known, _)| *known == plugin) {
            let message = format!("the plugin `{plugin}` was given settings twice");
            return Err(wrong(message, "put all of a plugin's settings into one --config"));
        }
        settings.push((plugin, value));
    }
    Ok(settings)
}

fn wrong(message: String, fix: impl Into<String>) -> CliError {
    CliError::usage("config", message, fix)
}

fn one(given: &str) -> Result<Setting, CliError> {
    let Some((plugin, value)) = given.split_once('=').filter(|(plugin, _)| !plugin.is_empty()) else {
        let fix = "write --config PLUGIN=JSON, or --config PLUGIN=@FILE with a file that holds the JSON";
        return Err(wrong(format!("`{given}` is no PLUGIN=JSON"), fix));
    };
    let file = value.strip_prefix('@');
    let (text, source) = match file {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| {
                let message = format!("the settings of `{plugin}` cannot be read from {path}: {error}");
                wrong(message, format!("write --config {plugin}=@FILE with an existing file"))
            })?;
            (text, format!(" in {path}"))
        }
        None => (value.to_owned(), String::new()),
    };
    let settings = serde_json::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| {
        let fix = match fs::exists(value) {
            _ if file.is_some() => "mend the file".to_owned(),
            Ok(true) => format!("write --config {plugin}=@{value} to read that file"),
            _ => format!("give JSON, such as --config {plugin}='{{\"key\":\"value\"}}'"),
        };
        wrong(format!("the settings of `{plugin}`{source} are no valid JSON: {error}"), fix)
    })?;
    Ok((plugin.to_owned(), settings))
}

/// Refuses settings that no loaded plugin would read. Where none is loaded at all, there is more to say than that.
pub(crate) fn check(given: &[String], host: &Host) -> Result<(), CliError> {
    let names: Vec<&str> = host.plugins().map(|plugin| plugin.name.as_str()).collect();
    let Some(unknown) = given.iter().find(|plugin| !names.contains(&plugin.as_str())) else {
        return Ok(());
    };
    if names.is_empty() {
        return Ok(());
    }
    let loaded = names.iter().map(|name| format!("`{}`", plain_line(name))).collect::<Vec<_>>().join(", ");
    let message =
        format!("--config gives settings to `{unknown}`, and no plugin of that name is loaded, only {loaded}");
    let fix = match (similar::nearest(unknown, names.iter().copied()), host.load_errors().first()) {
        _ if host.disabled().iter().any(|plugin| plugin.name == *unknown) => {
            "take it off `disabled`, which `toolhost config` shows".to_owned()
        }
        (Some(name), _) => format!("write --config {name}=..."),
        (None, Some(error)) => {
            format!(
                "{} could not be loaded, since {}; {}",
                plain_line(&error.path.to_string_lossy()),
                error.kind,
                error.fix()
            )
        }
        (None, None) => "give the name of a plugin that is loaded, or add its file with --plugin".to_owned(),
    };
    Err(wrong(message, fix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(given: &[&str]) -> Result<Vec<Setting>, String> {
        parse(&given.iter().map(|&given| given.to_owned()).collect::<Vec<_>>())
            .map_err(|error| format!("{}; {}", error.message, error.fix))
    }

    #[test]
    fn settings_are_any_json() {
        let settings = parsed(&["a={\"k\": \"x=y\"}", "b=null", "c=[1]"]).unwrap();
        assert_eq!(
            settings,
            [("a".to_owned(), json!({"k": "x=y"})), ("b".to_owned(), Value::Null), ("c".to_owned(), json!([1]))]
        );
    }

    #[test]
    fn what_cannot_be_read_says_what_to_write() {
        let error = |given: &str| parsed(&[given]).unwrap_err();
        let form = "write --config PLUGIN=JSON, or --config PLUGIN=@FILE with a file that holds the JSON";
        assert_eq!(error("a"), format!("`a` is no PLUGIN=JSON; {form}"));
        assert_eq!(error("={}"), format!("`={{}}` is no PLUGIN=JSON; {form}"));
        assert_eq!(
            error("a={"),
            "the settings of `a` are no valid JSON: EOF while parsing an object at line 1 column 1; give JSON, such as \
             --config a='{\"key\":\"value\"}'"
        );
        assert_eq!(
            parsed(&["a=1", "b=2", "a=3"]).unwrap_err(),
            "the plugin `a` was given settings twice; put all of a plugin's settings into one --config"
        );
    }
}
