//! What one thread measured in one step; threads share nothing while they measure.

use crate::histogram::LatencyHistogram;
use crate::workload::{Direction, Io};

/// How a thread's step ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepState {
    /// By its stop rule.
    #[default]
    Complete,
    /// The operator stopped the run.
    Interrupted,
    /// An I/O failed, here or in another thread.
    Failed,
}

impl StepState {
    /// The word for records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// The first I/O of a thread that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// When it was reaped, on the engine's clock.
    pub at_ns: u64,
    /// The I/O.
    pub io: Io,
    /// What went wrong, in words.
    pub reason: String,
}

/// Counts of one direction within one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) ios: u64,
    pub(super) bytes: u64,
    pub(super) latency_sum_ns: u64,
    pub(super) latency_max_ns: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency_max_ns = self.latency_max_ns.max(other.latency_max_ns);
    }
}

/// One value for each direction.
#[derive(Clone, Debug, Default)]
pub(super) struct ByDirection<T> {
    pub(super) read: T,
    pub(super) write: T,
}

impl<T> ByDirection<T> {
    #[inline]
    pub(super) fn of(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
        }
    }
}

/// One thread's measurements of one step. Times are on the engine's clock.
#[derive(Debug, Default)]
pub(super) struct Shard {
    pub(super) state: StepState,
    pub(super) first_submission_ns: Option<u64>,
    pub(super) last_completion_ns: Option<u64>,
    pub(super) bytes: ByDirection<u64>,
    pub(super) latencies: ByDirection<LatencyHistogram>,
    pub(super) intervals: Vec<ByDirection<Counts>>,
    pub(super) failure: Option<Failure>,
    interval_end_ns: u64,
    interval_ns: u64,
}

impl Shard {
    /// Forget the step before, keeping the memory, and count intervals from `start_ns` on.
    pub(super) fn reset(&mut self, start_ns: u64, interval_ns: u64) {
        self.state = StepState::Complete;
        self.first_submission_ns = None;
        self.last_completion_ns = None;
        self.bytes = ByDirection::default();
        self.latencies.read.clear();
        self.latencies.write.clear();
        self.intervals.clear();
        self.intervals.push(ByDirection::default());
        self.failure = None;
        self.interval_ns = interval_ns;
        self.interval_end_ns = start_ns + interval_ns;
    }

    #[inline]
    pub(super) fn completed(&mut self, io: &Io, submitted_ns: u64, now_ns: u64) {
        let latency_ns = now_ns - submitted_ns;
        self.latencies.of(io.direction).record(latency_ns);
        *self.bytes.of(io.direction) += u64::from(io.length_bytes);
        while now_ns >= self.interval_end_ns {
            self.intervals.push(ByDirection::default());
            self.interval_end_ns += self.interval_ns;
        }
        let interval = self.intervals.last_mut().expect("reset leaves one");
        interval.of(io.direction).add(&Counts {
            ios: 1,
            bytes: u64::from(io.length_bytes),
            latency_sum_ns: latency_ns,
            latency_max_ns: latency_ns,
        });
        self.last_completion_ns = Some(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(direction: Direction) -> Io {
        Io { direction, offset_bytes: 0, length_bytes: 4096 }
    }

    #[test]
    fn an_io_counts_in_the_interval_in_which_it_completes() {
        let mut shard = Shard::default();
        shard.reset(1_000, 100);
        for (submitted_ns, now_ns) in [(1_000, 1_099), (1_000, 1_100), (1_050, 1_420)] {
            shard.completed(&io(Direction::Write), submitted_ns, now_ns);
        }
        let ios: Vec<_> = shard.intervals.iter().map(|interval| interval.write.ios).collect();
        assert_eq!(ios, [1, 1, 0, 0, 1]);
        assert_eq!(shard.intervals[4].write.latency_max_ns, 370);
        assert_eq!(shard.latencies.write.sum_ns(), 99 + 100 + 370);
        assert_eq!(shard.bytes.write, 3 * 4096);
        assert_eq!(shard.latencies.read.count(), 0);
    }

    #[test]
    fn a_reset_shard_is_as_good_as_new() {
        let mut shard = Shard::default();
        shard.reset(0, 10);
        shard.completed(&io(Direction::Read), 0, 500);
        shard.reset(1_000, 10);
        assert_eq!(shard.intervals.len(), 1);
        assert_eq!(shard.latencies.read.count(), 0);
        assert_eq!((shard.bytes.read, shard.last_completion_ns), (0, None));
    }
}
