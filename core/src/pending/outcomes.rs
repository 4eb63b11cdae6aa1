use std::collections::{HashMap, VecDeque};
use std::fmt;

/// How many ended actions a store remembers, so that a late `resolve` can be told what became of its action.
const REMEMBERED: usize = 1024;

/// What became of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Applied,
    Discarded,
    /// Its apply failed when its session was over already.
    Failed,
    /// Dropped, since nobody resolved it in time.
    Expired,
    /// Taken off the stack by the program, without a callback.
    Removed,
    /// Its apply was running when its session ended, and nobody saw how it went.
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Applied => "was already applied",
            Self::Discarded => "was already discarded",
            Self::Failed => "was dropped, since its apply failed after its session had ended",
            Self::Expired => "expired",
            Self::Removed => "was removed by the host",
            Self::Unknown => "was being applied when its session ended, with an unknown outcome",
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Outcomes {
    by_id: HashMap<String, Outcome>,
    order: VecDeque<String>,
}

impl Outcomes {
    pub(super) fn record(&mut self, id: &str, outcome: Outcome) {
        if self.by_id.insert(id.to_owned(), outcome).is_none() {
            self.order.push_back(id.to_owned());
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }

    pub(super) fn get(&self, id: &str) -> Option<Outcome> {
        self.by_id.get(id).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten() {
        let mut outcomes = Outcomes::default();
        for n in 0..=REMEMBERED {
            outcomes.record(&n.to_string(), Outcome::Applied);
        }
        assert_eq!(outcomes.get("0"), None);
        assert_eq!(outcomes.get("1"), Some(Outcome::Applied));
        assert_eq!(outcomes.by_id.len(), REMEMBERED);
    }
}
