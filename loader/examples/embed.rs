//! What a runtime does at start-up: load plugins, open a session, call a tool, show what it staged, resolve it.
//!
//! `cargo run -p toolhost-loader --example embed -- path/to/batch-rename.so`

use std::env;
use std::fs;

use anyhow::{Context, ensure};
use serde_json::json;
use toolhost_loader::{EndReason, Host, ResolveRequest, SessionOptions};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let plugins = env::args_os().skip(1);
    ensure!(plugins.len() > 0, "name the plugin batch-rename, or the directory that it was built into");
    let photos = tempfile::tempdir()?;
    fs::write(photos.path().join("IMG_1 (Zürich).JPG"), "a picture")?;

    let host = plugins.fold(Host::builder(), |builder, plugin| builder.plugin(plugin)).build().await?;
    let opened = host.session(SessionOptions::new("example").cwd(photos.path())).await;
    for error in host.load_errors().iter().chain(&opened.errors) {
        eprintln!("left out: {error}");
    }
    let session = opened.session;
    for tool in session.model_tools() {
        println!("offered to the model: {}", tool.name);
    }

    let parameters = json!({"files": ["IMG_1 (Zürich).JPG"], "find": "IMG", "replace": "trip"});
    let preview = session.call("batch_rename_preview", parameters).await?;
    println!("{}", preview.to_text());

    let pending = session.pending().and_then(|store| store.peek()).context("the tool staged nothing")?;
    println!("to decide: {} ({}), preview {}", pending.label(), pending.source_tool_name(), pending.preview_hash());

    let resolution = session.resolve(ResolveRequest::apply("it looks right").with_id(pending.id())).await;
    println!("{}", resolution.result.to_text());
    ensure!(resolution.status.is_success(), "the apply failed");
    ensure!(photos.path().join("trip_1 (Zürich).JPG").exists(), "the file has its old name");

    session.end(EndReason::Shutdown).await;
    Ok(())
}
