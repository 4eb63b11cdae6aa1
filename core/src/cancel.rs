use tokio_util::sync::CancellationToken;

/// A request to stop, shared by whoever asks and whoever obeys. Clones are the same request.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(CancellationToken);

impl Cancellation {
    /// A request that nobody has made yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks to stop. Asking again changes nothing.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Ends when somebody asks. Works on any executor.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.clone().cancelled_owned()
    }
}
