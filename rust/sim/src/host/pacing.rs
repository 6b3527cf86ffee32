//! When a slot may issue its next I/O.

use openpts_core::workload::{DutyCycle, Pacing, Stream};

use crate::time::{PS_PER_NS, Ps};

/// What decides on the next I/O of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotPacing {
    /// The completion of the one before.
    ClosedLoop,
    /// That, and whether the cycle is on.
    DutyCycle(DutyCycle),
    /// That, and a rest after it.
    ThinkTime(Ps),
    /// The thread, for all its slots together.
    ByThread,
}

impl SlotPacing {
    pub(super) fn new(stream: &Stream) -> Self {
        if stream.share > 0 || stream.replay.is_some() {
            return Self::ByThread;
        }
        let pacing = stream.stimulus.pacing;
        if let Some(cycle) = DutyCycle::new(pacing) {
            return Self::DutyCycle(cycle);
        }
        match pacing {
            Pacing::ThinkTime { think_ns } => Self::ThinkTime(think_ns.saturating_mul(PS_PER_NS)),
            Pacing::FixedRate { .. }
            | Pacing::Poisson { .. }
            | Pacing::Burst { .. }
            | Pacing::Batches { .. }
            | Pacing::Capped(_) => Self::ByThread,
            Pacing::ClosedLoop | Pacing::DutyCycle { .. } => Self::ClosedLoop,
        }
    }
}

/// The next moment of the cycle, since the stream's start, at which a slot may issue: now, if the cycle is on.
#[inline]
pub(super) fn next_on_ps(cycle: DutyCycle, since_start_ps: Ps) -> Ps {
    let since_start_ns = since_start_ps / PS_PER_NS;
    if cycle.is_on(since_start_ns) {
        return since_start_ps;
    }
    cycle.next_edge_ns(since_start_ns).saturating_mul(PS_PER_NS)
}
