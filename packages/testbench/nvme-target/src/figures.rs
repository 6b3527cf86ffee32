//! How much was served, and how late.

use std::time::Duration;

use openpts_core::histogram::LatencyHistogram;

/// I/Os that went out, and how much later than the model's answer.
#[derive(Debug, Default)]
pub(super) struct Figures {
    lateness: LatencyHistogram,
    modelled: Duration,
    late: Duration,
}

/// What was served so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// I/Os that were answered.
    pub ios: u64,
    /// Bytes that the host read.
    pub read_bytes: u64,
    /// Bytes that the host wrote.
    pub write_bytes: u64,
    /// Sum of what the I/Os take by the model, in ns.
    pub modelled_ns: u128,
    /// Sum of how much later the answers went out, in ns.
    pub late_ns: u128,
    /// Lateness at the percentiles 50, 99 and 99.9, and the most, in ns; `None` without an I/O.
    pub lateness_ns: Option<[u64; 4]>,
    /// Connections now.
    pub connections: usize,
}

impl Figures {
    /// An I/O that takes so long by the model went out so much later.
    pub(super) fn count(&mut self, modelled: Duration, late: Duration) {
        self.lateness.record(u64::try_from(late.as_nanos()).unwrap_or(u64::MAX));
        self.modelled += modelled;
        self.late += late;
    }

    pub(super) fn served(&self) -> Served {
        let lateness = &self.lateness;
        Served {
            ios: lateness.count(),
            modelled_ns: self.modelled.as_nanos(),
            late_ns: self.late.as_nanos(),
            lateness_ns: lateness.max_ns().map(|most| {
                let [p50, p99, p999] = [50.0, 99.0, 99.9].map(|at| lateness.value_at_percentile(at));
                [p50, p99, p999, most]
            }),
            ..Served::default()
        }
    }
}
