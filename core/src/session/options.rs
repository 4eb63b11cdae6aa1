use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolhost_protocol::SessionStep;

use crate::journal::Journal;
use crate::{Approver, HostServices, Pending, Resolution, SteeringMode};

/// What a session is made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The session's id, for tools and for people.
    pub id: String,
    /// The session's working directory, absolute; the process's own by default.
    pub cwd: PathBuf,
    /// Whether it keeps pending actions; where it does not, every push is refused. It does by default.
    pub keeps_pending: bool,
    /// How long an action may stay pending before it expires; `None`, the default, for ever. Meant for a session that
    /// belongs to no conversation.
    pub expiry: Option<Duration>,
    /// Where what becomes of its actions is put on record; nowhere by default.
    pub journal: Option<Journal>,
    /// Who has the last word on an apply; `None`, the default, whoever asks for it.
    pub approver: Option<Arc<dyn Approver>>,
    /// What its tools may ask of the program; `None`, the default, what every program offers.
    pub services: Option<Arc<dyn HostServices>>,
    /// How a model is steered towards `resolve`.
    pub steering: SteeringMode,
    /// How long things may take, and how large they may be.
    pub limits: Limits,
}

impl SessionOptions {
    /// A session with pending actions, and every setting as it is by default.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            keeps_pending: true,
            expiry: None,
            journal: None,
            approver: None,
            services: None,
            steering: SteeringMode::default(),
            limits: Limits::default(),
        }
    }

    /// The same session in this working directory; a relative one starts at the process's own.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        let cwd = cwd.into();
        self.cwd = std::path::absolute(&cwd).unwrap_or(cwd);
        self
    }

    /// The same session without a store for pending actions: every push is refused.
    #[must_use]
    pub fn without_store(mut self) -> Self {
        self.keeps_pending = false;
        self
    }

    /// The same session, in which an action expires after this time.
    #[must_use]
    pub fn expiry(mut self, after: Duration) -> Self {
        self.expiry = Some(after);
        self
    }

    /// The same session, with a journal in this directory.
    ///
    /// Every push is written down before it is staged, and an apply is on the disk before it starts and after it ends;
    /// where that cannot be done, neither happens. [`journal::recover`](crate::journal::recover) tells after a crash
    /// what was being applied.
    #[must_use]
    pub fn journal(mut self, directory: impl Into<PathBuf>) -> Self {
        self.journal = Some(Journal::new(directory, &self.id));
        self
    }

    /// The same session with somebody who has the last word on every apply.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Some(Arc::new(approver));
        self
    }

    /// The same session, whose tools may ask for these services.
    #[must_use]
    pub fn services(mut self, services: impl HostServices) -> Self {
        self.services = Some(Arc::new(services));
        self
    }

    /// The same session with this way to steer a model.
    #[must_use]
    pub fn steering(mut self, mode: SteeringMode) -> Self {
        self.steering = mode;
        self
    }

    /// The same session with these limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("id", &self.id)
            .field("cwd", &self.cwd)
            .field("keeps_pending", &self.keeps_pending)
            .field("expiry", &self.expiry)
            .field("journal", &self.journal)
            .field("approver", &self.approver.as_ref().map(|approver| approver.name().to_owned()))
            .field("services", &self.services.is_some())
            .field("steering", &self.steering)
            .field("limits", &self.limits)
            .finish()
    }
}

/// How long things may take, and how large they may be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// How long the end of a session waits for a running apply and for clean-ups; 10 seconds by default.
    pub end: Duration,
    /// How long somebody may think about an apply; 10 minutes by default.
    pub approve: Duration,
    /// How long a tool may take for one step in its session's life; 5 seconds by default.
    pub step: Duration,
    /// How long a tool that was asked to stop may go on before its call is abandoned; 2 seconds by default.
    pub grace: Duration,
    /// How long a tool may take to render a call or a result; 1 second by default.
    pub render: Duration,
    /// How many bytes of text and images a result, or what is streamed of one, may have; 1 MiB by default. The rest is
    /// cut, and the model told so.
    pub result_bytes: usize,
    /// How many actions tools may have pending; 1,000 by default. More are refused, until some are resolved.
    pub pending: usize,
    /// How many bytes of details and dependencies, as JSON, an action of a tool may have; 16 MiB by default. One with more
    /// is refused.
    pub action_bytes: usize,
}

impl Limits {
    /// The same limits with this one for the end of the session.
    #[must_use]
    pub fn with_end(mut self, limit: Duration) -> Self {
        self.end = limit;
        self
    }

    /// The same limits with this one for a decision on an apply.
    #[must_use]
    pub fn with_approve(mut self, limit: Duration) -> Self {
        self.approve = limit;
        self
    }

    /// The same limits with this one for a tool's handling of a step.
    #[must_use]
    pub fn with_step(mut self, limit: Duration) -> Self {
        self.step = limit;
        self
    }

    /// The same limits with this time between a soft and a hard stop.
    #[must_use]
    pub fn with_grace(mut self, limit: Duration) -> Self {
        self.grace = limit;
        self
    }

    /// The same limits with this one for rendering.
    #[must_use]
    pub fn with_render(mut self, limit: Duration) -> Self {
        self.render = limit;
        self
    }

    /// The same limits with this size of a result.
    #[must_use]
    pub fn with_result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = bytes;
        self
    }

    /// The same limits with this number of pending actions.
    #[must_use]
    pub fn with_pending(mut self, most: usize) -> Self {
        self.pending = most;
        self
    }

    /// The same limits with this size of an action.
    #[must_use]
    pub fn with_action_bytes(mut self, bytes: usize) -> Self {
        self.action_bytes = bytes;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            end: Duration::from_secs(10),
            approve: Duration::from_secs(600),
            step: Duration::from_secs(5),
            grace: Duration::from_secs(2),
            render: Duration::from_secs(1),
            result_bytes: 1024 * 1024,
            pending: 1_000,
            action_bytes: 16 * 1024 * 1024,
        }
    }
}

/// Why what is pending is discarded; it is the reason that rejects are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// The program is done with the session.
    Shutdown,
    /// A person interrupted it.
    Interrupted,
    /// Nobody decided on what it staged.
    Undecided,
    /// Its last handle was dropped.
    Dropped,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shutdown => "the session ended",
            Self::Interrupted => "the session was interrupted",
            Self::Undecided => "the session ended without a decision",
            Self::Dropped => "the session was dropped",
        })
    }
}

/// What is discarded at a step in a session's life, and why; nothing at most of them.
pub(super) fn discards(step: &SessionStep) -> Option<&'static str> {
    match step {
        SessionStep::Switch => Some("the session was switched"),
        SessionStep::Branch => Some("the session was branched"),
        _ => None,
    }
}

/// What the end of a session did to what was pending.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct EndReport {
    /// What was discarded, the topmost first.
    pub discarded: Vec<Resolution>,
    /// What was discarded without a clean-up, since the time was over.
    pub not_cleaned_up: Vec<Arc<Pending>>,
    /// What was still being resolved when the time was over; nobody knows how it went.
    pub unknown: Option<Arc<Pending>>,
}
