use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::args::Plugins;
use crate::error::{CliError, OK, USAGE};
use crate::load::{Loaded, Settings, load};
use crate::output::Output;
use crate::plain::plain_line;
use crate::signals::Signals;

pub(crate) async fn run(plugins: &Plugins, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let loaded = load(plugins, Settings::default(), signals).await?;
    if output.is_json() {
        let tools = loaded.session.tools();
        let tools: Vec<Value> = tools.visible().map(|tool| loaded.as_json(tool)).collect();
        let code = if tools.is_empty() { USAGE } else { OK };
        output.print_json(&json!({"tools": tools, "errors": loaded.errors}));
        return Ok(code);
    }
    loaded.require_tools(output)?;
    output.print(&table(&loaded, output.width()));
    Ok(OK)
}

fn table(loaded: &Loaded, width: Option<u16>) -> String {
    let tools = loaded.session.tools();
    let mut table = Table::new();
    // Few tools have a title, and a table is wide enough without.
    let titles = tools.visible().any(|tool| tool.title.is_some());
    let row = |[name, label, title, rest @ ..]: [&str; 6]| {
        let title = titles.then_some(title);
        [name, label].into_iter().chain(title).chain(rest).map(plain_line).collect::<Vec<_>>()
    };
    let header = row(["NAME", "LABEL", "TITLE", "DESCRIPTION", "PLUGIN", "VERSION"]);
    table.load_style(presets::NOTHING).set_header(header);
    if let Some(width) = width {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for tool in tools.visible() {
        let (plugin, version) = match tools.origin(&tool.name) {
            Some(origin) => (origin.plugin.as_str(), origin.version.as_str()),
            None => ("", ""),
        };
        let title = tool.title.as_deref().unwrap_or_default();
        table.add_row(row([&tool.name, &tool.label, title, tool.summary(), plugin, version]));
    }
    // The style puts a blank before the first column.
    let lines: Vec<_> =
        table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned()).collect();
    lines.join("\n")
}
