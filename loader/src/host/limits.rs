use std::time::Duration;

/// How long things may take.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadLimits {
    /// How long one plugin's factory may run for one session; 10 seconds by default.
    pub factory: Duration,
}

impl LoadLimits {
    /// The same limits with this one for factories.
    #[must_use]
    pub fn with_factory(mut self, limit: Duration) -> Self {
        self.factory = limit;
        self
    }
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { factory: Duration::from_secs(10) }
    }
}
