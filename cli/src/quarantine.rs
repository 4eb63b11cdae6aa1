//! `toolhost quarantine`: plugins that are not loaded, since they end their process.

use serde_json::json;
use toolhost_loader::StateError;

use crate::args;
use crate::blame::{self, Held};
use crate::error::{CliError, OK};
use crate::output::{BOLD, Output};
use crate::plain::plain_line;

pub(crate) fn run(args: &args::Quarantine, output: &Output) -> Result<u8, CliError> {
    let Some(directory) = blame::directory() else {
        let fix = "set HOME or XDG_STATE_HOME";
        return Err(CliError::usage("quarantine", "this user has no state directory for a quarantine", fix));
    };
    let quarantine = blame::settle(&directory);
    let failed = |error: StateError| CliError::usage("quarantine", error.to_string(), error.fix());
    let Some(plugin) = &args.lift else {
        list(&quarantine.held().map_err(failed)?, output);
        return Ok(OK);
    };
    let lifted = quarantine.lift(plugin).map_err(failed)?;
    if lifted.is_empty() {
        let fix = "`toolhost quarantine --list` shows the plugins that are, with their names and hashes";
        return Err(CliError::usage("not-quarantined", format!("`{plugin}` is not in quarantine"), fix));
    }
    if output.is_json() {
        output.print_json(&json!({"lifted": lifted}));
    } else {
        let line = |held: &Held| format!("Out of quarantine: {}, SHA-256 {}", plain_line(&held.name), held.hash);
        output.print(&lifted.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    Ok(OK)
}

fn list(held: &[Held], output: &Output) {
    if output.is_json() {
        output.print_json(&json!({"quarantined": held}));
    } else if held.is_empty() {
        output.note("No plugin is in quarantine.");
    } else {
        let text = |held: &Held| {
            let [name, reason, path] = [&held.name, &held.reason, &held.path].map(|text| plain_line(text));
            format!("{BOLD}{name}{BOLD:#}: {reason}\n  since {}, {path}\n  SHA-256 {}", held.since, held.hash)
        };
        output.print(&held.iter().map(text).collect::<Vec<_>>().join("\n"));
    }
}
