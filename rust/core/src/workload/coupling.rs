//! Streams of one step whose I/Os keep a ratio while they run.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::stimulus::Step;

/// A stream may be ahead of the last one by one round and this share of those that were done, so that
/// threads need not wait for each other with every few I/Os.
const ROUNDS_PER_ROUND_AHEAD: u64 = 512;
/// And by this many I/Os of all of them, or one round, at most.
const MOST_AHEAD_IOS: u64 = 256;

/// What the coupled streams of a step have issued. A round is as many I/Os of each as its share.
///
/// Streams without a share are none of it: their threads never look at it.
#[derive(Debug)]
pub struct Coupling {
    /// One for each stream of the step.
    members: Box<[Member]>,
    most_rounds_ahead: u64,
    /// Threads join and leave one at a time.
    turnstile: Mutex<()>,
}

/// A stream. Its threads write into it with every I/O: no other one's are on the same cache line.
#[derive(Debug)]
#[repr(align(128))]
struct Member {
    /// 0: it is not coupled.
    share: u64,
    /// Since the step's start; for a stream that joined later, as if it had been there.
    issued: AtomicU64,
    /// Threads that go on issuing.
    threads: AtomicU32,
}

impl Coupling {
    /// That of a step; none where no stream has a share. Streams that start with the step take part from the
    /// beginning, whenever their threads come; those that are delayed have to [join](Self::join).
    #[must_use]
    pub fn of(step: &Step) -> Option<Self> {
        let shares = step.streams.iter().map(|stream| u64::from(stream.share));
        let divisor = shares.clone().fold(0, greatest_common_divisor);
        if divisor == 0 {
            return None;
        }
        let members = step.streams.iter().map(|stream| Member {
            share: u64::from(stream.share) / divisor,
            issued: AtomicU64::new(0),
            threads: AtomicU32::new(if stream.delay_ns == 0 { stream.stimulus.tc } else { 0 }),
        });
        Some(Self {
            members: members.collect(),
            most_rounds_ahead: (MOST_AHEAD_IOS / shares.map(|share| share / divisor).sum::<u64>()).max(1),
            turnstile: Mutex::default(),
        })
    }

    /// Whether the stream may issue its next I/O: it is not too far ahead of the others.
    #[inline]
    #[must_use]
    pub fn may_issue(&self, stream: usize) -> bool {
        let Some(rounds) = self.rounds() else { return true };
        let ahead = (1 + rounds / ROUNDS_PER_ROUND_AHEAD).min(self.most_rounds_ahead);
        let Member { share, issued, .. } = &self.members[stream];
        issued.load(Ordering::Relaxed) < share.saturating_mul(rounds.saturating_add(ahead))
    }

    /// The stream has issued an I/O; true if that was the last one of a round.
    #[inline]
    pub fn issued(&self, stream: usize) -> bool {
        let Member { share, issued, .. } = &self.members[stream];
        (issued.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(*share)
    }

    /// A thread of a delayed stream begins: the stream takes part from here on, as far as the others are.
    pub fn join(&self, stream: usize) {
        let _one_at_a_time = self.turnstile.lock().unwrap_or_else(PoisonError::into_inner);
        let Member { share, issued, threads } = &self.members[stream];
        if threads.load(Ordering::Relaxed) == 0 {
            issued.store(share * self.rounds().unwrap_or(0), Ordering::Relaxed);
        }
        threads.fetch_add(1, Ordering::Relaxed);
    }

    /// A thread will issue nothing more. When the last one of a stream has left, the others no longer wait
    /// for it.
    pub fn leave(&self, stream: usize) {
        let _one_at_a_time = self.turnstile.lock().unwrap_or_else(PoisonError::into_inner);
        self.members[stream].threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whole rounds of the stream that is last; none where no stream runs.
    #[inline]
    fn rounds(&self) -> Option<u64> {
        let running =
            self.members.iter().filter(|one| one.share > 0 && one.threads.load(Ordering::Relaxed) > 0);
        running.map(|one| one.issued.load(Ordering::Relaxed) / one.share).min()
    }
}

fn greatest_common_divisor(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}

#[cfg(test)]
mod tests {
    use super::super::stimulus::{OperationWeights, Stimulus, Stop, Stream};
    use super::*;
    use proptest::prelude::*;

    fn coupling(shares: &[u32]) -> Coupling {
        let stimulus = Stimulus::random(OperationWeights::reads_pct(100), 4096, 0..1 << 20);
        let streams = shares.iter().map(|&share| Stream { share, ..Stream::new(stimulus.clone()) });
        Coupling::of(&Step { streams: streams.collect(), ..Step::new(None, Stop::default()) }).unwrap()
    }

    /// Issue with the stream for as long as it may.
    fn issue_all(coupling: &Coupling, stream: usize) -> u64 {
        let mut ios = 0;
        while coupling.may_issue(stream) {
            coupling.issued(stream);
            ios += 1;
        }
        ios
    }

    #[test]
    fn a_step_without_shares_has_none() {
        let stimulus = Stimulus::random(OperationWeights::reads_pct(100), 4096, 0..1 << 20);
        assert!(Coupling::of(&Step::new(Some(stimulus), Stop::default())).is_none());
    }

    proptest! {
        #[test]
        fn in_any_order_the_ratio_holds_but_for_a_round_and_a_hundredth(
            shares in prop::collection::vec(1..100_u32, 2..6),
            order in prop::collection::vec(0..6_usize, 500),
        ) {
            let coupling = coupling(&shares);
            let divisor = shares.iter().fold(0, |left, &right| greatest_common_divisor(left, right.into()));
            let mut issued = vec![0_u64; shares.len()];
            for stream in order {
                let stream = stream % shares.len();
                issued[stream] += issue_all(&coupling, stream);
                let rounds: Vec<_> = (issued.iter().zip(&shares))
                    .map(|(ios, &share)| *ios as f64 / (u64::from(share) / divisor) as f64)
                    .collect();
                let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
                for done in rounds {
                    prop_assert!(done - least <= 2.0 + least / 100.0, "{done} and {least}");
                }
            }
        }

        #[test]
        fn there_is_always_one_that_may(shares in prop::collection::vec(1..50_u32, 2..6)) {
            let coupling = coupling(&shares);
            for _ in 0..20 {
                let done = (0..shares.len()).map(|stream| issue_all(&coupling, stream)).sum::<u64>();
                prop_assert!(done > 0);
            }
        }
    }

    #[test]
    fn those_who_left_hold_no_one_back() {
        let coupling = coupling(&[1, 3, 0]);
        assert_eq!(issue_all(&coupling, 1), 3);
        assert!(!coupling.may_issue(1));
        coupling.leave(0);
        for _ in 0..10_000 {
            assert!(coupling.may_issue(1));
            coupling.issued(1);
        }
    }

    #[test]
    fn who_joins_late_need_not_catch_up() {
        let coupling = coupling(&[1, 1]);
        coupling.leave(0);
        for _ in 0..1000 {
            coupling.issued(1);
        }
        coupling.join(0);
        assert!(issue_all(&coupling, 0) < 20);
    }
}
