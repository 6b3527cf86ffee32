//! A step of which some threads have delivered parts.

use std::collections::VecDeque;
use std::sync::Arc;

use super::account::StepAccount;
use super::barrier::{ActiveStep, threads_of};
use super::outcome::Outcome;
use super::output::Part;
use super::result::{IntervalResult, StreamResult};
use super::tally::Tally;
use crate::workload::Step;

/// The thread has nothing more to say about the step.
const DONE: u64 = u64::MAX;

/// One interval, as far as it was delivered.
#[derive(Debug, Default)]
struct PendingInterval {
    in_flight: usize,
    /// Of each stream the first thread's tally, to which the others' were added; it goes back to that thread.
    tallies: Vec<Option<(usize, Box<Tally>)>>,
}

/// One interval that all threads have left behind.
pub(super) struct EndedInterval {
    pub(super) result: IntervalResult,
    /// The tracked figure is steady now.
    pub(super) is_steady: bool,
    /// Empty again, for the threads that they came from.
    pub(super) tallies: Vec<(usize, Box<Tally>)>,
}

impl PendingInterval {
    fn new(streams: usize) -> Self {
        Self { in_flight: 0, tallies: (0..streams).map(|_| None).collect() }
    }

    /// Take the tally of a stream's thread in; gives it back if it is not needed any more.
    fn take(&mut self, stream: usize, thread: usize, mut tally: Box<Tally>) -> Option<Box<Tally>> {
        match &mut self.tallies[stream] {
            first @ None => {
                *first = Some((thread, tally));
                None
            }
            Some((_, whole)) => {
                whole.add(&tally);
                tally.clear();
                Some(tally)
            }
        }
    }
}

pub(super) struct PendingStep {
    pub(super) index: u64,
    pub(super) start_ns: u64,
    pub(super) step: Arc<Step>,
    pub(super) account: StepAccount,
    /// How each stream went; a gap without I/O counts as one.
    outcomes: Vec<Outcome>,
    /// When intervals begin to count.
    origin_ns: u64,
    intervals: VecDeque<PendingInterval>,
    /// Each thread's interval that is not yet delivered.
    reached: Vec<u64>,
    /// What each thread had outstanding at the end of the interval that it delivered last.
    in_flight: Vec<usize>,
}

impl PendingStep {
    pub(super) fn new(step: &ActiveStep, threads: usize, account: StepAccount) -> Self {
        let tc = threads_of(&step.step);
        Self {
            index: step.index,
            start_ns: step.start_ns,
            step: Arc::clone(&step.step),
            account,
            outcomes: vec![Outcome::default(); step.step.streams.len().max(1)],
            origin_ns: step.start_ns + step.step.ramp_ns,
            intervals: VecDeque::new(),
            in_flight: vec![0; threads],
            reached: (0..threads).map(|thread| if thread < tc { 0 } else { DONE }).collect(),
        }
    }

    /// Take a thread's part in; gives its tally back if it is not needed any more.
    pub(super) fn take(&mut self, part: Part) -> Option<Box<Tally>> {
        let thread = part.thread as usize;
        if self.reached[thread] == DONE {
            // It has no part in the step, and tells its end whenever it gets to: maybe when the interval that
            // it would count for was reported long ago.
            return Some(part.tally);
        }
        let position = self.position_of(part.interval);
        while self.intervals.len() <= position {
            self.intervals.push_back(PendingInterval::new(self.outcomes.len()));
        }
        self.keep_outstanding(thread, position);
        self.in_flight[thread] = part.in_flight;
        let stream = self.step.part_of(part.thread).map_or(0, |(number, _)| number);
        let interval = &mut self.intervals[position];
        interval.in_flight += part.in_flight;
        self.reached[thread] = match part.end {
            Some(outcome) => {
                self.outcomes[stream].add(outcome);
                DONE
            }
            None => part.interval + 1,
        };
        interval.take(stream, thread, part.tally)
    }

    /// Threads that will say no more have left these I/Os behind.
    pub(super) fn end_all(&mut self, left: Outcome) {
        self.outcomes[0].add(left);
        self.reached.fill(DONE);
    }

