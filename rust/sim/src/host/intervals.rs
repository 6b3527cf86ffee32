//! What is counted in a step: interval by interval, and as a whole.

use openpts_core::engine::{IntervalResult, Report, Spent, StepAccount, Tally};
use openpts_core::workload::SteadyRule;

use crate::drive::Drive;
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

/// What the drive reports of itself at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriveReading {
    sensed: Option<Sensed>,
    spent: Spent,
}

impl DriveReading {
    pub(super) fn by(drive: &dyn Drive, at_ps: Ps) -> Self {
        Self { sensed: drive.sensed(at_ps), spent: drive.spent(at_ps) }
    }
}

/// The counts of a step. An interval holds what completes after its beginning, up to and including its end:
/// in virtual time a completion often falls on the end exactly, and belongs to the time that it took.
pub(super) struct Intervals<'a> {
    scale: Scale,
    account: StepAccount,
    /// When intervals begin to count.
    origin_ps: Ps,
    end_ps: Ps,
    /// Of each stream.
    parts: Vec<Tally>,
    /// What the drive reported when the interval began.
    reading: DriveReading,
    report: &'a mut dyn FnMut(Report),
}

impl<'a> Intervals<'a> {
    pub(super) fn new(
        wishes: Wishes,
        step: u64,
        steady: Option<SteadyRule>,
        streams: usize,
        reading: DriveReading,
        report: &'a mut dyn FnMut(Report),
    ) -> Self {
        let Wishes { interval_ns, interval_histograms, scale } = wishes;
        Self {
            scale,
            account: StepAccount::new(
                step,
                interval_ns,
                interval_histograms,
                steady,
                Box::default(),
                streams,
            ),
            origin_ps: NEVER,
            end_ps: NEVER,
            parts: (0..streams).map(|_| Tally::default()).collect(),
            reading,
            report,
        }
    }

    /// Intervals begin to count at this moment.
    pub(super) fn begin_at(&mut self, origin_ps: Ps, reading: DriveReading) {
        self.origin_ps = origin_ps;
        self.end_ps = self.begin_ps(1);
        self.reading = reading;
    }

    /// When the interval of this number begins.
    fn begin_ps(&self, index: u64) -> Ps {
        self.origin_ps.saturating_add(self.scale.virtual_ps(self.account.begin_ns(index)))
    }

    /// When the interval that runs is over.
    #[inline]
    pub(super) fn end_ps(&self) -> Ps {
        self.end_ps
    }

    /// The counts of a stream in the interval that runs.
    #[inline]
    pub(super) fn counts_mut(&mut self, stream: usize) -> &mut Tally {
        &mut self.parts[stream]
    }

    /// The interval is over, and the drive reports this; true when the tracked figure is steady now.
    pub(super) fn roll_over(&mut self, in_flight: u64, reading: DriveReading) -> bool {
        let is_steady = self.report(self.account.interval_ns(), in_flight, reading);
        self.end_ps = self.begin_ps(self.account.interval() + 1);
        is_steady
    }

    fn report(&mut self, elapsed_ns: u64, in_flight: u64, reading: DriveReading) -> bool {
        let before = std::mem::replace(&mut self.reading, reading);
        let sensed = reading.sensed;
        let parts: Vec<_> = self.parts.iter().map(Some).collect();
        let (result, is_steady) = self.account.end_interval(&parts, elapsed_ns, in_flight);
        let result = IntervalResult {
            temperature_c: sensed.map(|sensed| sensed.temperature_c),
            throttled: sensed.zip(before.sensed).map(|(sensed, before)| sensed.has_throttled_since(&before)),
            spent: reading.spent.since(before.spent),
            ..result
        };
        (self.report)(Report::Interval(scaled_interval(result, self.scale)));
        self.parts.iter_mut().for_each(Tally::clear);
        is_steady
    }

    /// The step has ended; gives all that was counted in it, and what each of several streams has. What the
    /// last interval has lasts from its beginning to the last completion, or to the end of what counts where
    /// all of it was answered at the beginning.
    pub(super) fn end(
        mut self,
        last_completion_ps: Option<Ps>,
        counted_ps: Ps,
        reading: DriveReading,
    ) -> (Box<Tally>, Vec<Tally>) {
        if !self.parts.iter().all(Tally::is_empty) {
            let since_origin_ns = |at_ps: Ps| self.scale.nominal_ns(at_ps.saturating_sub(self.origin_ps));
            let last_ns = last_completion_ps.map_or(0, since_origin_ns);
            let has_length = last_ns > self.account.begin_ns(self.account.interval());
            let used_ns = if has_length { last_ns } else { since_origin_ns(counted_ps) };
            let elapsed_ns = self.account.last_length_ns(used_ns);
            self.report(elapsed_ns, 0, reading);
        }
        self.account.end()
    }
}
