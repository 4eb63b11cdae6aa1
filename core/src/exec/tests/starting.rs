//! Where programs are found and run, and why they are not.

use toolhost_protocol::JsonPath;

use super::*;

/// Written by another process: a file cannot be run while a process has it open for writing, such as one that another
/// test is just starting.
fn script(path: &Path, text: &str) {
    let write = r#"printf %s "$2" >"$1" && chmod 755 "$1""#;
    let wrote = Command::new("sh").args(["-c", write, "sh"]).arg(path).arg(text).status().unwrap();
    assert!(wrote.success());
}

/// A directory by its real path, as programs print it.
fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

fn inside(path: impl Into<PathBuf>, mut request: ExecRequest) -> ExecRequest {
    request.cwd = Some(JsonPath(path.into()));
    request
}

#[tokio::test]
async fn a_directory_starts_at_the_sessions_own() {
    let (_kept, session) = directory();
    fs::create_dir(session.join("inner")).unwrap();
    let pwd = async |cwd: Option<&Path>| {
        let mut asked = request("/bin/pwd", []);
        asked.cwd = cwd.map(JsonPath::from);
        let result = LocalExec::new().run(caller(&session), asked).await.unwrap();
        PathBuf::from(String::from_utf8(result.stdout.0).unwrap().trim_end())
    };
    assert_eq!(pwd(None).await, session);
    assert_eq!(pwd(Some(Path::new("inner"))).await, session.join("inner"));
    assert_eq!(pwd(Some(Path::new("/"))).await, Path::new("/"));
}

#[tokio::test]
async fn a_relative_path_starts_at_the_programs_directory_and_is_its_name() {
    let (_kept, path) = directory();
    fs::create_dir(path.join("bin")).unwrap();
    script(&path.join("bin/hello"), "#!/bin/sh\nprintf hello");
    std::os::unix::fs::symlink("/bin/sh", path.join("bin/sh")).unwrap();
    assert_eq!(ended(inside(&path, request("bin/hello", []))).await, ended_with(0, "hello", ""));
    assert_eq!(ended(inside(path.join("bin"), request("./hello", []))).await, ended_with(0, "hello", ""));
    let named = request("bin/sh", ["-c", "printf %s \"$0\""]);
    assert_eq!(ended(inside(&path, named)).await, ended_with(0, "bin/sh", ""));
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_path_that_the_program_gets() {
    let (_kept, path) = directory();
    script(&path.join("only-here"), "#!/bin/sh\nprintf found");
    let mut asked = request("only-here", []);
    let text = format!(
        "`only-here` was not run: it is in none of the directories of PATH, which is {:?}; install it, or give its path",
        std::env::var("PATH").unwrap()
    );
    assert_eq!(refused(asked.clone()).await, text);
    asked.env.insert("PATH".to_owned(), Some(path.as_os_str().into()));
    assert_eq!(ended(asked.clone()).await, ended_with(0, "found", ""));

    asked.env.insert("PATH".to_owned(), None);
    let text = "`only-here` was not run: it is in none of the system's own directories, and PATH is not set; set it, \
                or give the program's path";
    assert_eq!(refused(asked).await, text);
    let mut own = sh("printf found");
    own.env.insert("PATH".to_owned(), None);
    assert_eq!(ended(own).await, ended_with(0, "found", ""));
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_told_from_a_program_that_is_not() {
    let (_kept, path) = directory();
    let shown = path.display();
    let text = format!("`true` was not run: there is no directory `{shown}/none`; create it, or name another `cwd`");
    assert_eq!(refused(inside(path.join("none"), request("true", []))).await, text);
    let text = format!("`./a` was not run: there is no file `{shown}/./a`; give the program's path");
    assert_eq!(refused(inside(&path, request("./a", []))).await, text);
    fs::write(path.join("file"), "").unwrap();
    let text = format!("`true` was not run: `{shown}/file` is no directory; name one as `cwd`");
    assert_eq!(refused(inside(path.join("file"), request("true", []))).await, text);
}

#[tokio::test]
async fn what_cannot_be_executed_is_told_apart() {
    let (_kept, path) = directory();
    let shown = path.display();
    fs::write(path.join("data"), "data").unwrap();
    let text = "`./data` was not run: it may not be executed; `chmod +x` allows it, if it is a program";
    assert_eq!(refused(inside(&path, request("./data", []))).await, text);
    script(&path.join("data"), "data");
    let text = "`./data` was not run: it is neither a program for this machine nor a script that begins with `#!`";
    assert_eq!(refused(inside(&path, request("./data", []))).await, text);
    script(&path.join("data"), "#!/nowhere/sh\n");
    let text = format!(
        "`./data` was not run: `{shown}/./data` is there, but what its first line names to run it with is not; install \
         that, or mend the line"
    );
    assert_eq!(refused(inside(&path, request("./data", []))).await, text);
    let text = format!("`./` was not run: `{shown}/./` is a directory; give the program's path");
    assert_eq!(refused(inside(&path, request("./", []))).await, text);
}

#[tokio::test]
async fn a_request_that_cannot_be_one_is_refused() {
    assert_eq!(refused(request("", [])).await, "nothing was run: `command` is empty; name a program");
    let text = r#"nothing was run: the program's name, "a\0b", has a NUL character"#;
    assert_eq!(refused(request("a\0b", [])).await, text);
    let text = "`true` was not run: argument 2 has a NUL character; pass such data on standard input";
    assert_eq!(refused(request("true", ["a", "b\0"])).await, text);
    let text = "`true` was not run: the name of its directory, `cwd`, has a NUL character";
    assert_eq!(refused(inside("a\0", request("true", []))).await, text);
    let mut asked = request("true", []);
    asked.env.insert("A=B".to_owned(), None);
    let text = "`true` was not run: \"A=B\" is no name for a variable: it is empty, or has a `=` or a NUL character";
    assert_eq!(refused(asked).await, text);
    let long = "x".repeat(64 * 1024 * 1024);
    let text = "`true` was not run: its arguments and variables are too long for this system; pass long data on \
                standard input";
    assert_eq!(refused(request("true", [&long])).await, text);
}
