//! Files that are no plugins, and what becomes of the others.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;
use toolhost_loader::{Host, LoadError, SessionOptions};
use toolhost_tests::{Artifact, Fixture};

use crate::support::{ARTIFACTS, host, make_pipe, open, plugin, texts};

const NOT_FOUND: &str = "there is no such file or directory; check the path; a plugin's package needs `crate-type = \
                         [\"cdylib\"]` to make its file (TH0101)";
const NO_LIBRARY: &str = "name the shared library that building the plugin makes (TH0201)";

async fn assert_works(host: &Host) {
    let session = open(host, SessionOptions::new("test")).await;
    let staged = session.call("second", json!({"label": "a"})).await.unwrap();
    assert_eq!(staged.to_text(), "staged second");
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_files_are_refused_with_their_reason_and_the_good_one_beside_them_loads() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::write(path("a empty.so"), "").unwrap();
    fs::write(path("b text.so"), "#!/bin/sh\necho hello\n").unwrap();
    fs::write(path("c bytes.so"), [0, 159, 146, 150]).unwrap();
    fs::create_dir(path("d directory.so")).unwrap();
    make_pipe(&path("e pipe.so"));
    symlink(path("absent"), path("f dangling.so")).unwrap();
    fs::copy(plugin(Fixture::NoPlugin), path("g no plugin.so")).unwrap();
    fs::copy(std::env::current_exe().unwrap(), path("h program.so")).unwrap();
    fs::copy(plugin(Fixture::Second), path("i large.so")).unwrap();
    // Takes no space on the disk.
    File::options().write(true).open(path("i large.so")).unwrap().set_len((1 << 30) + 1).unwrap();
    fs::copy(plugin(Fixture::Second), path("z good.so")).unwrap();

    let host = host([directory.path()]).await;
    let large = "it is a file of 1073741825 bytes, of which 1073741824 are the most for a plugin, not a shared library";
    let expected = [
        ("a empty.so", format!("it is an empty file, not a shared library; {NO_LIBRARY}")),
        ("b text.so", format!("it is a text file, not a shared library; {NO_LIBRARY}")),
        ("c bytes.so", format!("it is a file of an unknown kind, not a shared library; {NO_LIBRARY}")),
        ("d directory.so", format!("it is a directory, not a shared library; {NO_LIBRARY}")),
        ("e pipe.so", format!("it is a device, a pipe or a socket, not a shared library; {NO_LIBRARY}")),
        ("f dangling.so", NOT_FOUND.to_owned()),
        ("g no plugin.so", no_plugin()),
        ("h program.so", no_plugin()),
        ("i large.so", format!("{large}; {NO_LIBRARY}")),
    ];
    let expected = expected.map(|(name, text)| format!("{}: {text}", path(name).display()));
    assert_eq!(texts(host.load_errors()), expected);
    assert_eq!(host.plugins().map(|plugin| plugin.path.clone()).collect::<Vec<_>>(), [path("z good.so")]);
    assert_works(&host).await;
}

