//! A plugin that brings a library along.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use tempfile::TempDir;
use toolhost_loader::{Host, LoadError, SessionOptions};
use toolhost_tests::{FIXTURES, Fixture};

use crate::support::{host, open, patch, plugin, texts};

const LIBRARY: &str = "libtoolhost_dep.so";

/// A directory with the plugin in it, and its library where `answer` says what that answers.
fn directory(answer: Option<u32>) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::copy(plugin(Fixture::Sibling), directory.path().join("sibling.so")).unwrap();
    if let Some(answer) = answer {
        let source = Path::new(FIXTURES).with_file_name("sibling").join("dep.c");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wl,-soname,libtoolhost_dep.so"])
            .arg(format!("-DANSWER={answer}"))
            .arg(source)
            .arg("-o")
            .arg(directory.path().join(LIBRARY))
            .status()
            .unwrap();
        assert!(status.success());
    }
    directory
}

fn sibling(directory: &TempDir) -> std::path::PathBuf {
    directory.path().join("sibling.so")
}

async fn answer(host: &Host) -> String {
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    let session = open(host, SessionOptions::new("test")).await;
    session.call("answer", json!({})).await.unwrap().to_text()
}

// One case, since what is loaded under a name stays so for the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_library_beside_a_plugin_is_loaded_with_it_and_another_of_its_name_is_refused() {
    let alone = directory(None);
    let refused = host([sibling(&alone)]).await;
    let text = format!(
        "{}: it needs {LIBRARY}, which cannot be found; install that library, or put it beside the plugin and link with \
         `-rpath,$ORIGIN` (TH0210)",
        sibling(&alone).display()
    );
    assert_eq!(texts(refused.load_errors()), [text]);

    let (one, same, two) = (directory(Some(1)), directory(Some(1)), directory(Some(2)));
    let first = host([sibling(&one)]).await;
    assert_eq!(answer(&first).await, "1");
    assert_eq!(answer(&host([sibling(&same)]).await).await, "1");

    let refused = host([sibling(&two), plugin(Fixture::Second)]).await;
    let text = format!(
        "{}: it brings {}, but a library named `{LIBRARY}` with other content is loaded from {}; link the library into \
         the plugin statically, or give it a name of its own (TH0402)",
        sibling(&two).display(),
        two.path().join(LIBRARY).display(),
        one.path().join(LIBRARY).display(),
    );
    assert_eq!(texts(refused.load_errors()), [text]);
    assert_eq!(refused.plugins().count(), 1);

    assert_name_is_taken(&alone, &one).await;

    fs::write(one.path().join(LIBRARY), "").unwrap();
    assert_eq!(answer(&first).await, "1");
    damaged(&one).await;
}

/// What brings no library does not get that of another plugin in its place.
async fn assert_name_is_taken(alone: &TempDir, loaded: &TempDir) {
    let refused = host([sibling(alone)]).await;
    let text = format!(
        "{}: it needs {LIBRARY}, and gets {} instead, which another plugin brought along; load the plugins in separate \
         hosts, or link the library statically into both (TH0404)",
        sibling(alone).display(),
        loaded.path().join(LIBRARY).display(),
    );
    assert_eq!(texts(refused.load_errors()), [text]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_that_was_never_loaded_takes_no_name() {
    // A name that no other case loads.
    let renamed = |answer: u32| {
        let directory = directory(Some(answer));
        let other: (&[u8], &[u8]) = (b"libtoolhost_dep.so", b"libtoolhost_dex.so");
        patch(&sibling(&directory), &[other]);
        patch(&directory.path().join(LIBRARY), &[other]);
        fs::rename(directory.path().join(LIBRARY), directory.path().join("libtoolhost_dex.so")).unwrap();
        directory
    };
    let broken = renamed(3);
    patch(&sibling(&broken), &[(b"toolhost_dep_answer", b"toolhost_dep_absent")]);
    let refused = host([sibling(&broken)]).await;
    assert_eq!(refused.load_errors().iter().map(LoadError::code).collect::<Vec<_>>(), ["TH0501"]);
    assert_eq!(answer(&host([sibling(&renamed(4))]).await).await, "4");
}

/// The library is inspected as the plugin is.
async fn damaged(directory: &TempDir) {
    let library = directory.path().join(LIBRARY);
    fs::write(&library, "no library").unwrap();
    let host = host([sibling(directory)]).await;
    let text = format!(
        "{}: it is damaged: it needs {}, of which: it is a text file, not a shared library; copy or build the file \
         again (TH0203)",
        sibling(directory).display(),
        library.display()
    );
    assert_eq!(texts(host.load_errors()), [text]);
}
