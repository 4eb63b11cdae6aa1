//! Tells the crate which target and compiler it is built for and with; a plugin's metadata carries both.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=TOOLHOST_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo::rustc-env=TOOLHOST_RUSTC={}", compiler().unwrap_or_default());
}

fn compiler() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
