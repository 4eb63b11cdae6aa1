use std::fs;

use super::*;

/// A workspace without dependencies, so that it builds offline and in a moment.
fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let package = |name: &str| format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    let both = "[lib]\ncrate-type = [\"rlib\", \"cdylib\"]\n";
    write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"base\", \"upper\", \"broken\"]\n");
    write("base/Cargo.toml", &format!("{}{both}", package("base")));
    write("base/src/lib.rs", "");
    write("upper/Cargo.toml", &format!("{}{both}[dependencies]\nbase = {{ path = \"../base\" }}\n", package("upper")));
    write("upper/src/lib.rs", "");
    write("upper/src/main.rs", "fn main() {}");
    write("upper/examples/shown.rs", "fn main() {}");
    write("upper/tests/checks.rs", "#[test] fn passes() {}");
    write("broken/Cargo.toml", &package("broken"));
    write("broken/src/main.rs", "fn main() { 1 + }");
    root
}

fn build(root: &tempfile::TempDir, package: &str) -> Build {
    Build::new(root.path().join("Cargo.toml")).package(package).target_dir(root.path().join("out"))
}

#[test]
fn returns_the_files_of_the_named_package() {
    let root = workspace();
    let library = build(&root, "upper").cdylib().unwrap();
    assert!(library.is_file() && library.starts_with(root.path().join("out")), "{}", library.display());
    assert_eq!(library.file_name().unwrap().to_str().unwrap(), library_name("upper"));
    // The second time there is nothing to compile, and cargo names the files all the same.
    assert_eq!(build(&root, "upper").cdylib().unwrap(), library);

    let program = build(&root, "upper").profile(Profile::Release).locked().bin("upper").unwrap();
    assert!(Command::new(program).status().unwrap().success());
}

#[test]
fn examples_and_integration_tests_are_programs_too() {
    let root = workspace();
    assert!(Command::new(build(&root, "upper").example("shown").unwrap()).status().unwrap().success());
    let output = Command::new(build(&root, "upper").test("checks").unwrap()).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("test passes ... ok"), "{stdout}");
}

fn library_name(name: &str) -> String {
    format!("{}{name}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

#[test]
fn a_failure_names_the_package_and_the_command() {
    let root = workspace();
    let error = build(&root, "broken").config("profile.dev.panic=\"abort\"").bin("broken").unwrap_err().to_string();
    assert!(error.starts_with("could not build package `broken`"), "{error}");
    assert!(error.contains("--package broken --bin broken"), "{error}");
    assert!(error.ends_with("--config 'profile.dev.panic=\"abort\"'"), "{error}");
}

#[test]
fn says_what_there_is_instead_of_what_was_asked_for() {
    let root = workspace();
    let message = |result: Result<PathBuf>| result.unwrap_err().to_string();
    let unknown = message(build(&root, "lower").cdylib());
    assert!(unknown.starts_with("there is no package `lower`"), "{unknown}");
    assert!(unknown.ends_with("it has: base, broken, upper"), "{unknown}");
    let unnamed = message(Build::new(root.path().join("Cargo.toml")).cdylib());
    assert!(unnamed.starts_with("there is no package at the root"), "{unnamed}");
    let no_library = message(build(&root, "broken").cdylib());
    assert!(no_library.contains("makes no shared library; add `crate-type"), "{no_library}");
    let no_program = message(build(&root, "base").bin("base"));
    assert_eq!(no_program, "package `base` has no binary `base`; its binaries: none");
    let no_example = message(build(&root, "upper").example("hidden"));
    assert_eq!(no_example, "package `upper` has no example `hidden`; its examples: shown");
    let no_test = message(build(&root, "upper").test("check"));
    assert_eq!(no_test, "package `upper` has no integration test `check`; its integration tests: checks");
}

#[test]
fn reads_the_artifact_of_the_package_alone() {
    let line = |package: &str, file: &str| {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{package}","manifest_path":"/w/Cargo.toml","target":
            {{"kind":["rlib","cdylib"],"crate_types":["rlib","cdylib"],"name":"x","src_path":"/w/lib.rs","edition":"2024"}},
            "profile":{{"opt_level":"0","debug_assertions":true,"overflow_checks":true,"test":false}},"features":[],
            "filenames":["/w/libx.rlib","{file}"],"executable":null,"fresh":true}}"#
        )
        .replace('\n', "")
    };
    let messages = [line("ours", "/w/ours.so"), line("theirs", "/w/theirs.so"), "not a message".to_owned()].join("\n");
    let path = |package: &str| {
        let id = PackageId { repr: package.to_owned() };
        artifact_path(messages.as_bytes(), &id, Wanted::Cdylib).unwrap()
    };
    assert_eq!(path("ours"), Some(PathBuf::from("/w/ours.so")));
    assert_eq!(path("theirs"), Some(PathBuf::from("/w/theirs.so")));
    assert_eq!(path("others"), None);
}

#[test]
fn keeps_what_steers_cargo_and_drops_what_describes_the_outer_package() {
    let leaks = |name: &str| is_from_outer_cargo(OsStr::new(name));
    for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_VERSION", "CARGO_BIN_EXE_toolhost", "CARGO_TARGET_TMPDIR", "OUT_DIR"]
    {
        assert!(leaks(name), "{name}");
    }
    for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_BUILD_JOBS", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "PATH"]
    {
        assert!(!leaks(name), "{name}");
    }
}

#[test]
fn a_compiler_runs_without_the_checks_of_the_heap() {
    let leaks = |name: &str, value: &str| is_of_debug_heap(OsStr::new(name), OsStr::new(value));
    assert!(leaks("LD_PRELOAD", "libc_malloc_debug.so.0") && leaks("MALLOC_CHECK_", "3"));
    assert!(!leaks("LD_PRELOAD", "libsomething.so") && !leaks("MALLOC_CHECK_", "1") && !leaks("PATH", "3"));
}
