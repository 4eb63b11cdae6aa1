//! The directory of private copies from one start to the next.

use std::fs;
use std::path::Path;

use serde_json::Value;
use toolhost_loader::{Host, SessionOptions};
use toolhost_tests::Fixture;

use crate::support::{open, plugin, settled, texts};

async fn start(cache: &Path, plugin: &Path) -> Host {
    let host = Host::builder().cache_dir(cache).plugin(plugin).build().await.unwrap();
    assert_eq!(texts(host.load_errors()), Vec::<String>::new());
    host
}

async fn tools(host: &Host) -> Vec<String> {
    let session = open(host, SessionOptions::new("test")).await;
    session.tools().visible().map(|tool| tool.name.clone()).collect()
}

fn known(cache: &Path) -> Vec<String> {
    let index: Value = serde_json::from_slice(&fs::read(cache.join("index.json")).unwrap()).unwrap();
    index["files"].as_object().unwrap().keys().cloned().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_later_start_knows_a_file_until_it_changes() {
    let cache = tempfile::tempdir().unwrap();
    let second = settled(plugin(Fixture::Second));
    for _ in 0..2 {
        assert_eq!(tools(&start(cache.path(), &second).await).await, ["second"]);
        assert_eq!(known(cache.path()), [second.to_str().unwrap()]);
    }

    let index = fs::read_to_string(cache.path().join("index.json")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ä plugin.so");
    fs::copy(plugin(Fixture::Empty), &file).unwrap();
    let forged = index.replace(second.to_str().unwrap(), file.to_str().unwrap());
    fs::write(cache.path().join("index.json"), forged).unwrap();
    assert_eq!(tools(&start(cache.path(), &file).await).await, ["empty"], "what is there counts, not what was");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_may_go_away_between_two_starts() {
    let cache = tempfile::tempdir().unwrap();
    let second = plugin(Fixture::Second);
    start(cache.path(), &second).await;
    for entry in fs::read_dir(cache.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        }
    }
    assert_eq!(tools(&start(cache.path(), &second).await).await, ["second"]);
    fs::remove_dir_all(cache.path()).unwrap();
    assert_eq!(tools(&start(cache.path(), &second).await).await, ["second"]);
}
