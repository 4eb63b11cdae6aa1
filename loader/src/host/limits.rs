use std::time::Duration;

/// How long things may take, and how much there may be of them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadLimits {
    /// How long one plugin's factory may run for one session; 10 seconds by default.
    pub factory: Duration,
    /// How many tools one plugin may have in one session; 128 by default. The first ones stay.
    pub tools: usize,
    /// How many bytes of JSON the definition of one tool may have; 1 MiB by default.
    pub definition_bytes: usize,
}

impl LoadLimits {
    /// The same limits with this one for factories.
    #[must_use]
    pub fn with_factory(mut self, limit: Duration) -> Self {
        self.factory = limit;
        self
    }

    /// The same limits with this number of tools for each plugin.
    #[must_use]
    pub fn with_tools(mut self, limit: usize) -> Self {
        self.tools = limit;
        self
    }

    /// The same limits with this number of bytes for each definition.
    #[must_use]
    pub fn with_definition_bytes(mut self, limit: usize) -> Self {
        self.definition_bytes = limit;
        self
    }
}

impl Default for LoadLimits {
    fn default() -> Self {
        Self { factory: Duration::from_secs(10), tools: 128, definition_bytes: 1 << 20 }
    }
}
