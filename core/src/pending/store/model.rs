//! Any sequence of operations leaves the store as it leaves a plain model of it.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::pending::claim::Claim;

#[derive(Debug, Clone)]
enum Operation {
    Push,
    Pop,
    /// Claims the topmost.
    Claim,
    /// Claims the n-th of all actions that ever were.
    ClaimId(usize),
    Expire(usize),
    /// Takes up the next claim and ends it like this.
    Run(RunEnd),
    CloseAll,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let message = || "no".to_owned();
    let end = prop_oneof![
        Just(RunEnd::Applied),
        Just(RunEnd::ApplyFailed { message: message() }),
        Just(RunEnd::Discarded { cleanup_failure: None }),
        Just(RunEnd::Discarded { cleanup_failure: Some(message()) }),
        Just(RunEnd::NotRun { message: message() }),
    ];
    let operation = prop_oneof![
        4 => Just(Operation::Push),
        1 => Just(Operation::Pop),
        3 => Just(Operation::Claim),
        2 => (0..30usize).prop_map(Operation::ClaimId),
        1 => (0..30usize).prop_map(Operation::Expire),
        4 => end.prop_map(Operation::Run),
        1 => Just(Operation::CloseAll),
    ];
    vec(operation, 1..60)
}

/// The store as one would draw it: numbers in the order of their pushes.
#[derive(Debug, Default)]
struct Model {
    pushed: usize,
    /// The top is the end.
    stack: Vec<usize>,
    /// With whether somebody asked for it.
    queue: VecDeque<(usize, bool)>,
    attempts: HashMap<usize, u32>,
    /// How often each was applied.
    applied: HashMap<usize, u32>,
}

impl Model {
    fn put_back(&mut self, number: usize) {
        self.stack.push(number);
        self.stack.sort_unstable();
    }

    fn take(&mut self, number: usize) -> bool {
        let at = self.stack.iter().position(|each| *each == number);
        at.map(|at| self.stack.remove(at)).is_some()
    }

    fn run(&mut self, end: &RunEnd) -> Option<(usize, Vec<usize>)> {
        let (number, _) = self.queue.pop_front()?;
        match end {
            RunEnd::Applied => *self.applied.entry(number).or_default() += 1,
            RunEnd::Discarded { .. } => {}
            RunEnd::ApplyFailed { .. } => {
                *self.attempts.entry(number).or_default() += 1;
                self.put_back(number);
            }
            RunEnd::NotRun { .. } => self.put_back(number),
        }
        let mut held = Vec::new();
        if !matches!(end, RunEnd::Applied | RunEnd::Discarded { cleanup_failure: None }) {
            held = self.queue.iter().filter(|(_, asked)| *asked).map(|(number, _)| *number).collect();
            self.queue.retain(|(_, asked)| !asked);
            held.iter().for_each(|number| self.put_back(*number));
        }
        Some((number, held))
    }
}

/// The store beside its model.
#[derive(Default)]
struct Pair {
    store: PendingActionStore,
    ids: Vec<String>,
    model: Model,
}

impl Pair {
    fn number(&self, pending: &Pending) -> usize {
        self.ids.iter().position(|id| *id == pending.id).unwrap()
    }

    fn id(&self, number: usize) -> String {
        self.ids.get(number).cloned().unwrap_or_else(|| "none".to_owned())
    }

    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Push => {
                let pending = self.store.push(PendingAction::new("x", |_| async { Ok("".into()) })).unwrap();
                self.ids.push(pending.id.clone());
                self.model.stack.push(self.model.pushed);
                self.model.pushed += 1;
            }
            Operation::Pop => {
                let popped = self.store.pop().map(|pending| self.number(&pending));
                assert_eq!(popped, self.model.stack.pop());
            }
            Operation::Claim => {
                let claimed = self.store.claim(ResolveRequest::apply("r"), None).is_ok();
                let top = self.model.stack.pop();
                assert_eq!(claimed, top.is_some());
                self.model.queue.extend(top.map(|number| (number, true)));
            }
            Operation::ClaimId(number) => {
                let claimed = self.store.claim(ResolveRequest::apply("r").with_id(self.id(number)), None).is_ok();
                assert_eq!(claimed, self.model.take(number));
                self.model.queue.extend(claimed.then_some((number, true)));
            }
            Operation::Expire(number) => {
                let claimed = self.store.claim_expired(&self.id(number)).is_some();
                assert_eq!(claimed, self.model.take(number));
                self.model.queue.extend(claimed.then_some((number, false)));
            }
            Operation::Run(end) => self.run(&end),
            Operation::CloseAll => {
                let claimed = self.store.claim_all("over").len();
                assert_eq!(claimed, self.model.stack.len());
                while let Some(number) = self.model.stack.pop() {
                    self.model.queue.push_back((number, false));
                }
            }
        }
        self.check();
    }

    fn run(&mut self, end: &RunEnd) {
        let claim = self.store.next_claim();
        let expected = self.model.run(end);
        let ran = claim.map(|claim: Claim| {
            assert!(self.store.begin());
            let held = self.store.finish(&claim, end, Duration::ZERO);
            (self.number(&claim.pending), held.iter().map(|held| self.number(&held.pending)).collect())
        });
        assert_eq!(ran, expected);
    }

    fn check(&self) {
        let stack: Vec<_> = self.store.list().iter().rev().map(|pending| self.number(pending)).collect();
        assert_eq!(stack, self.model.stack);
        for pending in self.store.list() {
            let expected = self.model.attempts.get(&self.number(&pending)).copied().unwrap_or(0);
            assert_eq!(pending.attempts(), expected);
        }
        assert!(self.model.applied.values().all(|times| *times == 1), "applied twice: {:?}", self.model.applied);
        assert_eq!(self.store.has_pending(), !stack.is_empty());
        assert_eq!(self.store.peek().map(|pending| self.number(&pending)), stack.last().copied());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_store_is_its_model(operations in operations()) {
        let mut pair = Pair::default();
        operations.into_iter().for_each(|operation| pair.step(operation));
    }
}
