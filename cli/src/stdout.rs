//! Keeps standard output for the command itself.

use std::fs::File;
use std::io::{self, Write};

/// Moves standard output to a descriptor of our own and lets the old one lead to standard error. So whatever a plugin,
/// a C library or a child process prints lands there, by whichever way it prints.
pub(crate) fn take() -> io::Result<File> {
    io::stdout().flush()?;
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(own))
}
