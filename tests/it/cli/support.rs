//! What the cases have in common: a home, a run of the binary, a terminal.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{InputModes, LocalModes, OutputModes, tcgetattr};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolhost_tests::{Artifact, Fixture};

use crate::support::{ARTIFACTS, fail, text};
pub(super) use crate::support::{make_pipe, plugin};

/// Longer than anything takes; whatever is not there by then never comes.
const GUARD: Duration = Duration::from_secs(60);

/// Does what may never end.
pub(super) fn within<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(GUARD).unwrap_or_else(|_| panic!("{what} did not end"))
}

/// Ends when a tool has opened this pipe to write, and lets it go on.
pub(super) fn started(pipe: PathBuf) {
    within("the start of the tool", move || File::open(pipe).unwrap());
}

/// Ends when a tool or an apply waits at this pipe, which it does until what this returns is dropped.
pub(super) fn held(pipe: PathBuf) -> File {
    within("someone at the pipe", move || File::options().write(true).open(pipe).unwrap())
}

/// A home with nothing in it, and a directory to work in. It stays as long as a command runs in it.
pub(super) struct Home {
    directory: Arc<TempDir>,
}

impl Home {
    pub(super) fn new() -> Self {
        let home = Self { directory: Arc::new(tempfile::tempdir().unwrap()) };
        fs::create_dir(home.path("work")).unwrap();
        home
    }

    /// A path below the home.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    /// A path in the directory that commands work in.
    pub(super) fn work(&self, name: &str) -> PathBuf {
        self.path("work").join(name)
    }

    /// Writes a file into the directory that commands work in.
    pub(super) fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.work(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// A named pipe in the directory that commands work in.
    pub(super) fn pipe(&self, name: &str) -> PathBuf {
        make_pipe(&self.work(name));
        self.work(name)
    }

    /// The names in the directory that commands work in.
    pub(super) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("work")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(super) fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(ARTIFACTS.path(Artifact::Toolhost));
        command.args(args);
        self.at_home(command)
    }

    /// A shell that reads this text, and finds the command.
    pub(super) fn shell(&self, text: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", text]);
        let mut command = self.at_home(command);
        let binary = ARTIFACTS.path(Artifact::Toolhost);
        let path = env::var_os("PATH").unwrap_or_default();
        let paths = binary.parent().map(Path::to_owned).into_iter().chain(env::split_paths(&path));
        command.env("PATH", env::join_paths(paths).unwrap());
        command
    }

    fn at_home(&self, mut command: Command) -> Command {
        command.current_dir(self.path("work")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Nothing of the environment that the tests run in: it may ask for colours, or for other directories.
        command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.path("")).env("TERM", "xterm");
        command.env("XDG_CACHE_HOME", self.path("cache")).env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_DATA_DIRS", self.path("system"));
        command
    }

    pub(super) fn start(&self, mut command: Command) -> Running {
        let mut child = command.spawn().unwrap();
        // What it still holds of the other end of a pipe or terminal would keep that open.
        drop(command);
        let stdout = child.stdout.take().map(Reader::new);
        let stderr = child.stderr.take().map(Reader::new);
        Running { child, stdout, stderr, home: self.path(""), _directory: self.directory.clone() }
    }

    pub(super) fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Ran {
        self.start(self.command(args)).end()
    }

    /// Calls a tool of this plugin with these parameters and options.
    pub(super) fn call(&self, plugin: &Path, tool: &str, params: &Value, options: &[&str]) -> Ran {
        self.run(call(plugin, tool, params, options))
    }

    /// Calls `stage` with these actions and options.
    pub(super) fn stage(&self, actions: &Value, options: &[&str]) -> Ran {
        self.run(stage(actions, options))
    }

    /// Begins to call `stage`.
    pub(super) fn staging(&self, actions: &Value, options: &[&str]) -> Running {
        self.start(self.command(stage(actions, options)))
    }

    /// Calls `echo` with this plugin and these options, which have no effect on what it returns.
    pub(super) fn echo(&self, plugin: &Path, options: &[&str]) -> Ran {
        self.call(plugin, "echo", &json!({"text": "hi"}), options)
    }

    /// Runs the command with these arguments at a terminal of its own, without colours.
    pub(super) fn plainly_at_terminal(&self, args: Vec<String>) -> Terminal {
        let mut command = self.command(args);
        command.env("NO_COLOR", "1");
        self.at_terminal(command)
    }

    /// Runs the command at a terminal of its own, which does not say how wide it is.
    pub(super) fn at_terminal(&self, command: Command) -> Terminal {
        self.at_terminal_of(0, command)
    }

