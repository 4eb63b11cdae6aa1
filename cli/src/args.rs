//! The command line.

mod trust;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::error::{CliError, OK};
use crate::output::Output;
pub(crate) use trust::{Block, Install, Remove, Trust, Unblock, Untrust};

const AFTER_HELP: &str = "\
Examples:
  toolhost list
  toolhost list --plugin ./plugins
  toolhost show batch_rename_preview --plugin ./plugins
  toolhost call batch_rename_preview --plugin ./plugins files=IMG_1.JPG find=IMG replace=trip
  toolhost list --plugin ./plugins --config my-plugin='{\"retries\": 3}'
  toolhost list --plugin ./plugins --config my-plugin=@settings.json

Without --plugin, or besides it, plugins are looked for in the directories
that `toolhost config` shows; --no-discovery leaves those out.

Environment:
  TOOLHOST_PLUGIN_PATH
                directories to look for plugins in, with colons between them
  TOOLHOST_LOG  how much is logged on standard error: error, warn (the
                default), info, debug or trace, or a filter such as
                info,my_plugin=debug

A plugin is native code that runs with your rights. Name only plugins that you trust.";

const CALL_HELP: &str = "\
Examples:
  Preview, then decide at the terminal:
    toolhost call batch_rename_preview --plugin ./plugins \\
        files=a.JPG files=b.JPG find=JPG replace=jpg
  Preview and apply:
    toolhost call batch_rename_preview --plugin ./plugins \\
        --params @params.json --apply \"looks right\"
  Apply exactly what an earlier preview showed:
    toolhost call batch_rename_preview --plugin ./plugins \\
        --params @params.json --apply ok --expect HASH
  Give a plugin its settings, and let it run no programs:
    toolhost call fetch --plugin ./plugins --no-exec \\
        --config web-tools='{\"timeoutSeconds\": 5}' url=https://example.org

Where a tool stages a change, nothing happens before it is applied.
On a terminal you are asked; elsewhere, and with --json, what was staged
is discarded unless --apply says otherwise. A tool that stages nothing
does its work at once; `toolhost show` says which kind a tool is.

A tool may ask you something, too, where standard input and standard
error are a terminal; elsewhere, and with --json, nobody answers. Where
standard output is a terminal, a tool may have lines of its own for a
result, without colours.

Exit codes:
  0    it ran; also when it was discarded, or when nothing was staged
       and no decision was given
  1    the tool, an apply, a reject or a clean-up failed, a tool asked
       to stop, or there was nothing to decide on
  2    wrong usage, unknown tool, invalid parameters or settings, a
       missing path, no tool loaded
  3    the tool's plugin is not trusted, blocked or in quarantine
  4    the world changed since the preview, or --expect differs
  130  interrupted (143 by SIGTERM, 129 by SIGHUP)";

const LIST_HELP: &str = "\
Examples:
  toolhost list
  toolhost list --plugin ./plugins --json
  toolhost list --plugin ./plugins --no-discovery

Below the tools stand the plugins that were found and left alone: since one
of the same name, or the same content, was found before, or since your
settings, or the project's, disable them.";

const CONFIG_HELP: &str = "\
Examples:
  toolhost config
  toolhost config --json
  toolhost config --config-file ./other.toml

