//! The order in which renames can be done without overwriting anything.

/// One step: which entry moves, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// The index of the entry.
    pub(crate) entry: usize,
    /// How far it moves.
    pub(crate) leg: Leg,
}

/// How far a step moves its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leg {
    /// From its old name to its new one.
    Whole,
    /// From its old name to a temporary one, so that a cycle can start.
    Aside,
    /// From the temporary name to its new one.
    Home,
}

/// Orders renames. `blockers[i]` is the entry whose old name is the new name of entry `i`, if there is one; it may be
/// `i` itself, when a name changes in a way that its directory does not tell apart.
///
/// New names are distinct, so no entry blocks two others: the entries form chains, which are done from their end, and
/// cycles, which need one temporary name each.
pub(crate) fn order(blockers: &[Option<usize>]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(blockers.len());
    let mut seen = vec![false; blockers.len()];
    for first in 0..blockers.len() {
        let mut path = Vec::new();
        let mut next = Some(first);
        while let Some(entry) = next.filter(|&entry| !seen[entry]) {
            seen[entry] = true;
            path.push(entry);
            next = blockers[entry];
        }
        let is_cycle = !path.is_empty() && next == Some(first);
        let whole = |&entry: &usize| Step { entry, leg: Leg::Whole };
        if is_cycle {
            steps.push(Step { entry: first, leg: Leg::Aside });
            steps.extend(path.iter().skip(1).rev().map(whole));
            steps.push(Step { entry: first, leg: Leg::Home });
        } else {
            steps.extend(path.iter().rev().map(whole));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(blockers: &[Option<usize>]) -> String {
        let step = |step: &Step| match step.leg {
            Leg::Whole => step.entry.to_string(),
            Leg::Aside => format!("{}>", step.entry),
            Leg::Home => format!(">{}", step.entry),
        };
        order(blockers).iter().map(step).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_free_keeps_its_order() {
        assert_eq!(shown(&[]), "");
        assert_eq!(shown(&[None, None, None]), "0 1 2");
    }

    #[test]
    fn a_chain_starts_at_its_end() {
        assert_eq!(shown(&[Some(1), Some(2), None]), "2 1 0");
        assert_eq!(shown(&[None, Some(0), Some(1)]), "0 1 2");
        assert_eq!(shown(&[Some(2), None, Some(1), None]), "1 2 0 3");
    }

    #[test]
    fn a_cycle_takes_one_temporary_name() {
        assert_eq!(shown(&[Some(1), Some(0)]), "0> 1 >0");
        assert_eq!(shown(&[Some(1), Some(2), Some(0)]), "0> 2 1 >0");
        assert_eq!(shown(&[Some(0)]), "0> >0");
    }

    #[test]
    fn cycles_and_chains_stand_side_by_side() {
        assert_eq!(shown(&[Some(2), Some(3), Some(0), None, Some(4)]), "0> 2 >0 3 1 4> >4");
    }

    #[test]
    fn a_long_chain_and_a_long_cycle_need_no_stack() {
        let n = 100_000;
        let chain: Vec<_> = (0..n).map(|i| (i + 1 < n).then_some(i + 1)).collect();
        assert_eq!(order(&chain).len(), n);
        let cycle: Vec<_> = (0..n).map(|i| Some((i + 1) % n)).collect();
        assert_eq!(order(&cycle).len(), n + 1);
    }
}
