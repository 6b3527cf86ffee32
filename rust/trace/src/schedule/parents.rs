//! What was in flight when an I/O was issued, and on whose completions it may have waited.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use openpts_core::workload::{FARTHEST_PARENT, MOST_PARENTS};

/// An answer that came less than this before an I/O was issued was not what it waited for.
const LEAST_NS: u64 = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Answered {
    done_ns: u64,
    issued_ns: u64,
    index: u64,
}

/// Follows a trace from front to back. Memory is for what is in flight.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    /// In flight, the first to be answered first.
    flying: BinaryHeap<Reverse<Answered>>,
    /// Answered, but less than the least time ago.
    recent: Vec<Answered>,
    /// Answered, and not waited for by another that is.
    frontier: Vec<Answered>,
    /// The last issue of all that are answered.
    latest_issue_ns: Option<u64>,
    /// Parents that a record had no room for, or that are too far back.
    pub(super) dropped: u64,
}

/// What an I/O waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parents {
    pub(super) back: [u32; MOST_PARENTS],
    pub(super) slack_ns: u64,
}

impl Dependencies {
    /// How many others are in flight at this moment; answers at the same moment came before.
    pub(super) fn at(&mut self, now_ns: u64) -> u64 {
        while let Some(Reverse(first)) = self.flying.peek()
            && first.done_ns <= now_ns
        {
            self.recent.push(*first);
            self.flying.pop();
        }
        self.flying.len() as u64
    }

    /// What the I/O of this number, which is issued at this moment, waited for: those that were answered, less
    /// those that another one of them waited for already.
    pub(super) fn parents(&mut self, index: u64, now_ns: u64) -> Parents {
        let Self { recent, frontier, latest_issue_ns, .. } = self;
        recent.retain(|one| {
            let is_old = one.done_ns.saturating_add(LEAST_NS) <= now_ns;
            if is_old {
                *latest_issue_ns = (*latest_issue_ns).max(Some(one.issued_ns));
                frontier.push(*one);
            }
            !is_old
        });
        // At equal moments one may have waited for the other or not: then both are waited for.
        frontier.retain(|one| latest_issue_ns.is_none_or(|latest_ns| one.done_ns >= latest_ns));
        frontier.sort_unstable_by_key(|one| Reverse((one.done_ns, one.index)));
        let mut parents = Parents::default();
        let Some(last) = frontier.first() else { return parents };
        parents.slack_ns = now_ns - last.done_ns;
        let near = frontier.iter().filter(|one| index - one.index <= u64::from(FARTHEST_PARENT));
        let mut kept = 0;
        for (place, one) in parents.back.iter_mut().zip(near) {
            *place = (index - one.index) as u32;
            kept += 1;
        }
        self.dropped += frontier.len() as u64 - kept;
        parents
    }

    /// The I/O of this number was issued, and will be answered at that moment.
    pub(super) fn issued(&mut self, index: u64, issued_ns: u64, done_ns: u64) {
        self.flying.push(Reverse(Answered { done_ns, issued_ns, index }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_those_that_no_other_parent_waited_for_are_parents() {
        let mut found = Dependencies::default();
        // 0 and 1 side by side; 2 after both; 3 while 2 is in flight; 4 after 2 and 3.
        let ios = [(0, 10_000), (1, 20_000), (25_000, 60_000), (30_000, 70_000), (90_000, 95_000)];
        let mut parents = Vec::new();
        for (index, (issued_ns, done_ns)) in (0..).zip(ios) {
            found.at(issued_ns);
            parents.push(found.parents(index, issued_ns));
            found.issued(index, issued_ns, done_ns);
        }
        let of = |back: [u32; 4], slack_ns| Parents { back, slack_ns };
        assert_eq!(
            parents,
            [
                of([0; 4], 0),
                of([0; 4], 0),
                of([1, 2, 0, 0], 5_000),
                of([2, 3, 0, 0], 10_000),
                of([1, 2, 0, 0], 20_000),
            ]
        );
    }

    proptest! {
        #[test]
        fn parents_are_the_reduction_of_all_that_were_answered_before(
            ios in prop::collection::vec((0..5_000_u64, 1..30_000_u64), 1..60),
        ) {
            let mut found = Dependencies::default();
            let mut before: Vec<(u64, u64)> = Vec::new();
            let mut now_ns = 0;
            for (index, (gap_ns, latency_ns)) in (0..).zip(ios) {
                now_ns += gap_ns;
                let in_flight = before.iter().filter(|(_, done_ns)| *done_ns > now_ns).count();
                prop_assert_eq!(found.at(now_ns), in_flight as u64);
                let answered: Vec<usize> =
                    (0..before.len()).filter(|one| before[*one].1 + LEAST_NS <= now_ns).collect();
                let is_implied = |one: &usize| answered.iter().any(|other| before[*other].0 > before[*one].1);
                let mut expected: Vec<usize> =
                    answered.iter().copied().filter(|one| !is_implied(one)).collect();
                expected.sort_by_key(|one| Reverse((before[*one].1, *one)));
                let back: Vec<u32> = expected.iter().take(MOST_PARENTS).map(|one| (index - *one as u64) as u32).collect();
                let parents = found.parents(index, now_ns);
                let kept: Vec<u32> = parents.back.into_iter().filter(|back| *back > 0).collect();
                prop_assert_eq!(kept, back);
                found.issued(index, now_ns, now_ns + latency_ns);
                before.push((now_ns, now_ns + latency_ns));
            }
        }
    }
}
