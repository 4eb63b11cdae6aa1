//! What a resolve puts on record, and when it has to be on the disk.

use std::io;

use toolhost_protocol::ResolveAction;

use crate::PendingActionStore;
use crate::journal::{Event, Journal, Record};
use crate::pending::{Claim, RunEnd};

/// Notes that a claim's turn has come.
pub(super) async fn claimed(store: &PendingActionStore, claim: &Claim, action: ResolveAction) {
    let event = Event::Claimed {
        id: id(claim),
        action,
        reason: claim.request.reason.clone(),
        attempt: claim.pending.attempts() + 1,
    };
    logged(write(store, event, false).await);
}

/// Notes that an apply begins. Only where that is on the disk may it.
pub(super) async fn applying(store: &PendingActionStore, claim: &Claim) -> io::Result<()> {
    write(store, Event::Applying { id: id(claim) }, true).await
}

/// Notes how it went.
pub(super) async fn ended(store: &PendingActionStore, claim: &Claim, end: &RunEnd, reason: &str) {
    let id = id(claim);
    let event = match end.clone() {
        RunEnd::Applied => Event::Applied { id },
        RunEnd::ApplyFailed { message } => Event::Failed { id, message },
        RunEnd::Discarded { .. } if claim.expires() => Event::Expired { id },
        RunEnd::Discarded { cleanup_failure } => Event::Discarded { id, reason: reason.to_owned(), cleanup_failure },
        RunEnd::NotRun { .. } => Event::Released { id },
    };
    let durable = !matches!(end, RunEnd::NotRun { .. });
    logged(write(store, event, durable).await);
}

fn id(claim: &Claim) -> String {
    claim.pending.id().to_owned()
}

async fn write(store: &PendingActionStore, event: Event, durable: bool) -> io::Result<()> {
    let Some(journal) = store.journal().cloned() else {
        return Ok(());
    };
    let writing = move |journal: Journal| {
        let record = Record::now(event);
        if durable { journal.append_durable(&record) } else { journal.append(&record) }
    };
    tokio::task::spawn_blocking(move || writing(journal)).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// What has happened has happened, on record or not.
fn logged(written: io::Result<()>) {
    if let Err(error) = written {
        tracing::error!(%error, "what became of a pending action could not be put on record");
    }
}
