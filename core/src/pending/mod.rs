//! What waits for a decision.

mod action;
mod hash;
mod outcomes;
mod store;

pub(crate) use action::DEFAULT_SOURCE;
pub use action::{Pending, PendingAction, RejectOutcome};
pub(crate) use hash::Preview;
pub use hash::preview_hash;
pub(crate) use outcomes::Outcome;
pub(crate) use store::{Claim, Refusal, RunEnd};
pub use store::{PendingActionStore, PushError};
