/// The space in which something is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct View {
    /// How many columns a line may have.
    pub width: usize,
    /// Whether the person asked to see all of it.
    pub expanded: bool,
}

impl View {
    /// A view of this width, not expanded.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { width, expanded: false }
    }

    /// The same view, expanded or not.
    #[must_use]
    pub fn expanded(mut self, expanded: bool) -> Self {
        self.expanded = expanded;
        self
    }
}