    /// Runs the command at a terminal of its own with so many columns.
    pub(super) fn at_terminal_of(&self, columns: u16, mut command: Command) -> Terminal {
        use rustix::fs::{Mode, OFlags, open};
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use rustix::termios::{Winsize, tcsetwinsize};

        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        tcsetwinsize(&ours, Winsize { ws_row: 0, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let theirs: OwnedFd = open(ptsname(&ours, Vec::new()).unwrap().as_c_str(), flags, Mode::empty()).unwrap();
        command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
        let control = || {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
            Ok(())
        };
        // SAFETY: it makes two system calls, and neither allocates nor takes a lock.
        unsafe { command.pre_exec(control) };
        let running = self.start(command);
        let ours = File::from(ours);
        Terminal { screen: Reader::new(ours.try_clone().unwrap()), keys: ours, running }
    }

    /// Calls `stage` with these actions at a terminal, without colours.
    pub(super) fn staging_at_terminal(&self, actions: &Value) -> Terminal {
        self.plainly_at_terminal(stage(actions, &[]))
    }
}

/// The arguments of a call.
pub(super) fn call(plugin: &Path, tool: &str, params: &Value, options: &[&str]) -> Vec<String> {
    let plugin = plugin.to_str().unwrap();
    let args = ["call", tool, "--plugin", plugin, "--params", &params.to_string()].map(str::to_owned);
    args.into_iter().chain(options.iter().map(|&option| option.to_owned())).collect()
}

/// The arguments of a call of `stage`.
pub(super) fn stage(actions: &Value, options: &[&str]) -> Vec<String> {
    call(&plugin(Fixture::Stage), "stage", &json!({"actions": actions}), options)
}

/// The arguments of a call of `ask` with these parameters and options.
pub(super) fn ask(params: &Value, options: &[&str]) -> Vec<String> {
    call(&plugin(Fixture::Asks), "ask", params, options)
}

/// An action whose apply and reject return a text.
pub(super) fn good(label: &str) -> Value {
    json!({"label": label, "source": "test", "apply": [text(&format!("{label} done: {{reason}}"))]})
}

/// An action whose apply fails with this message.
pub(super) fn bad(label: &str, message: &str) -> Value {
    json!({"label": label, "source": "test", "apply": [fail(message)]})
}

/// What `echo` prints then.
pub(super) const ECHOED: &str = "{\"text\":\"hi\",\"digit\":null}\n";

/// A running command. Whatever is left of it ends with the test.
pub(super) struct Running {
    child: Child,
    stdout: Option<Reader>,
    stderr: Option<Reader>,
    home: PathBuf,
    _directory: Arc<TempDir>,
}

impl Running {
    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Waits until it has said this on standard error.
    pub(super) fn says(&mut self, text: &str) {
        self.stderr.as_mut().unwrap().until(text);
    }

    pub(super) fn end(mut self) -> Ran {
        let rest = |reader: Option<Reader>| reader.map(Reader::rest).unwrap_or_default();
        let (stdout, stderr) = (rest(self.stdout.take()), rest(self.stderr.take()));
        Ran { pid: self.child.id(), status: self.wait(), stdout, stderr, home: self.home.clone() }
    }

    fn wait(&mut self) -> ExitStatus {
        let (sender, receiver) = mpsc::channel::<()>();
        let pid = self.pid();
        // Not reaped before the wait ends, so that the number is still the child's.
        thread::scope(|scope| {
            scope.spawn(move || {
                if receiver.recv_timeout(GUARD) == Err(RecvTimeoutError::Timeout) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            });
            let status = self.child.wait().unwrap();
            drop(sender);
            status
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What is written at the other end, as it comes.
pub(super) struct Reader {
    chunks: Receiver<Vec<u8>>,
    seen: Vec<u8>,
    found: usize,
}

impl Reader {
    fn new(mut source: impl Read + Send + 'static) -> Self {
        let (sender, chunks) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The other end of a terminal that went away is an error.
            while let Ok(read @ 1..) = source.read(&mut buffer) {
                let _ = sender.send(buffer[..read].to_vec());
            }
        });
        Self { chunks, seen: Vec::new(), found: 0 }
    }

    /// Waits until this text has come, after the one that was last waited for.
    fn until(&mut self, text: &str) {
        loop {
            let new = &self.seen[self.found..];
            if let Some(at) = new.windows(text.len()).position(|window| window == text.as_bytes()) {
                self.found += at + text.len();
                return;
            }
            match self.chunks.recv_timeout(GUARD) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(error) => panic!("no {text:?} ({error}) in {}", String::from_utf8_lossy(&self.seen)),
            }
        }
    }

    /// All that has come, up to the end.
    fn rest(mut self) -> String {
        loop {
            match self.chunks.recv_timeout(GUARD) {
                Ok(chunk) => self.seen.extend(chunk),
                Err(RecvTimeoutError::Disconnected) => return String::from_utf8(self.seen).unwrap(),
                Err(error) => panic!("no end ({error}) of {}", String::from_utf8_lossy(&self.seen)),
            }
        }
    }
}

/// A command that ended.
pub(super) struct Ran {
    pub(super) pid: u32,
    status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
    home: PathBuf,
}

impl Ran {
    /// Compares all of it. `{home}`, `{stage}` and `{hash}` stand for what differs from run to run.
    #[track_caller]
    pub(super) fn is(&self, code: i32, stdout: &str, stderr: &str) {
        let seen = (self.code(), self.masked(&self.stdout), self.masked(&self.stderr));
        assert_eq!(seen, (code, stdout.to_owned(), stderr.to_owned()), "\n{}\n{}", seen.1, seen.2);
    }

    /// Compares code and standard error, and that standard output is exactly one line with this JSON.
    #[track_caller]
    pub(super) fn is_json(&self, code: i32, json: &Value, stderr: &str) {
        let seen = (self.code(), self.masked(&self.stderr));
        assert_eq!(seen, (code, stderr.to_owned()), "\n{}", self.stdout);
        assert_eq!(self.json(), *json, "\n{:#}", self.json());
    }

    /// The exit code; for a signal its negative number.
    pub(super) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| -self.status.signal().unwrap_or_default())
    }

    /// The one line on standard output, with ids and hashes masked.
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        let line = self.stdout.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {:?}", self.stdout));
        assert!(!line.contains('\n'), "{line}");
        let mut value: Value = serde_json::from_str(&self.masked(line)).unwrap();
        mask_ids(&mut value);
        value
    }

