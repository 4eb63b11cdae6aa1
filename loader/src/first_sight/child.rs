use std::fs;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::runtime::Builder;
use toolhost_core::{Session, SessionOptions, ToolDefinition};

use super::wire::{Answer, FORMAT, Request};
use crate::adapter::{Entry, Failed, Made, create, open};
use crate::cache::Staged;
use crate::load::Loaded;
use crate::trust::Guard;
use crate::watch::Mark;
use crate::{LoadLimits, PluginInfo};

/// Looks at a plugin for a host of the same program: reads what to look at from standard input, opens it, runs its
/// factory, and leaves the answer where the host looks for it. For a process that was started as [`FirstSight`] says; it
/// should end right after this without running destructors, which may be the plugin's.
///
/// The process gets limits that cannot be lifted again, and whatever the plugin does happens to it: it may not return.
///
/// # Errors
///
/// Where standard input is no request, or the answer cannot be written. What is wrong with the plugin is the answer.
///
/// [`FirstSight`]: super::FirstSight
pub fn answer_first_sight() -> io::Result<()> {
    let mut json = Vec::new();
    io::stdin().lock().read_to_end(&mut json)?;
    let request: Request = serde_json::from_slice(&json)?;
    if request.format != FORMAT {
        return Err(io::Error::other(format!("the request has format {}, and not {FORMAT}", request.format)));
    }
    confine(&request)?;
    let answer = look(&request)?;
    fs::write(&request.answer.0, serde_json::to_vec(&answer)?)
}

fn confine(request: &Request) -> io::Result<()> {
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::As, limit(request.memory))?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, Pid, Signal, getppid, set_dumpable_behavior};
        // A core dump that goes to another program heeds no limit.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid().map(Pid::as_raw_pid) != Some(request.parent) {
            return Err(io::Error::other("the process that asked is gone"));
        }
    }
    Ok(())
}

fn look(request: &Request) -> io::Result<Answer> {
    let Ok(root) = open(&Staged::at(request.copy.0.clone())).and_then(|library| library.root(&request.metadata, false))
    else {
        return Ok(Answer::Refused);
    };
    let info = PluginInfo::new(&request.file.0, request.fingerprint.clone(), request.metadata.clone());
    let entry = Entry::library(root, Mark::default());
    let plugin = Arc::new(Loaded::open(info, Guard::default(), request.config.clone(), entry));
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let session = Session::new(SessionOptions::new("first-sight"), runtime.handle().clone());
    let limits = LoadLimits::default()
        .with_factory(Duration::from_millis(request.factory_ms))
        .with_tools(request.tools)
        .with_definition_bytes(request.definition_bytes);
    let made = runtime.block_on(create(&plugin, &session, runtime.handle(), &limits));
    let answer = match made {
        Ok(made) => said(&made).map_or(Answer::Refused, Answer::Tools),
        Err(Failed::TimedOut) => Answer::TimedOut,
        Err(_) => Answer::Refused,
    };
    // Neither is ended: what a plugin does at the end is none of what was asked.
    std::mem::forget(session);
    std::mem::forget(runtime);
    Ok(answer)
}

fn said(made: &[Made]) -> Option<Vec<ToolDefinition>> {
    made.iter().map(|tool| tool.as_ref().ok().map(|tool| tool.definition().clone())).collect()
}
