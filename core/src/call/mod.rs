//! Running one tool call.

mod context;
mod error;
mod outcome;
mod running;

pub use context::CallContext;
pub(crate) use context::CallState;
pub use error::CallError;
pub use running::Call;
pub(crate) use running::Outcome;
