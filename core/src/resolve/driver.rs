use tokio::runtime::Handle;

use super::run::{self, Approval};
use super::text;
use crate::PendingActionStore;

/// Works through a store's queue in a task of its own, so that no caller's going away stops an apply half way.
pub(super) fn spawn(store: PendingActionStore, approval: Approval, runtime: &Handle) {
    // Made here, so that it notices also where the runtime is shutting down and never polls the task.
    let mut driver = Driver { store, approval, ended: false };
    runtime.spawn(async move { driver.drive().await });
}

struct Driver {
    store: PendingActionStore,
    approval: Approval,
    ended: bool,
}

impl Driver {
    async fn drive(&mut self) {
        while let Some(claim) = self.store.next_claim() {
            let ran = run::run(&self.store, &self.approval, &claim).await;
            for held in self.store.finish(&claim, &ran.end, ran.duration) {
                let answer = text::held(&held, &claim.pending, None);
                held.answer(answer);
            }
            claim.answer(ran.resolution);
        }
        self.ended = true;
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if !self.ended {
            self.store.driver_lost();
        }
    }
}
