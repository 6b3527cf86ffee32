//! What is counted of a step, alike for the threads of the engine and for the host of simulated drives.

use super::outcome::Outcome;
use super::result::{IntervalResult, OperationResult, Spent};
use super::steady::{SteadyWatch, Sums};
use super::tally::Tally;
use crate::data::Miscompare;
use crate::workload::{ByOperation, Io, SteadyRule};

/// What becomes of the I/Os that one issuer has in a step. Moments are those of the issuer's own clock.
#[derive(Debug, Default)]
pub struct Answers {
    /// How the step went so far.
    pub outcome: Outcome,
    /// The ramp-up is over.
    pub measuring: bool,
    last_answer: Option<u64>,
    last_completion: Option<u64>,
    ios: u64,
    bytes: u64,
}

impl Answers {
    /// Before the first I/O; `started_ns` is known where I/Os are planned from a moment on.
    #[must_use]
    pub fn new(measuring: bool, started_ns: Option<u64>) -> Self {
        Self { measuring, outcome: Outcome { started_ns, ..Outcome::default() }, ..Self::default() }
    }

    /// An I/O was answered, one that is part of the result or not.
    #[inline]
    pub fn answered(&mut self, at: u64, counts: bool) {
        self.last_answer = Some(at);
        if self.measuring && counts {
            self.last_completion = Some(at);
        }
    }

    /// It was done as asked.
    #[inline]
    pub fn done(&mut self, tally: &mut Tally, io: &Io, latency_ns: u64, counts: bool) {
        if self.measuring && counts {
            tally.record(io, latency_ns);
        }
        self.ios += 1;
        self.bytes += u64::from(io.length_bytes);
    }

    /// It failed, as was noticed at this time of the engine's clock.
    #[cold]
    pub fn failed(&mut self, tally: &mut Tally, at_ns: u64, io: &Io, reason: String) {
        tally.errors += 1;
        self.outcome.fail(at_ns, io, reason);
    }

    /// It brought other data than were written.
    #[cold]
    pub(super) fn miscompared(&mut self, tally: &mut Tally, at_ns: u64, io: &Io, found: &Miscompare) {
        tally.errors += 1;
        self.outcome.fail_like(at_ns, io, &found.kind.to_string(), found.to_string());
    }

    /// The last answer at all, that of the ramp-up included.
    #[must_use]
    pub const fn last_answer(&self) -> Option<u64> {
        self.last_answer
    }

    /// The last answer to an I/O that is part of the result.
    #[must_use]
    pub const fn last_completion(&self) -> Option<u64> {
        self.last_completion
    }

    /// I/Os and bytes that were done since this was asked last.
    #[inline]
    pub const fn take_progress(&mut self) -> (u64, u64) {
        let done = (self.ios, self.bytes);
        (self.ios, self.bytes) = (0, 0);
        done
    }

    /// How the step went for an issuer with the engine's own clock.
    #[must_use]
    pub fn end(self) -> Outcome {
        Outcome { last_answer_ns: self.last_answer, last_completion_ns: self.last_completion, ..self.outcome }
    }
}

/// The counts of a step, taken together from its intervals, which end one after the other.
#[derive(Debug)]
pub struct StepAccount {
    step: u64,
    interval_ns: u64,
    with_histograms: bool,
    /// Number of the interval that ends next.
    interval: u64,
    steady: Option<SteadyWatch>,
    whole: Box<Tally>,
    /// Of several streams, what each has counted; of a single one, the whole has it.
    streams: Vec<Tally>,
}

impl StepAccount {
    /// The account of the step of this number, with so many streams; `whole` is empty.
    #[must_use]
    pub fn new(
        step: u64,
        interval_ns: u64,
        with_histograms: bool,
        rule: Option<SteadyRule>,
        whole: Box<Tally>,
        streams: usize,
    ) -> Self {
        let steady = rule.map(|rule| SteadyWatch::new(rule, interval_ns));
        let streams = if streams > 1 { (0..streams).map(|_| Tally::default()).collect() } else { Vec::new() };
        Self { step, interval_ns, with_histograms, interval: 0, steady, whole, streams }
    }

    /// Number of the interval that ends next.
    #[must_use]
    pub const fn interval(&self) -> u64 {
        self.interval
    }

    /// When the interval of this number begins, since intervals began to count: from its number and not from
    /// the one before, so that nothing adds up.
    #[must_use]
    pub const fn begin_ns(&self, interval: u64) -> u64 {
        interval.saturating_mul(self.interval_ns)
    }

    /// The length of a whole interval.
    #[must_use]
    pub const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The length of the step's last interval: from its beginning to the last completion, which came so long
    /// after intervals began to count.
    #[must_use]
    pub fn last_length_ns(&self, last_completion_ns: u64) -> u64 {
        match last_completion_ns.saturating_sub(self.begin_ns(self.interval)) {
            0 => self.interval_ns,
            length_ns => length_ns.min(self.interval_ns),
        }
    }

    /// The process stood still: no steady state reaches across that.
    pub fn restart_steady(&mut self) {
        if let Some(watch) = &mut self.steady {
            watch.restart();
        }
    }

