use std::os::unix::fs::MetadataExt;

use super::*;

/// A workspace with two plugins, and two members that are none.
fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::write(
        root.path().join("Cargo.toml"),
        "[workspace]\nresolver = \"3\"\nmembers = [\"plugins/*\", \"elsewhere\"]\n",
    )
    .unwrap();
    for (path, kind) in
        [("plugins/zip", "cdylib"), ("plugins/add", "cdylib"), ("plugins/shared", "rlib"), ("elsewhere", "cdylib")]
    {
        let directory = root.path().join(path);
        let name = directory.file_name().unwrap().to_str().unwrap().to_owned();
        fs::create_dir_all(directory.join("src")).unwrap();
        fs::write(directory.join("src/lib.rs"), "").unwrap();
        let manifest = format!(
            "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\ncrate-type = [{kind:?}]\n"
        );
        fs::write(directory.join("Cargo.toml"), manifest).unwrap();
    }
    let locked = crate::build::cargo().arg("generate-lockfile").arg("--offline").current_dir(root.path()).output();
    assert!(locked.unwrap().status.success());
    root
}

#[test]
fn builds_the_plugins_and_nothing_else() {
    let root = workspace();
    let manifest = root.path().join("Cargo.toml");
    let stale = root.path().join("target/plugins").join(format!("libstale.{}", std::env::consts::DLL_EXTENSION));
    fs::create_dir_all(stale.parent().unwrap()).unwrap();
    fs::write(&stale, "").unwrap();

    let first = build(&manifest, &root.path().join("target"), &[]).unwrap();
    assert_eq!(first.plugins.iter().map(|plugin| plugin.name.as_str()).collect::<Vec<_>>(), ["add", "zip"]);
    let mut files: Vec<_> = fs::read_dir(&first.directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files, first.plugins.iter().map(|plugin| plugin.path.clone()).collect::<Vec<_>>());

    // Replaced, not rewritten: who has the old file open keeps it.
    let inode = |plugins: &Plugins| fs::metadata(&plugins.plugins[0].path).unwrap().ino();
    let open = fs::File::open(&first.plugins[0].path).unwrap();
    let second = build(&manifest, &root.path().join("target"), &[]).unwrap();
    assert_eq!(first, second);
    assert_ne!(open.metadata().unwrap().ino(), inode(&second));
}

#[test]
fn a_workspace_without_plugins_is_an_error() {
    let root = workspace();
    let manifest = root.path().join("Cargo.toml");
    fs::write(&manifest, "[workspace]\nresolver = \"3\"\nmembers = [\"elsewhere\"]\n").unwrap();
    let error = build(&manifest, &root.path().join("target"), &[]).unwrap_err().to_string();
    assert!(error.ends_with("plugins is a cdylib"), "{error}");
}

#[test]
fn only_what_is_named_is_built_and_the_rest_stays() {
    let root = workspace();
    let manifest = root.path().join("Cargo.toml");
    let target = root.path().join("target");
    let all = build(&manifest, &target, &[]).unwrap();
    let inodes = || all.plugins.iter().map(|plugin| fs::metadata(&plugin.path).unwrap().ino()).collect::<Vec<_>>();
    let before = inodes();
    let named = build(&manifest, &target, &["zip"]).unwrap();
    assert_eq!(named.plugins, all.plugins[1..]);
    assert_eq!(inodes()[0], before[0]);
    assert_ne!(inodes()[1], before[1]);

    let error = build(&manifest, &target, &["zip", "zap"]).unwrap_err().to_string();
    assert_eq!(error, "there is no plugin `zap`; name one of: add, zip");
}
