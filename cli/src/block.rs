//! `toolhost block` and `toolhost unblock`.

use std::path::Path;

use serde_json::{Value, json};
use toolhost_loader::Block;

use crate::args;
use crate::error::{CliError, OK};
use crate::output::{BOLD, Output};
use crate::places;
use crate::plain::plain_line;

pub(crate) fn run(args: &args::Block, output: &Output) -> Result<u8, CliError> {
    let (Some(target), Some(reason)) = (&args.target, &args.reason) else {
        return list(output);
    };
    let list = places::blocks(args.system)?;
    let block = Block::new(target.clone(), reason);
    let before = list.block(block.clone())?;
    if output.is_json() {
        output.print_json(&json!({"blocked": as_json(&block, list.path())}));
    } else {
        let before = before.map(|before| format!(" (before: {})", plain_line(&before.reason))).unwrap_or_default();
        output.print(&format!("Blocked: {target}: {}{before}", plain_line(reason)));
    }
    Ok(OK)
}

pub(crate) fn unblock(args: &args::Unblock, output: &Output) -> Result<u8, CliError> {
    let list = places::blocks(args.system)?;
    let Some(gone) = list.unblock(&args.target)? else {
        let message = format!("`{}` does not stand on {}", args.target, list.path().display());
        let fix = "`toolhost block --list` shows what does; --system takes it off the list for all users";
        return Err(CliError::usage("not-blocked", message, fix));
    };
    if output.is_json() {
        output.print_json(&json!({"unblocked": as_json(&gone, list.path())}));
    } else {
        output.print(&format!(
            "Not blocked any more: {} ({})",
            plain_line(&gone.target.to_string()),
            plain_line(&gone.reason)
        ));
    }
    Ok(OK)
}

fn list(output: &Output) -> Result<u8, CliError> {
    let mut blocked = Vec::new();
    for list in places::all_blocks() {
        blocked.extend(list.blocks()?.into_iter().map(|block| (list.path().to_owned(), block)));
    }
    if output.is_json() {
        let blocked: Vec<_> = blocked.iter().map(|(list, block)| as_json(block, list)).collect();
        output.print_json(&json!({"blocked": blocked}));
    } else if blocked.is_empty() {
        output.note("Nothing is blocked.");
    } else {
        let line = |(list, block): &(std::path::PathBuf, Block)| {
            let [target, reason] = [&block.target.to_string(), &block.reason].map(|text| plain_line(text));
            let since = block.since.map(|since| format!("since {since}, ")).unwrap_or_default();
            format!("{BOLD}{target}{BOLD:#}: {reason}\n  {since}in {}", plain_line(&list.to_string_lossy()))
        };
        output.print(&blocked.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    Ok(OK)
}

fn as_json(block: &Block, list: &Path) -> Value {
    let mut object = json!(block);
    object["list"] = json!(list.to_string_lossy());
    object
}
