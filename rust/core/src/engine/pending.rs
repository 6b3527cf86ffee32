//! A step of which some threads have delivered parts.

use std::collections::VecDeque;
use std::sync::Arc;

use super::gate::{ActiveStep, threads_of};
use super::outcome::Outcome;
use super::output::Part;
use super::steady::{SteadyWatch, Sums};
use super::tally::Tally;
use crate::workload::Step;

/// The thread has nothing more to say about the step.
const DONE: u64 = u64::MAX;

/// One interval, as far as it was delivered.
#[derive(Debug, Default)]
pub(super) struct PendingInterval {
    pub(super) index: u64,
    pub(super) elapsed_ns: u64,
    pub(super) in_flight: usize,
    /// The first thread's tally, to which the others' were added; it goes back to that thread.
    pub(super) tally: Option<(usize, Box<Tally>)>,
}

impl PendingInterval {
    pub(super) fn sums(&self) -> Sums {
        self.tally.as_ref().map_or_else(Sums::default, |(_, tally)| Sums::of(tally))
    }

    /// Take a thread's tally in; gives it back if it is not needed any more.
    fn take(&mut self, thread: usize, mut tally: Box<Tally>) -> Option<Box<Tally>> {
        match &mut self.tally {
            None => {
                self.tally = Some((thread, tally));
                None
            }
            Some((_, whole)) => {
                whole.add(&tally);
                tally.clear();
                Some(tally)
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.tally.as_ref().is_none_or(|(_, tally)| tally.is_empty())
    }
}

pub(super) struct PendingStep {
    pub(super) index: u64,
    pub(super) start_ns: u64,
    pub(super) step: Arc<Step>,
    pub(super) whole: Box<Tally>,
    pub(super) outcome: Outcome,
    interval_ns: u64,
    /// When intervals begin to count.
    origin_ns: u64,
    steady: Option<SteadyWatch>,
    intervals: VecDeque<PendingInterval>,
    /// Number of the next interval to report.
    next: u64,
    /// Each thread's interval that is not yet delivered.
    reached: Vec<u64>,
    /// What each thread had outstanding at the end of the interval that it delivered last.
    in_flight: Vec<usize>,
}

impl PendingStep {
    pub(super) fn new(step: &ActiveStep, threads: usize, interval_ns: u64, whole: Box<Tally>) -> Self {
        let tc = threads_of(&step.step);
        Self {
            index: step.index,
            start_ns: step.start_ns,
            step: Arc::clone(&step.step),
            whole,
            outcome: Outcome::default(),
            interval_ns,
            origin_ns: step.start_ns + step.step.ramp_ns,
            steady: step.step.stop.steady.map(|rule| SteadyWatch::new(rule, interval_ns)),
            intervals: VecDeque::new(),
            next: 0,
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
        self.whole.add(&part.tally);
        let position = usize::try_from(part.interval - self.next).expect("intervals fit into memory");
        while self.intervals.len() <= position {
            let index = self.next + self.intervals.len() as u64;
            self.intervals.push_back(PendingInterval { index, ..PendingInterval::default() });
        }
        self.keep_outstanding(thread, position);
        self.in_flight[thread] = part.in_flight;
        let interval = &mut self.intervals[position];
        interval.in_flight += part.in_flight;
        self.reached[thread] = match part.end {
            Some(outcome) => {
                self.outcome.add(outcome);
                DONE
            }
            None => part.interval + 1,
        };
        interval.take(thread, part.tally)
    }

    /// In the intervals that a thread slept through, it had outstanding what it had before.
    fn keep_outstanding(&mut self, thread: usize, position: usize) {
        let slept = usize::try_from(self.reached[thread] - self.next).expect("intervals fit into memory");
        for interval in self.intervals.range_mut(slept.min(position)..position) {
            interval.in_flight += self.in_flight[thread];
        }
    }

    /// No thread will say any more.
    pub(super) fn end_all(&mut self) {
        self.reached.fill(DONE);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.reached.iter().all(|reached| *reached == DONE)
    }

    /// The next interval that all threads have left behind.
    pub(super) fn next_interval(&mut self) -> Option<PendingInterval> {
        if self.next >= *self.reached.iter().min()? {
            return None;
        }
        let mut interval = self.intervals.pop_front()?;
        let is_last = self.is_whole() && self.intervals.is_empty();
        interval.elapsed_ns = if is_last { self.last_length_ns() } else { self.interval_ns };
        self.next += 1;
        Some(interval).filter(|interval| !(is_last && interval.is_empty()))
    }

    /// From the last interval's beginning to the last completion.
    fn last_length_ns(&self) -> u64 {
        let begin_ns = self.origin_ns + self.next * self.interval_ns;
        let length_ns = self.outcome.last_completion_ns.map_or(0, |last_ns| last_ns.saturating_sub(begin_ns));
        if length_ns == 0 { self.interval_ns } else { length_ns.min(self.interval_ns) }
    }

    /// From when to when the interval of this number lasts.
    pub(super) fn span_ns(&self, index: u64) -> (u64, u64) {
        let begin_ns = self.origin_ns + index * self.interval_ns;
        (begin_ns, begin_ns + self.interval_ns)
    }

    /// The process stood still: no steady state reaches across that.
    pub(super) fn restart_steady(&mut self) {
        if let Some(watch) = &mut self.steady {
            watch.restart();
        }
    }

    pub(super) fn is_steady_after(&mut self, interval: Sums) -> bool {
        self.steady.as_mut().is_some_and(|watch| watch.is_steady_after(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::testing::{endless, random_writes};

    #[test]
    fn a_thread_without_a_part_in_the_step_may_tell_its_end_as_late_as_it_likes() {
        let step = Arc::new(ActiveStep {
            index: 0,
            step: Arc::new(endless(random_writes(4096, 0..1 << 20))),
            start_ns: 0,
        });
        let part = |thread, interval, end| Part {
            step: Arc::clone(&step),
            thread,
            interval,
            in_flight: 1,
            tally: Box::default(),
            end,
        };
        let mut pending = PendingStep::new(&step, 2, 1_000, Box::default());
        for interval in 0..3 {
            pending.take(part(0, interval, None));
            assert_eq!(pending.next_interval().map(|interval| interval.index), Some(interval));
        }
        assert!(pending.take(part(1, 0, Some(Outcome::default()))).is_some(), "its tally goes back to it");
        assert!(!pending.is_whole());
        pending.take(part(0, 3, Some(Outcome::default())));
        assert!(pending.is_whole());
        assert_eq!(pending.intervals.iter().map(|interval| interval.in_flight).sum::<usize>(), 1);
    }
}
