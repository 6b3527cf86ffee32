//! How much of a step one thread issues.

use super::sequential::SequentialPart;
use super::share::{proportion, share_before, thread_share};
use super::stimulus::{Bounds, Pacing, Step, Stimulus, Stream};

/// What a thread may still issue. A step that ends by time gives it more than it can ever use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    bytes: u64,
    ios: u64,
}

impl Budget {
    /// That of one of the stream's threads. The step's own amounts are those of its only stream.
    pub(super) fn new(step: &Step, stream: &Stream, thread: u32) -> Self {
        let (stimulus, Bounds { amount_bytes, ios, .. }) = (&stream.stimulus, stream.bounds);
        let least = |step: Option<u64>, own: Option<u64>| step.into_iter().chain(own).min();
        let amount_bytes = least(step.stop.amount_bytes, amount_bytes);
        Self {
            bytes: amount_bytes.map_or(u64::MAX, |amount| bytes_of(amount, stimulus, thread)),
            ios: least(step.stop.ios, ios).map_or(u64::MAX, |ios| ios_of(ios, stimulus, thread)),
        }
    }

    /// More than a thread can ever use.
    pub(super) const fn unlimited() -> Self {
        Self { bytes: u64::MAX, ios: u64::MAX }
    }

    #[inline]
    pub(super) fn is_spent(&self) -> bool {
        self.bytes == 0 || self.ios == 0
    }

    #[inline]
    pub(super) fn spend(&mut self, bytes: u32) {
        self.ios -= 1;
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
    }
}

/// A thread's share of a step's I/Os: an even one, and of bursts what the thread has of each of them.
fn ios_of(ios: u64, stimulus: &Stimulus, thread: u32) -> u64 {
    match stimulus.pacing {
        Pacing::Burst { ios: burst, .. } => {
            let burst = u64::from(burst);
            ios / burst * thread_share(burst, thread, stimulus.tc)
                + thread_share(ios % burst, thread, stimulus.tc)
        }
        _ => thread_share(ios, thread, stimulus.tc),
    }
}

/// A thread's share of a step's bytes. Sequential threads get it in proportion to their parts of the range,
/// so that all make the same number of passes, random ones evenly, those of bursts in proportion to what
/// they have of each. All shares but the last are whole blocks: with a single block size the threads
/// together exceed the amount by less than one block.
fn bytes_of(amount: u64, stimulus: &Stimulus, thread: u32) -> u64 {
    let block = u64::from(stimulus.largest_block_bytes());
    let before = |thread: u32| {
        let bytes = match (stimulus.pacing, stimulus.random_pct) {
            _ if thread == stimulus.tc => return amount,
            (Pacing::Burst { ios, .. }, _) => {
                proportion(amount, share_before(ios.into(), thread, stimulus.tc), ios.into())
            }
            (_, 0) => {
                let range = stimulus.range();
                let edge = SequentialPart::new(stimulus, thread).start() - range.start;
                proportion(amount, edge, range.end - range.start)
            }
            (_, 1..) => proportion(amount, u64::from(thread), u64::from(stimulus.tc)),
        };
        if bytes == amount { bytes } else { bytes - bytes % block }
    };
    before(thread + 1) - before(thread)
}