    /// In the intervals that a thread slept through, it had outstanding what it had before.
    fn keep_outstanding(&mut self, thread: usize, position: usize) {
        let slept = self.position_of(self.reached[thread]);
        for interval in self.intervals.range_mut(slept.min(position)..position) {
            interval.in_flight += self.in_flight[thread];
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.reached.iter().all(|reached| *reached == DONE)
    }

    fn position_of(&self, interval: u64) -> usize {
        usize::try_from(interval - self.account.interval()).expect("intervals fit into memory")
    }

    /// The next interval that all threads have left behind. One in which the process `stood_still`, between
    /// two moments, is part of no steady state.
    pub(super) fn end_interval(&mut self, stood_still: impl Fn(u64, u64) -> bool) -> Option<EndedInterval> {
        if self.account.interval() >= *self.reached.iter().min()? {
            return None;
        }
        let PendingInterval { in_flight, tallies } = self.intervals.pop_front()?;
        let begin_ns = self.origin_ns + self.account.begin_ns(self.account.interval());
        let end_ns = begin_ns + self.account.interval_ns();
        let is_whole = self.is_whole();
        let is_last = is_whole && self.intervals.is_empty();
        // What a ramp-up has left may be answered long after the end, in intervals that are not the step's.
        let is_behind = || self.ended_ns().is_some_and(|ended_ns| begin_ns >= ended_ns);
        let is_empty = |tallies: &[Option<(usize, Box<Tally>)>]| {
            tallies.iter().flatten().all(|(_, tally)| tally.is_empty())
        };
        let is_rest_empty = || self.intervals.iter().all(|interval| is_empty(&interval.tallies));
        if is_whole && is_empty(&tallies) && (is_last || is_behind() && is_rest_empty()) {
            return None;
        }
        // A thread may tell its end an interval late, with nothing to count there.
        let elapsed_ns = match self.ended_ns() {
            _ if is_last => self.last_length_ns(),
            Some(ended_ns) if is_whole && is_rest_empty() => {
                self.account.last_length_ns(ended_ns.saturating_sub(self.origin_ns))
            }
            _ => self.account.interval_ns(),
        };
        let counts: Vec<_> =
            tallies.iter().map(|tally| tally.as_ref().map(|(_, tally)| tally.as_ref())).collect();
        let (result, is_steady) = self.account.end_interval(&counts, elapsed_ns, in_flight as u64);
        let stood_still = stood_still(begin_ns, end_ns);
        if stood_still {
            self.account.restart_steady();
        }
        let mut tallies: Vec<_> = tallies.into_iter().flatten().collect();
        tallies.iter_mut().for_each(|(_, tally)| tally.clear());
        Some(EndedInterval { result, is_steady: is_steady && !stood_still, tallies })
    }

    /// What was counted, how it went, and the same of each stream where there are several.
    pub(super) fn end(self) -> (Box<Tally>, Outcome, Vec<StreamResult>) {
        let Self { outcomes, step, start_ns, account, .. } = self;
        let (whole, counts) = account.end();
        let streams = StreamResult::all(&step, start_ns, &counts, &outcomes);
        let mut outcome = Outcome::default();
        outcomes.into_iter().for_each(|one| outcome.add(one));
        (whole, outcome, streams)
    }

    /// When what counts in the step was over, as far as the threads have reported.
    fn ended_ns(&self) -> Option<u64> {
        self.last_completion_ns().max(self.outcomes.iter().filter_map(|outcome| outcome.nominal_end_ns).max())
    }

    fn last_completion_ns(&self) -> Option<u64> {
        self.outcomes.iter().filter_map(|outcome| outcome.last_completion_ns).max()
    }

    /// From the last interval's beginning to the last completion.
    fn last_length_ns(&self) -> u64 {
        let last_ns = self.last_completion_ns().unwrap_or(0);
        self.account.last_length_ns(last_ns.saturating_sub(self.origin_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{endless, random_writes};

    #[test]
    fn intervals_in_which_only_a_ramp_up_was_answered_are_not_the_steps() {
        let step = Arc::new(ActiveStep {
            index: 0,
            step: Arc::new(endless(random_writes(4096, 0..1 << 20))),
            start_ns: 0,
            coupling: None,
        });
        let end =
            Outcome { nominal_end_ns: Some(2_000), last_completion_ns: Some(1_500), ..Outcome::default() };
        let slept = Part {
            step: Arc::clone(&step),
            thread: 0,
            interval: 9,
            in_flight: 0,
            tally: Box::default(),
            end: Some(end),
        };
        let mut pending =
            PendingStep::new(&step, 1, StepAccount::new(0, 1_000, false, None, Box::default(), 1));
        pending.take(slept);
        let ended = std::iter::from_fn(|| pending.end_interval(|_, _| false)).map(|ended| ended.result.index);
        assert_eq!(ended.collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn intervals_end_with_the_step_though_a_thread_tells_its_end_in_a_later_one() {
        let step = Arc::new(ActiveStep {
            index: 0,
            step: Arc::new(endless(random_writes(4096, 0..1 << 20))),
            start_ns: 0,
            coupling: None,
        });
        let part = |interval, tally, end| Part {
            step: Arc::clone(&step),
            thread: 0,
            interval,
            in_flight: 0,
            tally,
            end,
        };
        let mut answered = Box::<Tally>::default();
        answered.errors = 1;
        let end =
            Outcome { nominal_end_ns: Some(1_000), last_completion_ns: Some(1_200), ..Outcome::default() };
        let account = StepAccount::new(0, 1_000, false, None, Box::default(), 1);
        let mut pending = PendingStep::new(&step, 1, account);
        pending.take(part(1, answered, None));
        pending.take(part(2, Box::default(), Some(end)));
        let lengths = std::iter::from_fn(|| pending.end_interval(|_, _| false));
        assert_eq!(lengths.map(|ended| ended.result.elapsed_ns).collect::<Vec<_>>(), [1_000, 200]);
    }

    #[test]
    fn a_thread_without_a_part_in_the_step_may_tell_its_end_as_late_as_it_likes() {
        let step = Arc::new(ActiveStep {
            index: 0,
            step: Arc::new(endless(random_writes(4096, 0..1 << 20))),
            start_ns: 0,
            coupling: None,
        });
        let part = |thread, interval, end| Part {
            step: Arc::clone(&step),
            thread,
            interval,
            in_flight: 1,
            tally: Box::default(),
            end,
        };
        let account = StepAccount::new(0, 1_000, false, None, Box::default(), 1);
        let mut pending = PendingStep::new(&step, 2, account);
        let ended =
            |pending: &mut PendingStep| pending.end_interval(|_, _| false).map(|ended| ended.result.index);
        for interval in 0..3 {
            pending.take(part(0, interval, None));
            assert_eq!(ended(&mut pending), Some(interval));
        }
        assert!(pending.take(part(1, 0, Some(Outcome::default()))).is_some(), "its tally goes back to it");
        assert!(!pending.is_whole());
        pending.take(part(0, 3, Some(Outcome::default())));
        assert!(pending.is_whole());
        assert_eq!(pending.intervals.iter().map(|interval| interval.in_flight).sum::<usize>(), 1);
    }
}
