//! What a person types at the terminal, for one question at a time.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use crate::screen::SCREEN;
use crate::signals::Signals;

/// Lines that are typed, for whoever's turn it is to ask. Clones are the same keyboard.
#[derive(Clone)]
pub(crate) struct Keyboard {
    /// The read that nobody has taken the line of. The thread that reads cannot be interrupted, so that a question that
    /// is taken back leaves it to the next; the end of the process takes it along. It is none of the runtime's, whose
    /// end would wait for it.
    reading: Arc<Mutex<Option<Reading>>>,
    signals: Signals,
}

type Reading = oneshot::Receiver<Read>;

/// A line, none at the end of input; and when it came.
struct Read {
    line: io::Result<Option<String>>,
    at: Instant,
}

/// One question's turn.
pub(crate) struct Turn {
    reading: OwnedMutexGuard<Option<Reading>>,
    signals: Signals,
}

impl Keyboard {
    pub(crate) fn new(signals: Signals) -> Self {
        Self { reading: Arc::default(), signals }
    }

    /// Waits for the turns of earlier questions to end; `None` where a signal arrives first.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let reading = tokio::select! {
            biased;
            _ = self.signals.wait() => return None,
            reading = self.reading.clone().lock_owned() => reading,
        };
        Some(Turn { reading, signals: self.signals.clone() })
    }
}

impl Turn {
    /// The line that is typed behind the prompt; `None` at the end of input, and where a signal arrives first.
    pub(crate) async fn line(&mut self, prompt: &str) -> Option<String> {
        if self.reading.is_some() {
            // A half line that was meant for the question that was taken back.
            let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        }
        let asked = Instant::now();
        let prompt = SCREEN.ask(prompt);
        loop {
            let reading = self.reading.get_or_insert_with(read);
            let read = tokio::select! {
                biased;
                _ = self.signals.wait() => None,
                read = reading => {
                    *self.reading = None;
                    read.ok()
                }
            };
            match read {
                // No answer to a question that was not to be seen yet.
                Some(read) if read.at < asked => {}
                Some(Read { line: Ok(Some(line)), .. }) => {
                    prompt.answered();
                    return Some(line);
                }
                _ => {
                    prompt.unanswered();
                    return None;
                }
            }
        }
    }
}

fn read() -> Reading {
    let (sender, reading) = oneshot::channel();
    let work = move || {
        let mut line = String::new();
        let read = io::stdin().read_line(&mut line);
        let _ = sender.send(Read { line: read.map(|read| (read > 0).then_some(line)), at: Instant::now() });
    };
    // Where there is no thread, nothing is ever sent, as at the end of input.
    let _ = thread::Builder::new().name("keyboard".to_owned()).spawn(work);
    reading
}
