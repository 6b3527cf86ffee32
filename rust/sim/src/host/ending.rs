//! When a step ends, and why.

use openpts_core::engine::{EndedBy, Outcome, StepState};

use super::flow::Flow;
use super::scaled_program::ScaledStep;
use crate::time::{NEVER, Ps};

/// The moment from which on a step issues nothing, as far as time and steadiness decide; amounts end each
/// thread for itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending {
    /// When measuring begins.
    origin_ps: Ps,
    end_ps: Ps,
    /// `None` if it was stopped from outside.
    reason: Option<EndedBy>,
    long_enough_ps: Ps,
    /// The duration that was asked for, as long as it is what ends the step.
    duration_ns: Option<u64>,
}

impl Ending {
    pub(super) fn new(step: &ScaledStep, origin_ps: Ps) -> Self {
        Self {
            origin_ps,
            end_ps: step.duration_ps.map_or(NEVER, |duration_ps| origin_ps.saturating_add(duration_ps)),
            reason: Some(EndedBy::Duration),
            long_enough_ps: origin_ps.saturating_add(step.at_least_ps),
            duration_ns: step.duration_ns,
        }
    }

    pub(super) fn origin_ps(&self) -> Ps {
        self.origin_ps
    }

    /// Nothing is issued from here on.
    #[inline]
    pub(super) fn end_ps(&self) -> Ps {
        self.end_ps
    }

    /// Before this moment the step goes on, also beyond an amount.
    #[inline]
    pub(super) fn long_enough_ps(&self) -> Ps {
        self.long_enough_ps
    }

    /// The tracked figure is steady at this moment.
    pub(super) fn steady(&mut self, at_ps: Ps) {
        let at_ps = at_ps.max(self.long_enough_ps);
        if at_ps < self.end_ps {
            (self.end_ps, self.reason) = (at_ps, Some(EndedBy::SteadyState));
        }
    }

    /// The session stops at this moment.
    pub(super) fn halt(&mut self, at_ps: Ps) {
        if at_ps < self.end_ps {
            (self.end_ps, self.reason) = (at_ps, None);
        }
    }

    /// Whether the step's time ends a thread, and not its amount.
    pub(super) fn ends_by_time(&self, flow: &Flow<'_>) -> bool {
        !flow.is_never() && flow.ends_ps >= self.end_ps && self.end_ps != NEVER
    }

    /// When time ends a thread, the step's or that of its stream; `None` if its amount does.
    pub(super) fn time_ends_ps(&self, flow: &Flow<'_>) -> Option<Ps> {
        let own_end_ps = flow.own_end_ps(self.origin_ps);
        if self.ends_by_time(flow) {
            Some(self.end_ps)
        } else {
            (!flow.is_never() && own_end_ps != NEVER && flow.ends_ps >= own_end_ps).then_some(own_end_ps)
        }
    }

    /// Say how each stream ended. Times of the outcomes are nominal; their origins are there already, and
    /// `origin_ns` is the step's.
    pub(super) fn note(&self, outcomes: &mut [Outcome], flows: &mut [Flow<'_>], origin_ns: Option<u64>) {
        for flow in flows {
            let outcome = &mut outcomes[flow.stream];
            let (ended_by, began_ns, duration_ns) = match self.time_ends_ps(flow) {
                // What was planned for the time until the stop and found no room; after an amount, nothing
                // was wanted.
                Some(end_ps) => {
                    outcome.unissued += flow.backlog(end_ps);
                    match self.ends_by_time(flow) {
                        true => (self.reason, origin_ns, self.duration_ns),
                        false => (Some(EndedBy::Duration), outcome.started_ns, flow.duration_ns()),
                    }
                }
                None => ((!flow.is_never()).then_some(EndedBy::Amount), None, None),
            };
            outcome.ended_by = outcome.ended_by.max(ended_by);
            if ended_by == Some(EndedBy::Duration) && outcome.state == StepState::Complete {
                outcome.nominal_end_ns = began_ns.zip(duration_ns).map(|(at, lasts)| at + lasts);
            }
        }
    }
}
