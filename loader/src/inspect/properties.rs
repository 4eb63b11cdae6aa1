//! Whatever the bytes are, the inspection ends with an answer; and what the system itself runs on, it accepts.

use std::fs;
use std::path::{Path, PathBuf};

/// Every regular file under these directories that looks like a shared library of this machine.
fn libraries(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() {
            libraries(&entry.path(), found);
        } else if kind.is_file() && (name.ends_with(".so") || name.contains(".so.")) {
            found.push(entry.path());
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "by hand, since it reads every library of the system"]
fn every_library_of_the_system_is_accepted() {
    let mut found = Vec::new();
    let roots = std::env::var("TOOLHOST_TEST_LIBRARIES").unwrap_or_else(|_| "/lib:/usr/lib:/usr/local/lib".to_owned());
    roots.split(':').for_each(|root| libraries(Path::new(root), &mut found));
    let (mut accepted, mut refused) = (0, Vec::new());
    for path in &found {
        let bytes = fs::read(path).unwrap();
        match super::library(&bytes) {
            Ok(_) => accepted += 1,
            // Linker scripts, and libraries for other machines.
            Err(error) if ["TH0201", "TH0202"].contains(&error.code()) => {}
            Err(error) => refused.push(format!("{}: {error}", path.display())),
        }
    }
    println!("{accepted} of {} accepted", found.len());
    assert_eq!(refused, Vec::<String>::new());
    assert!(accepted > 0);
}