fn no_plugin() -> String {
    "it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note; export the plugin with \
     `export_plugin!` of toolhost-plugin-sdk (TH0204)"
        .to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_lead_nowhere_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    fs::create_dir(path("directory.so")).unwrap();
    symlink(path("round"), path("round")).unwrap();
    let paths = ["absent.so", "empty", "directory.so", "round"].map(path);
    let host = host(paths.iter().cloned().chain([plugin(Fixture::Second)])).await;
    let empty = "the directory holds no `.so` file; name the plugin's file, or its directory; its package needs \
                 `crate-type = [\"cdylib\"]` to make one (TH0103)";
    let expected = [
        NOT_FOUND,
        empty,
        empty,
        "it cannot be read: Too many levels of symbolic links (os error 40); give this user the right to read it \
         (TH0102)",
    ];
    let expected: Vec<String> =
        paths.iter().zip(expected).map(|(path, text)| format!("{}: {text}", path.display())).collect();
    assert_eq!(texts(host.load_errors()), expected);
    assert_works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn content_that_cannot_be_read_is_an_error() {
    // A regular file whose content no right helps to read.
    let mut paths = vec![("/proc/self/mem".into(), "Input/output error (os error 5)")];
    let directory = tempfile::tempdir().unwrap();
    let locked = directory.path().join("locked.so");
    fs::copy(plugin(Fixture::Second), &locked).unwrap();
    fs::set_permissions(&locked, Permissions::from_mode(0o000)).unwrap();
    // Nothing is locked to root.
    if File::open(&locked).is_err() {
        paths.push((locked, "Permission denied (os error 13)"));
    }
    for (path, reason) in paths {
        let host = host([path.clone()]).await;
        let text =
            format!("{}: it cannot be read: {reason}; give this user the right to read it (TH0102)", path.display());
        assert_eq!(texts(host.load_errors()), [text]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_plugin_is_an_error_at_every_length() {
    const LENGTHS: usize = 64;
    let whole = fs::read(plugin(Fixture::Second)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for number in 0..LENGTHS {
        let cut = &whole[..whole.len() * number / LENGTHS];
        fs::write(directory.path().join(format!("{number:02}.so")), cut).unwrap();
    }
    fs::write(directory.path().join("less one byte.so"), &whole[..whole.len() - 1]).unwrap();
    fs::write(directory.path().join("whole.so"), &whole).unwrap();

    let host = host([directory.path()]).await;
    let codes: Vec<&str> = host.load_errors().iter().map(LoadError::code).collect();
    assert_eq!(codes.len(), LENGTHS + 1);
    assert_eq!(codes[0], "TH0201");
    assert!(codes[1..].iter().all(|code| *code == "TH0203"), "{codes:?}");
    assert_works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_plugin_without_section_headers_is_an_error_or_whole_enough() {
    let directory = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(plugin(Fixture::Second)).unwrap();
    without_section_headers(&mut bytes);
    fs::write(directory.path().join("whole.so"), &bytes).unwrap();
    for number in 0..64 {
        fs::write(directory.path().join(format!("{number:02}.so")), &bytes[..bytes.len() * number / 64]).unwrap();
    }
    let host = host([directory.path()]).await;
    assert!(host.plugins().any(|plugin| plugin.path.ends_with("whole.so")));
    assert!(host.load_errors().iter().all(|error| ["TH0201", "TH0203"].contains(&error.code())));
    // The sections lie behind all that is mapped, so that some of the cut files are whole enough to work.
    for plugin in host.plugins() {
        assert_works(&crate::support::host([&plugin.path]).await).await;
    }
}

/// Sets the offset, the number and the name table of the sections in an ELF header to nothing.
fn without_section_headers(bytes: &mut [u8]) {
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_panics_end_the_process_is_refused_before_it_runs() {
    let path = ARTIFACTS.path(Artifact::Aborting(Fixture::Second));
    let host = host([path.clone(), plugin(Fixture::Second)]).await;
    let text = format!(
        "{}: `second` was built with `panic = \"abort\"`, so that its first panic would end the host; build it with \
         `panic = \"unwind\"`, the default, in its profile (TH0208)",
        path.display()
    );
    assert_eq!(texts(host.load_errors()), [text]);
    assert_works(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_the_file_after_its_load_does_not_matter() {
    let ways: [fn(&Path); 4] = [
        |path| fs::write(path, "").unwrap(),
        |path| File::options().write(true).open(path).unwrap().write_all(&[0; 65536]).unwrap(),
        |path| assert!(fs::copy(plugin(Fixture::Names), path).unwrap() > 0),
        |path| fs::remove_file(path).unwrap(),
    ];
    for way in ways {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("second.so");
        fs::copy(plugin(Fixture::Second), &path).unwrap();
        let cache = directory.path().join("cache");
        let host = Host::builder().cache_dir(cache).plugin(&path).build().await.unwrap();
        let session = open(&host, SessionOptions::new("test")).await;
        way(&path);
        let staged = session.call("second", json!({"label": "a"})).await.unwrap();
        assert_eq!(staged.to_text(), "staged second");
        assert_works(&host).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_data_too() {
    let host = host([plugin(Fixture::NoPlugin)]).await;
    let expected = json!({
        "code": "TH0204",
        "stage": "inspect",
        "path": plugin(Fixture::NoPlugin),
        "cause": "it is a shared library, but no toolhost plugin: it has no `.note.toolhost` note",
        "evidence": [format!("a file of {} bytes", fs::metadata(plugin(Fixture::NoPlugin)).unwrap().len())],
        "fix": "export the plugin with `export_plugin!` of toolhost-plugin-sdk",
    });
    assert_eq!(serde_json::to_value(host.load_errors()).unwrap(), json!([expected]));
}