    /// The next interval has ended with these counts of each stream: what is to be said of it, and whether the
    /// tracked figure is steady now.
    pub fn end_interval(
        &mut self,
        streams: &[Option<&Tally>],
        elapsed_ns: u64,
        in_flight: u64,
    ) -> (IntervalResult, bool) {
        let mut merged = None;
        let counts = match streams {
            [only] => *only,
            several => {
                let all = merged.insert(Box::<Tally>::default());
                several.iter().flatten().for_each(|tally| all.add(tally));
                Some(&**all)
            }
        };
        let sums = counts.map_or_else(Sums::default, Sums::of);
        let is_steady = self.steady.as_mut().is_some_and(|watch| watch.is_steady_after(sums));
        let results = |counts: Option<&Tally>| {
            counts.map_or_else(ByOperation::default, |counts| {
                OperationResult::all(counts, self.with_histograms)
            })
        };
        let result = IntervalResult {
            step: self.step,
            index: self.interval,
            elapsed_ns,
            operations: results(counts),
            streams: self.streams.iter().zip(streams).map(|(_, counts)| results(*counts)).collect(),
            in_flight,
            errors: counts.map_or(0, |counts| counts.errors),
            cpu: None,
            temperature_c: None,
            throttled: None,
            spent: Spent::default(),
        };
        if let Some(counts) = counts {
            self.whole.add(counts);
        }
        for (whole, counts) in self.streams.iter_mut().zip(streams) {
            if let Some(counts) = counts {
                whole.add(counts);
            }
        }
        self.interval += 1;
        (result, is_steady)
    }

    /// All that was counted, and what each of several streams has counted.
    #[must_use]
    pub fn end(self) -> (Box<Tally>, Vec<Tally>) {
        (self.whole, self.streams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Operation;

    fn io() -> Io {
        Io::new(Operation::Write, 0, 4096)
    }

    #[test]
    fn what_does_not_count_is_progress_and_the_last_answer_and_nothing_else() {
        let (mut answers, mut tally) = (Answers::new(true, None), Tally::default());
        for (at, counts) in [(10, true), (20, false)] {
            answers.answered(at, counts);
            answers.done(&mut tally, &io(), at, counts);
        }
        assert_eq!(tally.of(Operation::Write).latencies.count(), 1);
        assert_eq!((answers.take_progress(), answers.take_progress()), ((2, 8192), (0, 0)));
        let outcome = answers.end();
        assert_eq!((outcome.last_answer_ns, outcome.last_completion_ns), (Some(20), Some(10)));
    }

    #[test]
    fn a_ramp_up_counts_for_nothing_but_its_failures() {
        let (mut answers, mut tally) = (Answers::new(false, None), Tally::default());
        answers.answered(10, true);
        answers.done(&mut tally, &io(), 10, true);
        assert!(tally.is_empty());
        answers.answered(20, true);
        answers.failed(&mut tally, 20, &io(), "EIO".into());
        let outcome = answers.end();
        assert_eq!((tally.errors, outcome.errors[0].count), (1, 1));
        assert_eq!((outcome.last_answer_ns, outcome.last_completion_ns), (Some(20), None));
    }

    #[test]
    fn the_whole_is_the_sum_of_its_intervals_and_the_last_is_as_long_as_it_was_used() {
        let mut account = StepAccount::new(3, 1_000, false, None, Box::default(), 1);
        let mut counts = Tally::default();
        counts.record(&io(), 7);
        let (first, _) = account.end_interval(&[Some(&counts)], account.interval_ns(), 2);
        assert_eq!((first.step, first.index, first.elapsed_ns, first.in_flight), (3, 0, 1_000, 2));
        account.end_interval(&[None], 1_000, 2);
        assert_eq!([2_300, 2_000, 9_000].map(|last_ns| account.last_length_ns(last_ns)), [300, 1_000, 1_000]);
        let (last, _) = account.end_interval(&[Some(&counts)], 300, 0);
        assert_eq!((last.index, last.operations.of(Operation::Write).ios), (2, 1));
        assert_eq!(account.end().0.of(Operation::Write).latencies.count(), 2);
    }

    #[test]
    fn streams_are_counted_for_themselves_and_together() {
        let mut account = StepAccount::new(0, 1_000, false, None, Box::default(), 3);
        let [mut fast, mut slow] = [Tally::default(), Tally::default()];
        (1..=5).for_each(|latency_ns| fast.record(&io(), latency_ns));
        slow.record(&io(), 900);
        for _ in 0..2 {
            let (interval, _) = account.end_interval(&[Some(&fast), None, Some(&slow)], 1_000, 0);
            let ios = |results: &ByOperation<OperationResult>| results.of(Operation::Write).ios;
            assert_eq!(ios(&interval.operations), 6);
            assert_eq!(interval.streams.iter().map(ios).collect::<Vec<_>>(), [5, 0, 1]);
        }
        let (whole, streams) = account.end();
        let mut together = Tally::default();
        streams.iter().for_each(|stream| together.add(stream));
        let encoded = |tally: &Tally| crate::histogram::encode(&tally.of(Operation::Write).latencies);
        assert_eq!(encoded(&whole), encoded(&together), "to the bit");
    }
}
