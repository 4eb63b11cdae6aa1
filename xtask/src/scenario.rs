//! The example `scenario` of the tests: a host that puts a plugin through everything, in a process of its own.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::build::Build;
use crate::shell::command_line;

/// The package with the example and with the integration tests.
pub(crate) const PACKAGE: &str = "toolhost-tests";

/// The built example.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    program: PathBuf,
}

impl Scenario {
    /// Builds it, or finds it built by `cargo test --workspace`.
    pub(crate) fn build() -> Result<Self> {
        let build = Build::new(crate::workspace_manifest()).package(PACKAGE).unified().locked();
        Ok(Self { program: build.example("scenario")? })
    }

    /// The command that runs it with these arguments.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args);
        command
    }
}

/// Runs a command to its end. Returns what it printed to stdout.
///
/// # Errors
///
/// When it cannot be run or fails; the error has all of its output, and the command.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let line = command_line(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("could not run it\ncommand: {line}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{}\ncommand: {line}\n{stdout}{stderr}", output.status);
    }
    Ok(stdout.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_was_printed_is_returned() {
        assert_eq!(run(&mut shell("echo out; echo err >&2")).unwrap(), "out\n");
    }

    #[test]
    fn a_failure_has_status_command_and_output() {
        let error = run(&mut shell("echo out; echo err >&2; exit 3")).unwrap_err().to_string();
        assert_eq!(error, "exit status: 3\ncommand: sh -c 'echo out; echo err >&2; exit 3'\nout\nerr\n");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = format!("{:#}", run(&mut Command::new("./no-such-program")).unwrap_err());
        assert!(error.starts_with("could not run it\ncommand: ./no-such-program: "), "{error}");
    }
}
