//! Who holds a file's lock: a live session, for as long as it lives; a recovery, while it works; a reader, for a moment.

use std::fs::{File, TryLockError};
use std::io;

/// Takes the lock of a file that was just made. Nobody but a passer-by can hold it.
pub(super) fn hold(file: &File) -> io::Result<()> {
    loop {
        match file.lock() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            ended => return ended,
        }
    }
}

/// Whether a live session, or a recovery, holds the file.
pub(super) fn is_held(file: &File) -> io::Result<bool> {
    let held = !succeeded(file.try_lock_shared())?;
    if !held {
        file.unlock()?;
    }
    Ok(held)
}

/// Takes the lock of a file that no live session and no other recovery holds; answers whether it could.
pub(super) fn take_over(file: &File) -> io::Result<bool> {
    if succeeded(file.try_lock())? {
        return Ok(true);
    }
    // A reader that looks whether the file is held is no reason to pass it over: it is gone in a moment.
    if !succeeded(file.try_lock_shared())? {
        return Ok(false);
    }
    hold(file)?;
    Ok(true)
}

fn succeeded(attempt: Result<(), TryLockError>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_file_is_taken_over_once_and_seen_to_be_held() {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let open = || File::options().read(true).append(true).open(&path).unwrap();
        let (first, second) = (open(), open());
        assert!(!is_held(&second).unwrap());
        assert!(take_over(&first).unwrap());
        assert!(is_held(&second).unwrap());
        assert!(!take_over(&second).unwrap());
        drop(first);
        assert!(!is_held(&second).unwrap());
        assert!(take_over(&second).unwrap());
    }

    /// In a process of its own: a child that another test starts holds what this one has locked, until it runs its
    /// program.
    #[test]
    fn readers_that_look_never_hide_a_dead_file() {
        const ALONE: &str = "TOOLHOST_TEST_ALONE";
        if std::env::var_os(ALONE).is_none() {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            let name = "journal::lock::tests::readers_that_look_never_hide_a_dead_file";
            let output = command.args(["--exact", name]).env(ALONE, "1").output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let open = || File::options().read(true).append(true).open(&path).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let file = open();
                while !done.load(Ordering::Relaxed) {
                    is_held(&file).unwrap();
                }
            });
            let hidden = (0..2_000).filter(|_| !take_over(&open()).unwrap()).count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(hidden, 0);
        });
    }
}
