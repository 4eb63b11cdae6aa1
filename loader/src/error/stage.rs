use std::fmt;

/// A stage of a load, in the order in which they come. Up to and including [`Stage::Stage`] nothing of the plugin runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Which files there are.
    Discover,
    /// What a file is, from its bytes.
    Inspect,
    /// Whether it may be loaded.
    Trust,
    /// A private copy of the bytes that were inspected.
    Stage,
    /// The system's loader opens the copy; constructors run.
    Open,
    /// Whether the plugin's interface fits the host's.
    Check,
    /// The plugin's factory makes tools for a session.
    Create,
    /// The session takes the tools.
    Register,
}

impl Stage {
    /// The stage of a code: its first two digits.
    pub(super) fn of(code: &str) -> Self {
        match code.as_bytes()[3] {
            b'1' => Self::Discover,
            b'2' => Self::Inspect,
            b'3' => Self::Trust,
            b'4' => Self::Stage,
            b'5' => Self::Open,
            b'6' => Self::Check,
            b'7' => Self::Create,
            _ => Self::Register,
        }
    }

    /// The stage's name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Discover => "discover",
            Self::Inspect => "inspect",
            Self::Trust => "trust",
            Self::Stage => "stage",
            Self::Open => "open",
            Self::Check => "check",
            Self::Create => "create",
            Self::Register => "register",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
