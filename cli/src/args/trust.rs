//! The commands that decide which plugins may run.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use toolhost_loader::BlockTarget;

use super::hash;

const TRUST_HELP: &str = "\
Examples:
  toolhost trust .toolhost/plugins/libweb_tools.so
  toolhost trust libweb_tools.so --yes HASH
  toolhost trust --list

It shows what the file says of itself and asks. Nothing of the plugin runs.
Trust is by the hash of the content: a changed file must be trusted again.
Without a terminal, give the hash with --yes.

Exit codes:
  0    it is trusted
  1    you said no, or it cannot be put on record
  2    wrong usage, no plugin, or nobody to ask and no --yes
  4    --yes has another hash than the file";

const UNTRUST_HELP: &str = "\
Examples:
  toolhost untrust .toolhost/plugins/libweb_tools.so
  toolhost untrust web-tools

A file loses also the trust that its content has under other paths. A path
has a slash in it, or is that of a file that is there.";

const BLOCK_HELP: &str = "\
Examples:
  toolhost block web-tools@1.2.0 --reason \"leaks its settings\"
  toolhost block HASH --reason \"was tampered with\"
  toolhost block --list

What is blocked is neither loaded nor called, whoever trusts it, also where
it is named with --plugin. A hash may be that of any file of a plugin, as
`sha256sum` prints it.";

const UNBLOCK_HELP: &str = "\
Example:
  toolhost unblock web-tools@1.2.0";

const INSTALL_HELP: &str = "\
Examples:
  toolhost install target/release/libweb_tools.so
  toolhost install libweb_tools.so --yes HASH

It shows what the file says of itself and asks once; then the plugin, with
the libraries that it brings, is copied into your directory of plugins and
trusted. Nothing of it runs. Without a terminal, give the hash with --yes.

Exit codes:
  0    it is installed
  1    you said no, or it cannot be installed
  2    wrong usage, no plugin, something else in its place, or nobody to
       ask and no --yes
  3    it is blocked
  4    --yes has another hash than the file";

const REMOVE_HELP: &str = "\
Example:
  toolhost remove web-tools

It takes away the files that `toolhost install` put there, where they are
still the same, and their trust. Without a terminal, give --yes.";

#[derive(Debug, clap::Args)]
#[command(after_help = TRUST_HELP)]
pub(crate) struct Trust {
    /// The plugin's file
    #[arg(required_unless_present = "list")]
    pub(crate) file: Option<PathBuf>,
    /// Trust it unasked, if this is its hash
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub(crate) yes: Option<String>,
    /// Show what is trusted
    #[arg(long, conflicts_with_all = ["file", "yes"])]
    pub(crate) list: bool,
    /// Print one JSON object: {plugin, trusted}, or {trusted} for the list
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = UNTRUST_HELP)]
pub(crate) struct Untrust {
    /// The plugin's file, its hash, or its name
    #[arg(value_name = "FILE|HASH|NAME")]
    pub(crate) target: PathBuf,
    /// Print one JSON object: {untrusted}
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = BLOCK_HELP)]
pub(crate) struct Block {
    /// What to block
    #[arg(value_name = "HASH|NAME[@VERSION]", required_unless_present = "list", requires = "reason")]
    pub(crate) target: Option<BlockTarget>,
    /// Why; whoever wants to use it gets to read this
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reason: Option<String>,
    /// Block it for all users of this system
    #[arg(long)]
    pub(crate) system: bool,
    /// Show what is blocked
    #[arg(long, conflicts_with_all = ["target", "reason", "system"])]
    pub(crate) list: bool,
    /// Print one JSON object: {blocked}
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = UNBLOCK_HELP)]
pub(crate) struct Unblock {
    /// What is blocked, as it stands on the list
    #[arg(value_name = "HASH|NAME[@VERSION]")]
    pub(crate) target: BlockTarget,
    /// Take it off the list for all users of this system
    #[arg(long)]
    pub(crate) system: bool,
    /// Print one JSON object: {unblocked}
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct Install {
    /// The plugin's file
    pub(crate) file: PathBuf,
    /// Install it unasked, if this is its hash
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub(crate) yes: Option<String>,
    /// Replace what is in its place, also where that is something else
    #[arg(long)]
    pub(crate) replace: bool,
    /// Print one JSON object: {plugin, installed, path, replaced}
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = REMOVE_HELP)]
pub(crate) struct Remove {
    /// The plugin's name
    pub(crate) name: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print one JSON object: {plugin, version, removed, left}
    #[arg(long)]
    pub(super) json: bool,
}
