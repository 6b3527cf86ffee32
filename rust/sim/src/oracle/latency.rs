//! Latencies that are dealt out in turn.

use crate::preset::Latency;
use crate::time::{PS_PER_NS, Ps};

/// The law, and the place of the next I/O in it. The factor has no common divisor with the period, so any
/// `period` I/Os in a row visit each place once.
#[derive(Clone, Debug)]
pub(super) struct LatencyLaw {
    period: u64,
    factor: u64,
    offset: u64,
    place: u64,
    /// Ends of the classes, and their latencies.
    ends: Vec<u64>,
    latencies_ps: Vec<Ps>,
}

impl LatencyLaw {
    pub(super) fn new(latency: &Latency) -> Self {
        Self {
            period: latency.period,
            factor: latency.factor % latency.period,
            offset: latency.offset % latency.period,
            place: latency.offset % latency.period,
            ends: latency.law.iter().map(|class| class.below).collect(),
            latencies_ps: latency.law.iter().map(|class| class.ns * PS_PER_NS).collect(),
        }
    }

    /// Begin anew with I/O number 0.
    pub(super) const fn begin(&mut self) {
        self.place = self.offset;
    }

    #[inline]
    pub(super) fn next_ps(&mut self) -> Ps {
        let place = self.place;
        self.place += self.factor;
        if self.place >= self.period {
            self.place -= self.period;
        }
        // Most places are in the first class, as a rule.
        if place < self.ends[0] {
            return self.latencies_ps[0];
        }
        self.latencies_ps[self.ends.partition_point(|end| *end <= place)]
    }
}
