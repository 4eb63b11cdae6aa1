//! Being asked to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Watches for SIGINT, SIGTERM and SIGHUP from the moment it is made. The first one counts.
#[derive(Clone)]
pub(crate) struct Signals {
    received: watch::Receiver<Option<u8>>,
}

impl Signals {
    pub(crate) fn listen() -> Self {
        let (sender, received) = watch::channel(None);
        for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
            // Without a handler the signal ends the process, which is what it asks for.
            if let Ok(stream) = signal(kind) {
                tokio::spawn(forward(stream, kind, sender.clone()));
            }
        }
        Self { received }
    }

    /// The exit code of the signal that was received, as a shell gives it.
    pub(crate) fn received(&self) -> Option<u8> {
        *self.received.borrow()
    }

    /// Ends with that exit code when a signal arrives, at once where one has.
    pub(crate) async fn wait(&self) -> u8 {
        let mut received = self.received.clone();
        match received.wait_for(Option::is_some).await {
            Ok(code) => (*code).unwrap_or_default(),
            // Nobody can send any more.
            Err(_) => std::future::pending().await,
        }
    }
}

async fn forward(mut stream: Signal, kind: SignalKind, sender: watch::Sender<Option<u8>>) {
    let code = u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX);
    while stream.recv().await.is_some() {
        sender.send_if_modified(|received| match received {
            Some(_) => false,
            None => {
                *received = Some(code);
                true
            }
        });
    }
}