    pub(super) fn masked(&self, text: &str) -> String {
        let home = self.home.to_str().unwrap().trim_end_matches('/');
        let text = text.replace(home, "{home}").replace(plugin(Fixture::Stage).to_str().unwrap(), "{stage}");
        let mut out = String::new();
        for piece in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
            let digits = piece.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
            out.push_str(if digits.len() == 64 { "{hash}" } else { digits });
            out.push_str(&piece[digits.len()..]);
        }
        out
    }
}

/// Actions' ids become `id`.
fn mask_ids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(id @ Value::String(_)) = fields.get_mut("id") {
                *id = json!("id");
            }
            fields.values_mut().for_each(mask_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(mask_ids),
        _ => {}
    }
}

/// How a terminal treats what is typed and what is written.
pub(super) type Modes = (InputModes, OutputModes, LocalModes);

fn modes(terminal: &File) -> Modes {
    let modes = tcgetattr(terminal).unwrap();
    (modes.input_modes, modes.output_modes, modes.local_modes)
}

/// A command at a terminal.
pub(super) struct Terminal {
    screen: Reader,
    keys: File,
    running: Running,
}

/// What is said of a signal while something is resolved.
pub(super) const APPLY_INTERRUPTED: &str = "Interrupted; waiting for what is being resolved to end.\n";

pub(super) const PROMPT: &str = "[a]pply / [d]iscard / [v]iew / [q]uit and discard: ";
pub(super) const REASON: &str = "Reason (Enter for \"decided at the terminal\"): ";
pub(super) const ENTER: &str = "\n";
pub(super) const CTRL_C: &str = "\u{3}";
pub(super) const CTRL_D: &str = "\u{4}";

impl Terminal {
    /// Waits until this stands on the screen.
    pub(super) fn shows(&mut self, text: &str) {
        self.screen.until(text);
    }

    pub(super) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits until this stands on the screen, then types.
    pub(super) fn at(&mut self, text: &str, keys: &str) {
        self.shows(text);
        self.types(keys);
    }

    /// Waits for the prompt, then answers.
    pub(super) fn answer(&mut self, answer: &str) {
        self.at(PROMPT, &format!("{answer}\n"));
    }

    /// How the terminal treats what is typed and what is written.
    pub(super) fn modes(&self) -> Modes {
        modes(&self.keys)
    }

    /// What was on the screen in the end, with one kind of line's end, and the exit code.
    pub(super) fn end(self) -> (i32, String) {
        let (code, screen, _) = self.end_with_modes();
        (code, screen)
    }

    /// The same, with how the terminal is left.
    pub(super) fn end_with_modes(self) -> (i32, String, Modes) {
        let Self { screen, keys, running } = self;
        let screen = screen.rest();
        let modes = modes(&keys);
        drop(keys);
        let ran = running.end();
        (ran.code(), ran.masked(&screen.replace("\r\n", "\n")), modes)
    }

    /// Compares all of it.
    #[track_caller]
    pub(super) fn is(self, code: i32, screen: &str) {
        let seen = self.end();
        assert_eq!(seen, (code, screen.to_owned()), "\n{}", seen.1);
    }
}
