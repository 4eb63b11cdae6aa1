//! Lets the types be those of the interface's own crate, as abi_stable sees them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=CARGO_PKG_NAME=toolhost-abi");
}
