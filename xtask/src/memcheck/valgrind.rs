//! Valgrind: whether it is there, how it is installed, how a program is run under it.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::command_line;

/// What valgrind exits with when it has found something. The scenario fails with other codes.
const FOUND: i32 = 99;

const OPTIONS: [&str; 6] = [
    "--error-exitcode=99",
    "--leak-check=full",
    // Threads that run to the end of the process, and libraries that are never closed, still hold what they made.
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--num-callers=40",
    // Else one thread may be starved by the others.
    "--fair-sched=try",
];

/// How Debian and what descends from it install valgrind. It needs the symbols of the C library.
const INSTALL: [&[&str]; 2] = [&["update"], &["install", "--yes", "--no-install-recommends", "valgrind", "libc6-dbg"]];

/// An installed valgrind.
#[derive(Debug)]
pub(super) struct Valgrind {
    program: String,
}

impl Valgrind {
    /// Finds it, or installs it if it may.
    pub(super) fn find(install: bool) -> Result<Self> {
        find("valgrind", "apt-get", install)
    }

    /// The command that runs this one under valgrind.
    pub(super) fn command(&self, checked: &Command) -> Command {
        let mut command = Command::new(&self.program);
        command.args(OPTIONS).arg("--").arg(checked.get_program()).args(checked.get_args());
        command
    }

    /// Shows that it is at work: it finds this in a program that is wrong on purpose.
    pub(super) fn finds(&self, wrong: &Command, finding: &str) -> Result<()> {
        let mut command = self.command(wrong);
        let line = command_line(&command);
        let output = command.stdin(Stdio::null()).output().with_context(|| format!("could not run {line}"))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.code() == Some(FOUND) && stderr.contains(finding),
            "valgrind does not find what is wrong on purpose: `{finding}` ({})\ncommand: {line}\n{stderr}",
            output.status
        );
        Ok(())
    }
}

fn find(program: &str, apt_get: &str, install: bool) -> Result<Valgrind> {
    if !is_there(program) {
        let how = INSTALL.map(|args| format!("{apt_get} {}", args.join(" "))).join(" && ");
        ensure!(
            install,
            "valgrind is not installed; let `cargo xtask memcheck --install` do it, or run as root: {how}"
        );
        ensure!(
            is_there(apt_get),
            "valgrind is not installed, and neither is {apt_get}: install it in this system's way"
        );
        for args in INSTALL {
            apt(apt_get, args).with_context(|| format!("could not install valgrind; run as root: {how}"))?;
        }
        ensure!(is_there(program), "{apt_get} has installed valgrind, but it does not run");
    }
    Ok(Valgrind { program: program.to_owned() })
}

fn is_there(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn apt(apt_get: &str, args: &[&str]) -> Result<()> {
    let mut command = Command::new(apt_get);
    // It asks nothing, and our own stdout is for the results.
    command.args(args).env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null()).stdout(std::io::stderr());
    let status = command.status()?;
    if !status.success() {
        bail!("{} failed ({status})", command_line(&command));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A program of this name that runs the script.
    fn program(directory: &TempDir, name: &str, script: &str) -> String {
        let (text, program) = (directory.path().join("text"), directory.path().join(name));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).unwrap();
        // Copied by another process: one that this process has open for writing may be busy.
        let copied =
            Command::new("sh").args(["-c", r#"cp "$0" "$1" && chmod +x "$1""#]).arg(&text).arg(&program).status();
        assert!(copied.unwrap().success());
        program.to_str().unwrap().to_owned()
    }

    fn missing(directory: &TempDir) -> String {
        directory.path().join("missing").to_str().unwrap().to_owned()
    }

    fn error(found: Result<Valgrind>) -> String {
        format!("{:#}", found.unwrap_err())
    }

    #[test]
    fn one_that_is_there_is_not_installed() {
        let directory = tempfile::tempdir().unwrap();
        let valgrind = program(&directory, "valgrind", "exit 0");
        let found = find(&valgrind, &missing(&directory), false).unwrap();
        let line = command_line(&found.command(Command::new("scenario").args(["run", "a b"])));
        assert!(line.ends_with(" -- scenario run 'a b'"), "{line}");
    }

    #[test]
    fn one_that_is_missing_is_installed_only_where_that_was_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let error = error(find(&missing(&directory), "apt-get", false));
        let expected = "valgrind is not installed; let `cargo xtask memcheck --install` do it, or run as root: \
            apt-get update && apt-get install --yes --no-install-recommends valgrind libc6-dbg";
        assert_eq!(error, expected);
    }

    #[test]
    fn it_is_installed_by_apt_get() {
        let directory = tempfile::tempdir().unwrap();
        let (valgrind, log) = (missing(&directory), directory.path().join("log"));
        let script = format!(
            "echo \"$@\" >> {0}; [ \"$1\" != install ] || {{ printf '#!/bin/sh\\n' > {1}; chmod +x {1}; }}",
            log.display(),
            valgrind
        );
        find(&valgrind, &program(&directory, "apt-get", &script), true).unwrap();
        let expected = "--version\nupdate\ninstall --yes --no-install-recommends valgrind libc6-dbg\n";
        assert_eq!(fs::read_to_string(log).unwrap(), expected);
    }

    #[test]
    fn without_apt_get_or_where_it_fails_the_error_says_what_to_do() {
        let directory = tempfile::tempdir().unwrap();
        let missing = missing(&directory);
        let without = error(find(&missing, &missing, true));
        assert!(without.ends_with("install it in this system's way"), "{without}");
        let apt_get = program(&directory, "apt-get", "[ \"$1\" = --version ]");
        let fails = error(find(&missing, &apt_get, true));
        assert!(fails.starts_with("could not install valgrind; run as root: "), "{fails}");
        assert!(fails.ends_with("apt-get update failed (exit status: 1)"), "{fails}");
    }

    #[test]
    fn one_that_finds_nothing_is_no_use() {
        let directory = tempfile::tempdir().unwrap();
        let finds = |script| {
            let valgrind = Valgrind { program: program(&directory, "valgrind", script) };
            valgrind.finds(&Command::new("wrong"), "definitely lost")
        };
        finds("echo 40 bytes are definitely lost >&2; exit 99").unwrap();
        for script in ["exit 99", "echo definitely lost >&2", "echo definitely lost >&2; exit 1"] {
            let error = finds(script).unwrap_err().to_string();
            assert!(error.starts_with("valgrind does not find what is wrong on purpose"), "{error}");
        }
    }
}
