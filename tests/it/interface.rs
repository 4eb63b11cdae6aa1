//! Plugins that do not tell the truth, or were built for another interface.

use std::fs;
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;
use toolhost_abi::ABI_VERSION;
use toolhost_loader::{Host, LoadError, inspect};
use toolhost_tests::Fixture;

use crate::support::{host, patch, plugin, texts};

/// A copy of a fixture in which each first text was replaced by the second, which is as long.
fn patched(fixture: Fixture, changes: &[(&[u8], &[u8])]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("patched.so");
    fs::copy(plugin(fixture), &path).unwrap();
    patch(&path, changes);
    (directory, path)
}

async fn refusal(path: &Path) -> LoadError {
    let host = host([path]).await;
    assert_eq!(host.plugins().count(), 0);
    let [error] = host.load_errors() else { panic!("{:?}", texts(host.load_errors())) };
    error.clone()
}

/// The refusal without the path at its beginning.
async fn refusal_text(path: &Path) -> String {
    let text = refusal(path).await.to_string();
    text.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_without_an_entry_is_refused() {
    let text = "it does not export `toolhost_plugin_abi_stable`; build the plugin with an unmodified \
                toolhost-plugin-sdk, and keep its exported symbol when stripping (TH0209)";
    assert_eq!(refusal_text(&plugin(Fixture::NoteOnly)).await, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_that_lies_is_refused() {
    let newer = "update this host, or build the plugin with an older toolhost-plugin-sdk";
    let rebuild =
        "build the plugin with an unmodified toolhost-plugin-sdk, and keep its exported symbol when stripping";
    let unreadable = |why: &str| format!("its `.note.toolhost` note cannot be read: {why}; {rebuild} (TH0205)");
    let cases: [(&[u8], &[u8], String); 6] = [
        (
            b"TOOLHOST\x01",
            b"TOOLHOST\x63",
            format!("its note has format 99, and this host reads formats up to 1; {newer} (TH0206)"),
        ),
        (
            b"\"abi_stable\"",
            b"\"plain_c_v9\"",
            format!("its interface is of the family `plain_c_v9`, and this host knows `abi_stable`; {newer} (TH0207)"),
        ),
        (
            b"{\"abiFamily",
            b"[\"abiFamily",
            unreadable("expected `,` or `]` at line 1 column 13"),
        ),
        (
            b"\"version\"",
            b"\"verzion\"",
            unreadable("missing field `version` at line 1 column 101"),
        ),
        (
            b"TOOLHOST\x01",
            b"TOOLH0ST\x01",
            unreadable("it does not begin with its mark"),
        ),
        (
            b"\"unwind\"",
            b"\"ignore\"",
            "`note-only` was built with `panic = \"ignore\"`, so that its first panic would end the host; build it with \
             `panic = \"unwind\"`, the default, in its profile (TH0208)"
                .to_owned(),
        ),
    ];
    for (old, new, text) in cases {
        let (_directory, path) = patched(Fixture::NoteOnly, &[(old, new)]);
        assert_eq!(refusal_text(&path).await, text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_note_of_another_owner_is_no_note() {
    let (_directory, path) = patched(Fixture::NoteOnly, &[(b"toolhost\0\0\0\0TOOLHOST", b"toolbank\0\0\0\0TOOLHOST")]);
    assert_eq!(refusal(&path).await.code(), "TH0204");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_layout_of_the_same_version_is_refused_in_few_lines() {
    let (_directory, path) = patched(Fixture::OtherVersion, &[(b"2.0.0", b"1.0.0")]);
    let text = refusal_text(&path).await;
    assert!(text.lines().count() <= 10, "{text}");
    let expected = format!(
        "`other-version` (plugin interface 1.0.0) does not fit this host (plugin interface {ABI_VERSION}): at \
         0.create.create: FieldCountMismatch(ExpectedFound {{ expected: 3, found: 2 }}); build the plugin again with a \
         released toolhost-plugin-sdk (TH0602)"
    );
    assert_eq!(text, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_refused_by_both_versions() {
    let text = format!(
        "`other-version` was built for plugin interface 2.0.0, and this host has {ABI_VERSION}; build the plugin with \
         the toolhost-plugin-sdk of this host's version (TH0601)"
    );
    assert_eq!(refusal_text(&plugin(Fixture::OtherVersion)).await, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_file_that_fails_inspection_runs() {
    let opened = |path: &Path| path.with_file_name(format!("{}.opened", path.file_name().unwrap().to_str().unwrap()));
    let files = |directory: &Path| {
        walk(directory).into_iter().filter(|path| path.extension().is_some_and(|e| e == "opened")).count()
    };
    let cases: [(&[u8], &[u8], &str); 4] = [
        (b"TOOLHOST\x01\0\0\0", b"TOOLHOST\x63\0\0\0", "TH0206"),
        (b"\"abiFamily\":\"abi_stable\"", b"\"abiFamily\":\"plain_c_v9\"", "TH0207"),
        (b"\"abiVersion\":\"1.", b"\"abiVersion\":\"2.", "TH0601"),
        (b"\"panic\":\"unwind\"", b"\"panic\":\"ignore\"", "TH0208"),
    ];
    let load = async |path: &Path, cache: &Path| Host::builder().cache_dir(cache).plugin(path).build().await.unwrap();
    for (old, new, code) in cases {
        let (directory, path) = patched(Fixture::Constructor, &[(old, new)]);
        assert_eq!(load(&path, &directory.path().join("cache")).await.load_errors()[0].code(), code);
        assert_eq!(inspect(&path).error.unwrap().code(), code);
        assert_eq!(files(directory.path()), 0, "{code}");
    }

    let (directory, path) = patched(Fixture::Constructor, &[]);
    let cache = directory.path().join("cache");
    assert!(inspect(&path).loadable);
    assert_eq!(files(directory.path()), 0);
    // The constructor is there: it runs as the system opens the file, and as the host opens one that passes.
    // SAFETY: the constructor writes a file, nothing else. The library stays open.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.unwrap();
    std::mem::forget(library);
    assert!(opened(&path).exists());
    assert_eq!(load(&plugin(Fixture::Constructor), &cache).await.plugins().count(), 1);
    assert_eq!(files(&cache), 1);
    assert!(!opened(&plugin(Fixture::Constructor)).exists());
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
