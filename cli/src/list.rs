use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};
use toolhost_loader::{PluginInfo, Shadowed};

use crate::args::Plugins;
use crate::error::{CliError, OK, USAGE};
use crate::load::{Loaded, Settings, load};
use crate::output::{BOLD, Output};
use crate::plain::plain_line;
use crate::signals::Signals;

pub(crate) async fn run(plugins: &Plugins, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let loaded = load(plugins, Settings::default(), output, signals).await?;
    if output.is_json() {
        let tools = loaded.session.tools();
        let tools: Vec<Value> = tools.visible().map(|tool| loaded.as_json(tool)).collect();
        let code = if tools.is_empty() { USAGE } else { OK };
        let shadowed: Vec<Value> = loaded.host.shadowed().iter().map(shadowed_json).collect();
        let disabled: Vec<Value> = loaded.host.disabled().iter().map(|plugin| loaded.disabled_json(plugin)).collect();
        let object = json!({"tools": tools, "errors": loaded.errors, "shadowed": shadowed, "disabled": disabled});
        output.print_json(&object);
        return Ok(code);
    }
    loaded.require_tools(output)?;
    output.print(&format!("{}{}", table(&loaded, output.width()), left_alone(&loaded)));
    Ok(OK)
}

fn table(loaded: &Loaded, width: Option<u16>) -> String {
    let tools = loaded.session.tools();
    // Few tools have a title, and a table is wide enough without.
    let titles = tools.visible().any(|tool| tool.title.is_some());
    let row = |[name, label, title, rest @ ..]: [&str; 6]| {
        let title = titles.then_some(title);
        [name, label].into_iter().chain(title).chain(rest).map(str::to_owned).collect::<Vec<_>>()
    };
    let header = row(["NAME", "LABEL", "TITLE", "DESCRIPTION", "PLUGIN", "VERSION"]);
    let rows = tools.visible().map(|tool| {
        let (plugin, version) = match tools.origin(&tool.name) {
            Some(origin) => (origin.plugin.as_str(), origin.version.as_str()),
            None => ("", ""),
        };
        let title = tool.title.as_deref().unwrap_or_default();
        row([&tool.name, &tool.label, title, tool.summary(), plugin, version])
    });
    columns(&header.iter().map(String::as_str).collect::<Vec<_>>(), rows, width)
}

/// Rows in columns below their headings, without a line's end.
pub(crate) fn columns(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.to_vec());
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for row in rows {
        table.add_row(row.iter().map(|cell| plain_line(cell)));
    }
    // The style puts a blank before the first column.
    let lines: Vec<_> =
        table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n")
}

/// What was found beside the plugins that are loaded.
fn left_alone(loaded: &Loaded) -> String {
    let mut text = String::new();
    let path = |path: &std::path::Path| plain_line(&path.to_string_lossy());
    if !loaded.host.shadowed().is_empty() {
        let _ = write!(text, "\n\n{BOLD}Shadowed{BOLD:#}");
    }
    for shadowed in loaded.host.shadowed() {
        let Shadowed { name, version, by_version, .. } = shadowed;
        let by = match shadowed.is_copy {
            true => "its copy",
            false => by_version,
        };
        let _ =
            write!(text, "\n  {name} {version}, by {by}: {} comes before {}", path(&shadowed.by), path(&shadowed.path));
    }
    if !loaded.host.disabled().is_empty() {
        let _ = write!(text, "\n\n{BOLD}Disabled{BOLD:#}");
    }
    for plugin in loaded.host.disabled() {
        let PluginInfo { name, version, .. } = plugin;
        let _ = write!(text, "\n  {name} {version}, by {}: {}", loaded.disabled_by(plugin), path(&plugin.path));
    }
    text
}

fn shadowed_json(shadowed: &Shadowed) -> Value {
    json!({
        "path": shadowed.path.to_string_lossy(),
        "plugin": shadowed.name,
        "version": shadowed.version,
        "by": shadowed.by.to_string_lossy(),
        "byVersion": shadowed.by_version,
        "isCopy": shadowed.is_copy,
    })
}
