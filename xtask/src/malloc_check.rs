//! `cargo xtask malloc-check`: the integration tests on a heap that the C library checks with every call.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::build::{Build, DEBUG_HEAP};
use crate::scenario::{PACKAGE, Scenario};
use crate::shell::command_line;

/// The modules of a slice: memory goes to and fro between host and plugin in all of them.
const SLICE: &[&str] = &["allocator::", "calls::", "flight::", "locals::", "resolve::", "versions::"];

/// Runs the integration tests, or a slice of them, with the checks of the GNU C library.
///
/// # Errors
///
/// When the tests cannot be built, the checks do not work, or a test fails.
pub fn run(out: &mut dyn Write, slice: bool) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        writeln!(out, "malloc-check does not apply here: only the GNU C library on Linux checks its heap")?;
        return Ok(());
    }
    eprintln!("Building the tests; the first time this takes some minutes ...");
    notices(&mut Scenario::build()?.command(["overrun"]))?;

    let manifest_path = crate::workspace_manifest();
    let tests = Build::new(&manifest_path).package(PACKAGE).unified().locked().test("it")?;
    let mut command = Command::new(tests);
    command.current_dir(manifest_path.with_file_name("tests"));
    if slice {
        command.args(SLICE);
    }
    checked(&mut command);
    let line = command_line(&command);
    out.flush()?;
    let status = command.status().with_context(|| format!("could not run {line}"))?;
    if !status.success() {
        // A process that the C library has ended leaves an unfinished line.
        bail!("\nthe tests failed ({status}); the output above says why\ncommand: {}", shown(&line));
    }
    Ok(())
}

/// Turns the checks on. Since glibc 2.34 they are in a library of their own; before, it is not there, and not needed.
fn checked(command: &mut Command) {
    command.envs(DEBUG_HEAP).stdin(Stdio::null());
}

/// The command line with what turns the checks on.
fn shown(line: &str) -> String {
    let settings: String = DEBUG_HEAP.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    settings + line
}

/// Shows that the checks are at work: this command does something wrong to the heap, and must be ended for it.
fn notices(wrong: &mut Command) -> Result<()> {
    let line = command_line(wrong);
    checked(wrong);
    let output = wrong.output().with_context(|| format!("could not run {line}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && stderr.contains("free(): invalid pointer"),
        "the C library does not notice what is wrong on purpose ({}): is libc_malloc_debug.so.0 there?\ncommand: {}\n\
         {stderr}",
        output.status,
        shown(&line)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_can_be_repeated() {
        let expected = "LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 MALLOC_PERTURB_=165 it calls::";
        assert_eq!(shown("it calls::"), expected);
    }

    #[test]
    fn a_heap_that_notices_nothing_is_an_error() {
        let error = notices(Command::new("true").arg("overrun")).unwrap_err().to_string();
        let expected = "the C library does not notice what is wrong on purpose (exit status: 0): is \
            libc_malloc_debug.so.0 there?\ncommand: LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3 \
            MALLOC_PERTURB_=165 true overrun\n";
        assert_eq!(error, expected);
    }
}