Settings are read from toolhost/toolhost.toml in your configuration directory
and from .toolhost/toolhost.toml of the project, the nearest directory above
that has a .toolhost. A file looks like this:

  directories = [\"~/my-plugins\"]
  disabled = [\"old-plugin\"]

  [limits]
  factory-seconds = 10
  tools = 128
  definition-bytes = 1048576

  [plugins.word-count]
  retries = 3

The command line comes before the project, and the project before you. But a
project's file can neither add directories nor raise a limit.";

const JOURNAL_HELP: &str = "\
Examples:
  toolhost journal
  toolhost journal --json

An action whose apply was cut off, by a crash or a lost machine, is shown as
unknown, with what it was about to change: whether it did is for you to see.";

const QUARANTINE_HELP: &str = "\
Examples:
  toolhost quarantine
  toolhost quarantine --lift my-plugin

A plugin gets there that ended two runs of this program, or the process that
looked at it first. It is not loaded until its file changes, or you lift it.";

const SHOW_HELP: &str = "\
Example:
  toolhost show batch_rename_preview --plugin ./plugins";

/// The hidden command by which this program starts itself to look at a plugin.
pub(crate) const FIRST_SIGHT: &str = "first-sight";

const INSPECT_HELP: &str = "\
Examples:
  toolhost inspect ./plugins/libbatch_rename.so
  toolhost inspect --json ./plugins/libbatch_rename.so

Nothing of the file runs. What a host checks once a plugin is open is not
part of it: `toolhost list --plugin FILE` does all of it.

Exit codes:
  0  it can be loaded
  1  it cannot
  2  wrong usage, or there is no such file";

/// Runs native agent tools, previews what they would change, and applies it when told to.
#[derive(Debug, Parser)]
#[command(name = "toolhost", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) plugins: Plugins,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where plugins come from, where their copies go, and what they get.
#[derive(Debug, clap::Args)]
pub(crate) struct Plugins {
    /// A plugin's file, or a directory of them, besides those that are found; may be given several times
    #[arg(long = "plugin", value_name = "PATH", global = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Where private copies of plugins are kept; by default toolhost/plugins in your cache directory
    #[arg(long, value_name = "DIR", global = true, env = "TOOLHOST_CACHE_DIR")]
    pub(crate) cache_dir: Option<PathBuf>,
    /// The settings of the plugin with this name; may be given several times, for several plugins
    #[arg(long = "config", value_name = "PLUGIN=JSON|@FILE", global = true)]
    pub(crate) configs: Vec<String>,
    /// Look for plugins nowhere else than in what --plugin names
    #[arg(long, global = true)]
    pub(crate) no_discovery: bool,
    /// A file of settings, instead of toolhost/toolhost.toml in your configuration directory
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config_file: Option<PathBuf>,
    /// Run no programs for plugins; without this, a tool may run what you may
    #[arg(long, global = true)]
    pub(crate) no_exec: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the tools of the plugins
    List(List),
    /// Show a tool: what it does, its parameters, an example call
    Show(Show),
    /// Call a tool, look at its preview, apply or discard it
    Call(Call),
    /// Show what is set, where it was set, and where plugins are looked for
    Config(Config),
    /// Show what became of the actions that calls staged
    Journal(Journal),
    /// Tell what a plugin's file is, and whether it can be loaded, without running anything of it
    Inspect(Inspect),
    /// Trust a plugin's file by its content, once you have seen what it is
    Trust(Trust),
    /// Take back the trust in a plugin
    Untrust(Untrust),
    /// Keep a plugin from being loaded or called, whoever trusts it
    Block(Block),
    /// Take a plugin off a block list
    Unblock(Unblock),
    /// Copy a plugin into your directory of plugins, and trust it
    Install(Install),
    /// Take away a plugin that was installed
    Remove(Remove),
    /// Show the plugins that are not loaded since they ended a process, or let one out
    Quarantine(Quarantine),
    /// Looks at a new plugin for another process of this program
    #[command(hide = true, name = FIRST_SIGHT)]
    FirstSight,
}

impl Command {
    pub(crate) fn json(&self) -> bool {
        match self {
            Self::List(list) => list.json,
            Self::Show(show) => show.json,
            Self::Call(call) => call.json,
            Self::Config(config) => config.json,
            Self::Journal(journal) => journal.json,
            Self::Inspect(inspect) => inspect.json,
            Self::Trust(trust) => trust.json,
            Self::Untrust(untrust) => untrust.json,
            Self::Block(block) => block.json,
            Self::Unblock(unblock) => unblock.json,
            Self::Install(install) => install.json,
            Self::Remove(remove) => remove.json,
            Self::Quarantine(quarantine) => quarantine.json,
            Self::FirstSight => false,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = LIST_HELP)]
pub(crate) struct List {
    /// Print one JSON object: {tools, errors, shadowed, disabled}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct Show {
    /// The tool's name
    pub(crate) tool: String,
    /// Print one JSON object: the tool's definition, its plugin, an example
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = CALL_HELP)]
pub(crate) struct Call {
    /// The tool's name
    pub(crate) tool: String,
    /// Parameters, read by the tool's schema: a list by repeating its key, a nested one as outer.inner=value
    #[arg(value_name = "KEY=VALUE", conflicts_with = "params")]
    pub(crate) pairs: Vec<String>,
    /// Parameters as a JSON object, as @FILE that holds one, or as - for standard input
    #[arg(long, value_name = "JSON|@FILE|-")]
    pub(crate) params: Option<String>,
    /// Apply what the tool stages, for this reason
    #[arg(long, value_name = "REASON", conflicts_with = "discard", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) apply: Option<String>,
    /// Discard what the tool stages, for this reason
    #[arg(long, value_name = "REASON", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) discard: Option<String>,
    /// Apply only if the preview has this hash
    #[arg(long, value_name = "HASH", requires = "apply", conflicts_with = "discard", value_parser = preview_hash)]
    pub(crate) expect: Option<String>,
    /// The directory that the tool works in; by default the current one
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Where what becomes of actions is put on record; by default toolhost/journal in your state directory
    #[arg(long, value_name = "DIR", env = "TOOLHOST_JOURNAL_DIR")]
    pub(crate) journal_dir: Option<PathBuf>,
    /// Print one JSON object, {result, resolved} or {error: {code, message, fix}}, and never ask
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = CONFIG_HELP)]
pub(crate) struct Config {
    /// Print one JSON object: {values, search, files}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = JOURNAL_HELP)]
pub(crate) struct Journal {
    /// The journal's directory; by default toolhost/journal in your state directory
    #[arg(long, value_name = "DIR", env = "TOOLHOST_JOURNAL_DIR")]
    pub(crate) journal_dir: Option<PathBuf>,
    /// Print one JSON object: {interrupted, sessions}
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = INSPECT_HELP)]
pub(crate) struct Inspect {
    /// The plugin's file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object: what is known of the file, loadable, and error
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = QUARANTINE_HELP)]
pub(crate) struct Quarantine {
    /// List what is in quarantine, which is what is done without options, too
    #[arg(long, conflicts_with = "lift")]
    list: bool,
    /// Let the plugins with this hash or name out of quarantine
    #[arg(long, value_name = "HASH|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) lift: Option<String>,
    /// Print one JSON object: {quarantined}, or {lifted}
    #[arg(long)]
    json: bool,
}

/// A preview's hash, in lower case.
fn preview_hash(text: &str) -> Result<String, String> {
    let no_hash = "it is no preview hash, which has 64 hexadecimal digits; copy it from the preview";
    hash(text).map_err(|_| no_hash.to_owned())
}

/// A file's hash, in lower case.
fn hash(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    Err("it is no hash of a file, which has 64 hexadecimal digits".to_owned())
}

/// Answers a command line that cannot be used, or that asks for help. Returns the exit code.
pub(crate) fn refuse(error: &clap::Error, output: Output) -> u8 {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        output.help(error);
        return output.exit_code(OK);
    }
    // What a program asked for has to be readable by it, whatever else is wrong.
    let wants_json = std::env::args_os().skip(1).take_while(|arg| arg != "--").any(|arg| arg == "--json");
    if !wants_json {
        let _ = error.print();
        return crate::error::USAGE;
    }
    let text = error.render().to_string();
    let of_help = |line: &str| line.starts_with("Usage:") || line.starts_with("For more information");
    let said = text.lines().map(str::trim).take_while(|line| !of_help(line));
    let message = said.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let message = message.trim_start_matches("error: ").to_owned();
    output.json(true).fail(&CliError::usage("usage", message, "`toolhost --help` shows how it is used"))
}
