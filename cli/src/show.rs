use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use toolhost_core::{Effect, ToolDefinition};

use crate::args::{Plugins, Show};
use crate::error::{CliError, OK};
use crate::load::{Loaded, Settings, load};
use crate::output::{BOLD, Output};
use crate::plain::{plain, plain_line};
use crate::signals::Signals;
use crate::{example, schema};

/// Descriptions are wrapped to this many columns where there is no terminal to ask.
const COLUMNS: usize = 100;

pub(crate) async fn run(show: &Show, plugins: &Plugins, output: &Output, signals: &Signals) -> Result<u8, CliError> {
    let loaded = load(plugins, Settings::default(), output, signals).await?;
    loaded.require_trusted(&show.tool, output)?;
    loaded.require_tools(output)?;
    let tools = loaded.session.tools();
    let tool = tools
        .definition(&show.tool)
        .ok_or_else(|| CliError::unknown_tool(&show.tool, &tools.similar_names(&show.tool)))?;
    let example = example::parameters(&tools, tool);
    if output.is_json() {
        let mut object = loaded.as_json(tool);
        object["parameters"] = tool.parameters.clone();
        object["example"] = json!(example);
        output.print_json(&object);
    } else {
        let width = output.width().map_or(COLUMNS, usize::from);
        output.print(&as_text(&loaded, tool, example.as_ref(), &plugins.paths, width));
    }
    Ok(OK)
}

fn as_text(
    loaded: &Loaded,
    tool: &ToolDefinition,
    example: Option<&Value>,
    plugins: &[PathBuf],
    width: usize,
) -> String {
    let mut text = format!("{BOLD}{}{BOLD:#}  {}\n", tool.name, plain_line(&tool.label));
    if let Some(title) = &tool.title {
        let _ = writeln!(text, "shown by clients as {}", plain_line(title));
    }
    if let Some(plugin) = loaded.plugin(tool) {
        let path = plain_line(&plugin.path.to_string_lossy());
        let _ = writeln!(text, "from plugin {} {} ({path})", plugin.name, plugin.version);
    }
    let effect = match tool.effect {
        Effect::ReadOnly => "It only reads.",
        Effect::Stages => "It changes nothing by itself; what it stages is applied or discarded.",
        _ => "A call may change things at once, without a preview.",
    };
    let description = textwrap::fill(plain(&tool.description).trim(), options(width, ""));
    let _ = writeln!(text, "\n{description}\n\n{effect}\n\n{BOLD}Parameters{BOLD:#}");
    text.push_str(&fields(&tool.parameters, "required", "none", width));
    if let Some(schema) = &tool.output_schema {
        let _ = writeln!(text, "\n{BOLD}Details of its results{BOLD:#}");
        text.push_str(&fields(schema, "always there", "not described any closer", width));
    }
    let _ = writeln!(text, "\n{BOLD}Example{BOLD:#}");
    match example {
        Some(example) => text.push_str(&format!("  {}\n", command(tool, example, plugins))),
        None => text.push_str("  none can be made from the schema; see the parameters above\n"),
    }
    text
}

/// The fields that a schema describes; what is said of one that is required, and where there are none.
fn fields(schema: &Value, required: &str, none: &str, width: usize) -> String {
    let parameters = schema::parameters(schema);
    if parameters.is_empty() {
        return format!("  {none}\n");
    }
    let mut text = String::new();
    for parameter in parameters {
        let required = if parameter.required { format!(", {required}") } else { String::new() };
        let default = parameter.default.map(|default| format!(", {default} by default")).unwrap_or_default();
        let (path, kind) = (plain_line(&parameter.path), plain_line(&parameter.kind));
        let _ = writeln!(text, "  {BOLD}{path}{BOLD:#}  {kind}{required}{default}");
        let description = plain_line(&parameter.description.split_whitespace().collect::<Vec<_>>().join(" "));
        if !description.is_empty() {
            let _ = writeln!(text, "{}", textwrap::fill(&description, options(width, "      ")));
        }
    }
    text
}

/// Wraps between words alone: a name with a hyphen in it stays whole.
fn options(width: usize, indent: &str) -> textwrap::Options<'_> {
    textwrap::Options::new(width)
        .initial_indent(indent)
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// The call as it can be pasted into a shell.
fn command(tool: &ToolDefinition, parameters: &Value, plugins: &[PathBuf]) -> String {
    let mut words = vec!["toolhost".to_owned(), "call".to_owned(), tool.name.clone()];
    for plugin in plugins {
        words.extend(["--plugin".to_owned(), plugin.to_string_lossy().into_owned()]);
    }
    words.extend(["--params".to_owned(), parameters.to_string()]);
    let words: Vec<_> = words.iter().map(|word| shlex::try_quote(word).unwrap_or_default()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_can_be_pasted() {
        let tool = ToolDefinition::new("t");
        let line = command(&tool, &json!({"a": "it's"}), &["my plugins".into()]);
        assert_eq!(
            shlex::split(&line).unwrap(),
            ["toolhost", "call", "t", "--plugin", "my plugins", "--params", r#"{"a":"it's"}"#]
        );
    }
}
