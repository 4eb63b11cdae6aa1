//! What holds however threads interleave. Run by a model checker: `cargo xtask model-check`.

use shuttle::thread;

use super::*;

/// How many schedules are tried.
const SCHEDULES: usize = 5_000;

fn push(store: &PendingActionStore) -> Arc<Pending> {
    store.push(PendingAction::new("x", |_| async { Ok("".into()) })).expect("the store is open")
}

/// Works through the queue as the driver does; every second apply fails. Returns what was applied, in order.
fn drive(store: &PendingActionStore, running: &AtomicU32) -> Vec<u64> {
    let (mut applied, mut runs) = (Vec::new(), 0);
    while let Some(claim) = store.next_claim() {
        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two run at once");
        assert!(store.begin());
        thread::yield_now();
        runs += 1;
        let end = match runs % 2 {
            0 => RunEnd::ApplyFailed { message: "no".into() },
            _ => RunEnd::Applied,
        };
        running.fetch_sub(1, Ordering::SeqCst);
        if end == RunEnd::Applied {
            applied.push(claim.pending.position);
        }
        drop(store.finish(&claim, &end, Duration::ZERO));
    }
    applied
}

/// Claims the topmost, and drives where that is this thread's part.
fn resolve(store: &PendingActionStore, running: &AtomicU32) -> Vec<u64> {
    match store.claim(ResolveRequest::apply("r"), None) {
        Ok(claimed) if claimed.start => drive(store, running),
        _ => Vec::new(),
    }
}

fn spawn_resolve(store: &PendingActionStore, running: &Arc<AtomicU32>) -> thread::JoinHandle<Vec<u64>> {
    let (store, running) = (store.clone(), running.clone());
    thread::spawn(move || resolve(&store, &running))
}

#[test]
fn each_action_is_applied_at_most_once_and_none_is_lost() {
    shuttle::check_random(
        || {
            let store = PendingActionStore::new();
            let running = Arc::new(AtomicU32::new(0));
            let before: Vec<_> = (0..3).map(|_| push(&store).position).collect();
            let resolving: Vec<_> = (0..3).map(|_| spawn_resolve(&store, &running)).collect();
            let during = {
                let store = store.clone();
                thread::spawn(move || push(&store).position)
            };
            let mut seen: Vec<_> = resolving.into_iter().flat_map(|each| each.join().expect("no panic")).collect();
            let pushed = during.join().expect("no panic");
            seen.extend(store.list().iter().map(|pending| pending.position));
            seen.sort_unstable();
            let all: Vec<_> = before.into_iter().chain([pushed]).collect();
            assert_eq!(seen, all, "applied or still pending, each once");
        },
        SCHEDULES,
    );
}

#[test]
fn nothing_enters_a_store_that_ends() {
    shuttle::check_random(
        || {
            let store = PendingActionStore::new();
            push(&store);
            let running = Arc::new(AtomicU32::new(0));
            let late = {
                let store = store.clone();
                thread::spawn(move || store.push(PendingAction::new("late", |_| async { Ok("".into()) })).is_ok())
            };
            let resolving = spawn_resolve(&store, &running);
            store.close();
            let mut discarding = store.claim_all("over");
            if discarding.iter().any(|claimed| claimed.start) {
                drive(&store, &running);
            }
            let (accepted, _) = (late.join().expect("no panic"), resolving.join().expect("no panic"));
            discarding.extend(store.claim_all("over"));
            let (_, dropped) = store.abandon();
            assert!(!store.has_pending());
            assert!(store.push(PendingAction::new("later", |_| async { Ok("".into()) })).is_err());
            // What was accepted was claimed by the end, or dropped by it.
            assert!(!accepted || !discarding.is_empty() || !dropped.is_empty());
        },
        SCHEDULES,
    );
}

#[test]
fn a_pop_and_a_claim_never_get_the_same_action() {
    shuttle::check_random(
        || {
            let store = PendingActionStore::new();
            let only = push(&store).position;
            let running = Arc::new(AtomicU32::new(0));
            let resolving = spawn_resolve(&store, &running);
            let popped = store.pop().map(|pending| pending.position);
            let applied = resolving.join().expect("no panic");
            assert_eq!(popped.into_iter().chain(applied).collect::<Vec<_>>(), [only]);
        },
        SCHEDULES,
    );
}
