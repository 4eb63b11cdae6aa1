//! What waits for a decision.

mod action;
mod claim;
mod depends;
mod hash;
mod outcomes;
mod push_error;
mod store;

pub(crate) use action::DEFAULT_SOURCE;
pub use action::{Pending, PendingAction, RejectOutcome};
pub(crate) use claim::{Claim, Refusal, RunEnd};
pub(crate) use depends::verify;
pub(crate) use hash::Preview;
pub use hash::preview_hash;
pub(crate) use outcomes::Outcome;
pub use push_error::PushError;
pub use store::PendingActionStore;
