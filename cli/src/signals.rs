//! Being asked to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::error::CliError;
use crate::screen::SCREEN;

/// Watches for SIGINT, SIGTERM and SIGHUP from the moment it is made.
///
/// The first one asks for an orderly end. A second one ends the process at once, but while something is being resolved
/// it only warns, since a change that stops half way is worse than a wait; a third one ends it also then.
#[derive(Clone)]
pub(crate) struct Signals {
    received: watch::Receiver<Option<u8>>,
    resolving: Arc<AtomicBool>,
}

impl Signals {
    pub(crate) fn listen() -> Self {
        let (sender, received) = watch::channel(None);
        let resolving = Arc::new(AtomicBool::new(false));
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            // Without a handler the signal ends the process, which is what it asks for.
            if let Ok(stream) = signal(kind) {
                tokio::spawn(forward(stream, kind, sender.clone(), resolving.clone()));
            }
        }
        Self { received, resolving }
    }

    /// The exit code of the signal that was received, as a shell gives it.
    pub(crate) fn received(&self) -> Option<u8> {
        *self.received.borrow()
    }

    /// Ends with that exit code when a signal arrives, at once where one has.
    pub(crate) async fn wait(&self) -> u8 {
        let mut received = self.received.clone();
        let code = received.wait_for(Option::is_some).await.ok().and_then(|code| *code);
        match code {
            Some(code) => code,
            // Nobody can send any more.
            None => std::future::pending().await,
        }
    }

    /// Says whether something is being resolved.
    pub(crate) fn resolving(&self, now: bool) {
        self.resolving.store(now, Ordering::Relaxed);
    }
}

async fn forward(
    mut stream: Signal,
    kind: SignalKind,
    received: watch::Sender<Option<u8>>,
    resolving: Arc<AtomicBool>,
) {
    let code = u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX);
    let mut warned = false;
    while stream.recv().await.is_some() {
        if received.borrow().is_none() {
            received.send_replace(Some(code));
        } else if resolving.load(Ordering::Relaxed) && !warned {
            warned = true;
            let text = "Still waiting; once more stops it half way, and what it changed stays as it is then.";
            SCREEN.urgent_line(text);
        } else {
            SCREEN.urgent_close();
            crate::output::last_words(&CliError::killed(code));
            crate::leave(code);
        }
    }
}
