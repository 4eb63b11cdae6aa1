//! What a plugin's file says of itself, before anything of it runs.

use std::path::Path;

use serde_json::{Value, json};
use toolhost_loader::{LoadErrorKind, UnopenedPlugin};

use crate::error::CliError;
use crate::output::BOLD;
use crate::plain::plain_line;

/// Looks at a file.
pub(crate) fn inspect(file: &Path) -> Result<UnopenedPlugin, CliError> {
    UnopenedPlugin::read(file).map_err(|error| {
        let path = error.path.to_string_lossy();
        if matches!(error.kind, LoadErrorKind::NotFound) {
            return CliError::usage("plugin-not-found", format!("{path}: {}", error.kind), error.fix());
        }
        CliError::usage("no-plugin", format!("{path}: {} ({})", error.kind, error.code()), error.fix())
    })
}

pub(crate) fn text(inspection: &UnopenedPlugin) -> String {
    let plugin = inspection.plugin();
    let libraries: Vec<_> = inspection.libraries().map(|library| library.to_string_lossy().into_owned()).collect();
    let built = format!("SDK {}, interface {}, {}", plugin.sdk_version, plugin.abi_version, plugin.rustc);
    let lines = [
        ("plugin", format!("{} {}", plugin.name, plugin.version)),
        ("about", plugin.description.clone()),
        ("built with", built),
        ("size", format!("{} bytes", inspection.size())),
        ("SHA-256", plugin.fingerprint.clone()),
        ("brings", libraries.join(", ")),
        ("tools", inspection.tools().join(", ")),
    ];
    let shown = lines.iter().filter(|(_, value)| !value.is_empty());
    let shown = shown.map(|(name, value)| format!("\n  {name:<10}  {}", plain_line(value)));
    let path = plain_line(&plugin.path.to_string_lossy());
    format!("{BOLD}{path}{BOLD:#}{}", shown.collect::<String>())
}

pub(crate) fn as_json(inspection: &UnopenedPlugin) -> Value {
    let plugin = inspection.plugin();
    let libraries: Vec<_> = inspection.libraries().map(|library| library.to_string_lossy()).collect();
    json!({
        "path": plugin.path.to_string_lossy(),
        "name": plugin.name,
        "version": plugin.version,
        "description": plugin.description,
        "sdkVersion": plugin.sdk_version,
        "abiVersion": plugin.abi_version,
        "rustc": plugin.rustc,
        "size": inspection.size(),
        "hash": plugin.fingerprint,
        "libraries": libraries,
        "tools": inspection.tools(),
    })
}
