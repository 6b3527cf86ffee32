//! What is counted in a step: interval by interval, and as a whole.

use openpts_core::engine::{IntervalResult, OperationResult, Report, SteadySums, SteadyWatch, Tally};
use openpts_core::workload::{Io, SteadyRule};

use crate::host::scaled_results::scaled_interval;
use crate::scale::Scale;
use crate::smart::Sensed;
use crate::time::{NEVER, Ps};

/// What a session wants to know of its intervals. Nominal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wishes {
    pub(super) interval_ns: u64,
    pub(super) interval_histograms: bool,
    pub(super) scale: Scale,
}

/// The counts of a step. An interval holds what completes after its beginning, up to and including its end:
/// in virtual time a completion often falls on the end exactly, and belongs to the time that it took.
pub(super) struct Intervals<'a> {
    wishes: Wishes,
    step: u64,
    /// When intervals begin to count.
    origin_ps: Ps,
    index: u64,
    end_ps: Ps,
    part: Box<Tally>,
    whole: Box<Tally>,
    steady: Option<SteadyWatch>,
    /// What the drive's sensor said when the interval began.
    sensed: Option<Sensed>,
    report: &'a mut dyn FnMut(Report),
}

impl<'a> Intervals<'a> {
    pub(super) fn new(
        wishes: Wishes,
        step: u64,
        steady: Option<SteadyRule>,
        sensed: Option<Sensed>,
        report: &'a mut dyn FnMut(Report),
    ) -> Self {
        Self {
            wishes,
            step,
            origin_ps: NEVER,
            index: 0,
            end_ps: NEVER,
            part: Box::default(),
            whole: Box::default(),
            steady: steady.map(|rule| SteadyWatch::new(rule, wishes.interval_ns)),
            sensed,
            report,
        }
    }

    /// Intervals begin to count at this moment.
    pub(super) fn begin_at(&mut self, origin_ps: Ps, sensed: Option<Sensed>) {
        self.origin_ps = origin_ps;
        self.end_ps = self.begin_ps(1);
        self.sensed = sensed;
    }

    /// When the interval of this number begins: from its number and not from the one before, so that
    /// nothing adds up.
    fn begin_ps(&self, index: u64) -> Ps {
        let since_ns = index.saturating_mul(self.wishes.interval_ns);
        self.origin_ps.saturating_add(self.wishes.scale.virtual_ps(since_ns))
    }

    /// When the interval that runs is over.
    #[inline]
    pub(super) fn end_ps(&self) -> Ps {
        self.end_ps
    }

    /// Count an I/O that was done as asked.
    #[inline]
    pub(super) fn record(&mut self, io: &Io, latency_ns: u64) {
        self.part.record(io, latency_ns);
    }

    /// Count one that was not.
    pub(super) fn record_error(&mut self) {
        self.part.errors += 1;
    }

    /// The interval is over, and the drive's sensor says this; true when the tracked figure is steady now.
    pub(super) fn roll_over(&mut self, in_flight: u64, sensed: Option<Sensed>) -> bool {
        let is_steady =
            self.steady.as_mut().is_some_and(|watch| watch.is_steady_after(SteadySums::of(&self.part)));
        self.report(self.wishes.interval_ns, in_flight, sensed);
        self.index += 1;
        self.end_ps = self.begin_ps(self.index + 1);
        is_steady
    }

    fn report(&mut self, elapsed_ns: u64, in_flight: u64, sensed: Option<Sensed>) {
        let before = std::mem::replace(&mut self.sensed, sensed);
        let interval = IntervalResult {
            step: self.step,
            index: self.index,
            elapsed_ns,
            operations: OperationResult::all(&self.part, self.wishes.interval_histograms),
            in_flight,
            errors: self.part.errors,
            cpu: None,
            temperature_c: sensed.map(|sensed| sensed.temperature_c),
            throttled: sensed.zip(before).map(|(sensed, before)| sensed.has_throttled_since(&before)),
        };
        (self.report)(Report::Interval(scaled_interval(interval, self.wishes.scale)));
        self.whole.add(&self.part);
        self.part.clear();
    }

    /// The step has ended; gives all that was counted in it. What the last interval has lasts from its
    /// beginning to the last completion.
    pub(super) fn end(mut self, last_completion_ps: Option<Ps>, sensed: Option<Sensed>) -> Box<Tally> {
        if !self.part.is_empty() {
            let since_origin_ps = last_completion_ps.map_or(0, |last| last.saturating_sub(self.origin_ps));
            let begin_ns = self.index * self.wishes.interval_ns;
            let length_ns = self.wishes.scale.nominal_ns(since_origin_ps).saturating_sub(begin_ns);
            let interval_ns = self.wishes.interval_ns;
            let elapsed_ns = if length_ns == 0 { interval_ns } else { length_ns.min(interval_ns) };
            self.report(elapsed_ns, 0, sensed);
        }
        self.whole
    }
}
