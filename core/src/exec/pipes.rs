//! What a program reads and writes, moved without ever waiting for one pipe alone.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};

use super::group::Streams;

const CHUNK: usize = 64 * 1024;

/// Systems differ in the longest time that they can wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Our ends of a program's pipes.
pub(super) struct Pipes {
    input: Option<Input>,
    stdout: Output,
    stderr: Output,
    buffer: Vec<u8>,
}

impl Pipes {
    pub(super) fn new(streams: Streams, input: Option<Vec<u8>>, most: usize) -> io::Result<Self> {
        let input = match (streams.stdin, input) {
            (Some(pipe), Some(bytes)) => Some(Input { pipe: without_waiting(pipe)?, bytes, written: 0 }),
            _ => None,
        };
        let stdout = Output::new(streams.stdout.map(without_waiting).transpose()?, most);
        let stderr = Output::new(streams.stderr.map(without_waiting).transpose()?, most);
        Ok(Self { input, stdout, stderr, buffer: vec![0; CHUNK] })
    }

    /// Waits until a pipe can be used, the bell rings or the time is over, and moves what there is to move.
    pub(super) fn turn(&mut self, bell: impl AsFd, until: Option<Instant>) -> io::Result<()> {
        self.wait(bell, until)?;
        if self.input.as_mut().is_some_and(Input::write) {
            self.close_input();
        }
        self.stdout.read(&mut self.buffer);
        self.stderr.read(&mut self.buffer);
        Ok(())
    }

    fn wait(&self, bell: impl AsFd, until: Option<Instant>) -> io::Result<()> {
        let left = until.map_or(LONGEST_WAIT, |until| until.saturating_duration_since(Instant::now()));
        let timeout = Timespec::try_from(left.min(LONGEST_WAIT)).ok();
        let outputs = [&self.stdout, &self.stderr].into_iter().filter_map(|output| output.pipe.as_ref());
        let mut ends = vec![PollFd::new(&bell, PollFlags::IN)];
        ends.extend(self.input.iter().map(|input| PollFd::new(&input.pipe, PollFlags::OUT)));
        ends.extend(outputs.map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut ends, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Drops what is not written yet.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Whether somebody may still write.
    pub(super) fn is_open(&self) -> bool {
        self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// What was written to standard output and standard error, and whether there was more than is kept.
    pub(super) fn into_outputs(self) -> (Vec<u8>, Vec<u8>, bool) {
        let truncated = self.stdout.truncated || self.stderr.truncated;
        (self.stdout.kept, self.stderr.kept, truncated)
    }
}

/// The other end is not changed by this.
fn without_waiting(pipe: impl Into<OwnedFd>) -> io::Result<File> {
    let pipe = File::from(pipe.into());
    ioctl_fionbio(&pipe, true)?;
    Ok(pipe)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

struct Input {
    pipe: File,
    bytes: Vec<u8>,
    written: usize,
}

impl Input {
    /// Whether that was all. A program need not read what it is given.
    fn write(&mut self) -> bool {
        match self.pipe.write(&self.bytes[self.written..]) {
            Ok(bytes) => self.written += bytes,
            Err(error) if is_for_later(&error) => {}
            Err(_) => return true,
        }
        self.written == self.bytes.len()
    }
}

struct Output {
    /// Absent once all who could write are gone.
    pipe: Option<File>,
    kept: Vec<u8>,
    most: usize,
    truncated: bool,
}

impl Output {
    fn new(pipe: Option<File>, most: usize) -> Self {
        Self { pipe, kept: Vec::new(), most, truncated: false }
    }

    fn read(&mut self, buffer: &mut [u8]) {
        let Some(pipe) = &mut self.pipe else {
            return;
        };
        match pipe.read(buffer) {
            Ok(bytes) if bytes > 0 => self.keep(&buffer[..bytes]),
            Err(error) if is_for_later(&error) => {}
            Ok(_) | Err(_) => self.pipe = None,
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let fitting = bytes.len().min(self.most - self.kept.len());
        self.kept.extend_from_slice(&bytes[..fitting]);
        self.truncated |= fitting < bytes.len();
    }
}
