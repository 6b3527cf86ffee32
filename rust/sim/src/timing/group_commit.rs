//! Writes without a cache: each waits until its data are programmed, together with those of others.

use crate::drive::Completion;
use crate::time::{NEVER, Ps};

/// A write whose data are in the open group.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    tag: u32,
    /// When all of it was across the link.
    across_ps: Ps,
}

/// The writes of the open group, and those that were programmed since somebody asked.
#[derive(Clone, Debug)]
pub struct GroupCommit {
    waiting: Vec<Waiting>,
    known: Vec<(u32, Completion)>,
    close_at_ps: Ps,
    /// When the first of all these was submitted.
    begun_ps: Ps,
    fixed_ps: Ps,
}

/// Nothing grows as long as no more than these are outstanding.
const MOST_OUTSTANDING: usize = 4096;

impl GroupCommit {
    /// No flush waits for others; answers come this long after their program.
    #[must_use]
    pub fn new(fixed_ps: Ps) -> Self {
        Self {
            waiting: Vec::with_capacity(MOST_OUTSTANDING),
            known: Vec::with_capacity(MOST_OUTSTANDING),
            close_at_ps: NEVER,
            begun_ps: 0,
            fixed_ps,
        }
    }

    /// A write that was submitted now waits. If it is the first of its group, the group is closed at the given
    /// moment, full or not.
    pub fn wait(&mut self, tag: u32, now_ps: Ps, across_ps: Ps, close_at_ps: Ps) {
        if self.waiting.is_empty() {
            self.close_at_ps = close_at_ps;
            if self.known.is_empty() {
                self.begun_ps = now_ps;
            }
        }
        self.waiting.push(Waiting { tag, across_ps });
    }

    /// The open group will be programmed by then.
    #[inline]
    pub fn programmed(&mut self, done_ps: Ps) {
        let fixed_ps = self.fixed_ps;
        self.known.extend(self.waiting.drain(..).map(|waiting| {
            let at_ps = done_ps.max(waiting.across_ps) + fixed_ps;
            (waiting.tag, Completion { at_ps, error: None })
        }));
        self.close_at_ps = NEVER;
    }

    /// When the open group has to be closed; [`NEVER`] if no flush waits.
    #[inline]
    #[must_use]
    pub const fn close_at_ps(&self) -> Ps {
        self.close_at_ps
    }

    /// When the next answer comes, or when its moment gets known.
    #[must_use]
    pub fn next_answer_ps(&self) -> Ps {
        let known = self.known.iter().map(|(_, completion)| completion.at_ps).min();
        known.unwrap_or(NEVER).min(self.close_at_ps)
    }

    /// Hand over what is known; gives a moment since which some of these were outstanding all the time.
    pub fn take_known(&mut self, answered: &mut Vec<(u32, Completion)>) -> Ps {
        answered.append(&mut self.known);
        self.begun_ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_group_decides_when_it_closes() {
        let mut commits = GroupCommit::new(5);
        assert_eq!(commits.next_answer_ps(), NEVER);
        commits.wait(3, 8, 10, 100);
        commits.wait(4, 9, 700, 800);
        assert_eq!((commits.close_at_ps(), commits.next_answer_ps()), (100, 100));
        commits.programmed(600);
        assert_eq!((commits.close_at_ps(), commits.next_answer_ps()), (NEVER, 605));
        commits.wait(3, 890, 900, 950);
        assert_eq!(commits.next_answer_ps(), 605);
        let mut answered = Vec::new();
        assert_eq!(commits.take_known(&mut answered), 8);
        // No flush is answered before all data were across.
        let at = |at_ps| Completion { at_ps, error: None };
        assert_eq!(answered, [(3, at(605)), (4, at(705))]);
        assert_eq!(commits.next_answer_ps(), 950);
    }
}
