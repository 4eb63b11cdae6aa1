//! What is to be run, and why it cannot be.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use toolhost_protocol::Failure;
use toolhost_protocol::service::ExecRequest;

use super::environment::Environment;
use super::failed;

/// A program with its arguments, directory and variables.
pub(super) struct Program {
    name: String,
    command: Command,
    directory: PathBuf,
    /// Where the program is; `None` where it is looked up in `PATH`.
    place: Option<PathBuf>,
    path_variable: Option<OsString>,
}

impl Program {
    /// The program of a request, in a session with this working directory.
    pub(super) fn new(environment: &Environment, cwd: &Path, request: &ExecRequest) -> Result<Self, Failure> {
        let named = request.command.as_os_str();
        let name = named.to_string_lossy().into_owned();
        if named.is_empty() {
            return Err(failed("nothing was run: `command` is empty; name a program"));
        }
        if has_nul(named) {
            return Err(failed(format!("nothing was run: the program's name, {name:?}, has a NUL character")));
        }
        Self::of(&name, environment, cwd, request).map_err(|why| not_run(&name, &why))
    }

    fn of(name: &str, environment: &Environment, cwd: &Path, request: &ExecRequest) -> Result<Self, String> {
        if let Some(at) = request.args.iter().position(|argument| has_nul(argument.as_os_str())) {
            return Err(format!("argument {} has a NUL character; pass such data on standard input", at + 1));
        }
        let directory = request.cwd.as_ref().map_or_else(|| cwd.to_owned(), |path| cwd.join(&path.0));
        if has_nul(directory.as_os_str()) {
            return Err("the name of its directory, `cwd`, has a NUL character".to_owned());
        }
        let directory = std::path::absolute(&directory).unwrap_or(directory);
        let variables = environment.with(&request.env)?;
        let path_variable = variables.get(OsStr::new("PATH")).cloned();

        let named = request.command.as_os_str();
        // Where the standard library starts a relative path differs between systems.
        let place = named.as_encoded_bytes().contains(&b'/').then(|| directory.join(named));
        let mut command = Command::new(place.as_deref().map_or(named, Path::as_os_str));
        command
            .arg0(named)
            .args(request.args.iter().map(|argument| argument.as_os_str()))
            .current_dir(&directory)
            .env_clear()
            .envs(variables)
            .stdin(if request.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        Ok(Self { name: name.to_owned(), command, directory, place, path_variable })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn command(&mut self) -> &mut Command {
        &mut self.command
    }

    /// Says what a person can mend. The system's own error does not tell a missing directory from a missing program.
    pub(super) fn not_started(&self, error: &io::Error) -> Failure {
        let missing = error.kind() == io::ErrorKind::NotFound;
        let directory = self.directory.display();
        // The dot is found only by who may enter the directory.
        match self.directory.join(".").metadata() {
            Err(unusable) if unusable.kind() == io::ErrorKind::NotFound => {
                return self.not_run(format!("there is no directory `{directory}`; create it, or name another `cwd`"));
            }
            Err(unusable) if unusable.kind() == io::ErrorKind::NotADirectory => {
                return self.not_run(format!("`{directory}` is no directory; name one as `cwd`"));
            }
            Err(unusable) => {
                return self.not_run(format!("the directory `{directory}` cannot be used: {unusable}"));
            }
            Ok(_) => {}
        }
        let why = match (&self.place, Errno::from_io_error(error)) {
            (None, _) if missing => self.not_in_path(),
            (Some(place), _) if missing && place.exists() => format!(
                "`{}` is there, but what its first line names to run it with is not; install that, or mend the line",
                place.display()
            ),
            (Some(place), _) if missing => format!("there is no file `{}`; give the program's path", place.display()),
            (Some(place), Some(Errno::ACCESS)) if place.is_dir() => {
                format!("`{}` is a directory; give the program's path", place.display())
            }
            (_, Some(Errno::ACCESS)) => "it may not be executed; `chmod +x` allows it, if it is a program".to_owned(),
            (_, Some(Errno::NOEXEC)) => {
                "it is neither a program for this machine nor a script that begins with `#!`".to_owned()
            }
            (_, Some(Errno::TOOBIG)) => {
                "its arguments and variables are too long for this system; pass long data on standard input".to_owned()
            }
            _ => error.to_string(),
        };
        self.not_run(why)
    }

    fn not_in_path(&self) -> String {
        match &self.path_variable {
            Some(path) => format!(
                "it is in none of the directories of PATH, which is {:?}; install it, or give its path",
                path.to_string_lossy()
            ),
            None => "it is in none of the system's own directories, and PATH is not set; set it, or give the \
                     program's path"
                .to_owned(),
        }
    }

    fn not_run(&self, why: impl AsRef<str>) -> Failure {
        not_run(&self.name, why.as_ref())
    }
}

fn not_run(program: &str, why: &str) -> Failure {
    failed(format!("`{program}` was not run: {why}"))
}

fn has_nul(text: &OsStr) -> bool {
    text.as_encoded_bytes().contains(&0)
}
