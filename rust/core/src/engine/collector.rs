//! Joins the threads' parts of intervals and steps into results, off the threads' path.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::account::StepAccount;
use super::barrier::{ActiveStep, Barrier};
use super::cpu::{Beginnings, CpuShares, CpuSnapshot};
use super::outcome::{Outcome, StepState};
use super::output::Part;
use super::pending::{EndedInterval, PendingStep};
use super::result::{IntervalResult, Report, StepResult};
use super::shared::Shared;
use super::signals::Signals;
use super::slots::Flights;
use super::standstill::{Look, PERIOD, StandstillWatch};
use super::tally::Tally;
use crate::capture::Completion;
use crate::clock::Clock;
use crate::workload::Carried;

/// How long after a stop to wait for threads that hang in the device; they wait half of it themselves.
const GIVE_UP: Duration = Duration::from_secs(1);
/// Below this, an interval is too short for the kernel's tick counters to say anything.
const SHORTEST_CPU_INTERVAL_NS: u64 = 100_000_000;

/// What the session wants to know.
#[derive(Clone, Copy)]
pub(super) struct Wishes {
    pub(super) interval_ns: u64,
    pub(super) interval_histograms: bool,
}

/// Where parts come from, and where tallies and reports go to.
pub(super) struct Links {
    pub(super) parts: Receiver<Part>,
    /// To each thread, for its emptied tallies.
    pub(super) spare: Vec<Sender<Box<Tally>>>,
    pub(super) reports: Sender<Report>,
    /// Of the capture, if there is one.
    pub(super) completion: Option<Completion>,
}

pub(super) struct Collector {
    wishes: Wishes,
    links: Links,
    clock: Clock,
    standstills: StandstillWatch,
    barrier: Arc<Barrier>,
    signals: Arc<Signals>,
    flights: Vec<Arc<Flights>>,
    beginnings: Arc<Beginnings>,
    /// The processors' counters when the step that runs now began, and the interval.
    step_began: CpuSnapshot,
    interval_began: CpuSnapshot,
    /// `None` before the first step and after an idle gap: there is no gap to speak of.
    last_completion_ns: Option<u64>,
    /// Steps that were reported.
    reported: u64,
    pending: VecDeque<PendingStep>,
    spare_whole: Option<Box<Tally>>,
    /// Where each thread's streams stand at the end of the step that was reported last.
    carried: Vec<Carried>,
}

impl Collector {
    pub(super) fn new(wishes: Wishes, shared: &Shared, links: Links, carried: Vec<Carried>) -> Self {
        Self {
            wishes,
            links,
            clock: shared.clock,
            standstills: StandstillWatch::new(Look::now(shared.clock.now_ns())),
            barrier: Arc::clone(&shared.barrier),
            signals: Arc::clone(&shared.signals),
            flights: shared.flights.clone(),
            beginnings: Arc::clone(&shared.beginnings),
            step_began: CpuSnapshot::now(),
            interval_began: CpuSnapshot::now(),
            last_completion_ns: None,
            reported: 0,
            pending: VecDeque::new(),
            spare_whole: None,
            carried,
        }
    }

    /// Collect until all threads are gone, or the device does not let them go after a stop.
    pub(super) fn run(mut self) {
        let mut halted = None;
        loop {
            let part = self.links.parts.recv_timeout(PERIOD);
            self.look();
            match part {
                Ok(part) => self.take(part),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => (),
            }
            if self.signals.is_raised() && halted.get_or_insert_with(Instant::now).elapsed() >= GIVE_UP {
                return self.give_up();
            }
        }
    }

    /// Look whether the process stood still. On a clock that went back no step would come to its end.
    fn look(&mut self) {
        if !self.standstills.look(Look::now(self.clock.now_ns())) {
            self.signals.fail();
        }
    }

    fn take(&mut self, part: Part) {
        let thread = part.thread as usize;
        if part.step.index < self.reported {
            // A thread that had no part in the step, and no news.
            return self.give_back(thread, part.tally);
        }
        let position = self.position_of(&part.step);
        if let Some(tally) = self.pending[position].take(part) {
            self.give_back(thread, tally);
        }
        self.report_in_order();
    }

    /// Report what is known of the step whose turn it is, and of those behind it once it is whole.
    ///
    /// A thread that is scheduled late tells the end of its part when others are in the next step already,
    /// or even beyond: the reports must not contain that step before.
    fn report_in_order(&mut self) {
        while self.pending.front().is_some_and(|step| step.index == self.reported) {
            self.report_intervals(0);
            if !self.pending[0].is_whole() {
                return;
            }
            self.report_step(0);
        }
    }

    fn position_of(&mut self, step: &ActiveStep) -> usize {
        self.pending.binary_search_by_key(&step.index, |pending| pending.index).unwrap_or_else(|position| {
            let whole = self.spare_whole.take().unwrap_or_default();
            let Wishes { interval_ns, interval_histograms } = self.wishes;
            let rule = step.step.stop.steady;
            let account = StepAccount::new(
                step.index,
                interval_ns,
                interval_histograms,
                rule,
                whole,
                step.step.streams.len(),
            );
            self.pending.insert(position, PendingStep::new(step, self.links.spare.len(), account));
            position
        })
    }

    fn give_back(&self, thread: usize, tally: Box<Tally>) {
        // A thread that is gone needs no tally any more.
        let _ = self.links.spare[thread].send(tally);
    }

    /// Report the intervals that all threads have left behind.
    fn report_intervals(&mut self, position: usize) {
        let index = self.pending[position].index;
        while let Some(EndedInterval { result, is_steady, tallies }) = self.end_interval(position) {
            if is_steady {
                self.signals.end_steady_step(index);
            }
            let result = IntervalResult { cpu: self.interval_cpu(index, result.index), ..result };
            for (thread, tally) in tallies {
                self.give_back(thread, tally);
            }
            let _ = self.links.reports.send(Report::Interval(result));
        }
    }

    fn end_interval(&mut self, position: usize) -> Option<EndedInterval> {
        let Self { pending, standstills, .. } = self;
        pending[position].end_interval(|from_ns, until_ns| !standstills.between(from_ns, until_ns).is_empty())
    }

    /// What the processors did in the interval of this number of a step.
    fn interval_cpu(&mut self, step: u64, interval: u64) -> Option<CpuShares> {
        if self.wishes.interval_ns < SHORTEST_CPU_INTERVAL_NS {
            return None;
        }
        let now = CpuSnapshot::now();
        let before = std::mem::replace(&mut self.interval_began, now);
        let began = if interval == 0 { self.measured_since(step) } else { before };
        now.since(&began)
    }

    fn report_step(&mut self, position: usize) {
        let Some(step) = self.pending.remove(position) else { return };
        let (index, start_ns, order) = (step.index, step.start_ns, Arc::clone(&step.step));
        let (now, began) = (CpuSnapshot::now(), self.measured_since(index));
        (self.step_began, self.interval_began) = (now, now);
        self.beginnings.forget_through(index);
        let (mut whole, mut outcome, streams) = step.end();
        for (thread, carried) in outcome.carried.drain(..) {
            self.carried[thread as usize] = carried;
        }
        let before_ns = self.last_completion_ns;
        self.last_completion_ns =
            if order.is_idle() { None } else { outcome.last_answer_ns.or(self.last_completion_ns) };
        let mut result =
            StepResult::new(index, &order, start_ns, &whole, outcome, before_ns, now.since(&began));
        // What happened in the gap before it left the device idle where nothing else would have.
        let ended_ns = result.started_ns + result.elapsed_ns;
        result.standstills = self.standstills.between(before_ns.unwrap_or(start_ns), ended_ns);
        self.standstills.forget_before(ended_ns);
        result.streams = streams;
        result.carried.clone_from(&self.carried);
        self.reported = index + 1;
        if order.capture {
            self.complete_capture();
        }
        let _ = self.links.reports.send(Report::Step(result));
        whole.clear();
        self.spare_whole = Some(whole);
    }

    /// Wait until every I/O of the step is in a file: one that was reported outlives us.
    fn complete_capture(&mut self) {
        let Some(done) = self.links.completion.as_ref().map(Completion::begin) else { return };
        let mut halted = None;
        while done.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
            self.look();
            if self.signals.is_raised() && halted.get_or_insert_with(Instant::now).elapsed() >= GIVE_UP {
                return;
            }
        }
    }

    /// The counters when this step began, or its measured part.
    fn measured_since(&self, step: u64) -> CpuSnapshot {
        self.beginnings.of(step).unwrap_or(self.step_began)
    }

    /// Threads hang in the device: report the step without them, and what they wait for.
    fn give_up(&mut self) {
        let now_ns = self.clock.now_ns();
        if let Some(active) = self.barrier.active().filter(|active| active.index >= self.reported) {
            // It may have hung from its first I/O on.
            self.position_of(&active);
        }
        while let Some(step) = self.pending.front_mut() {
            let mut left = Outcome { state: StepState::Interrupted, ..Outcome::default() };
            for outstanding in self.flights.iter().flat_map(|flights| flights.outstanding()) {
                left.leave(now_ns, &outstanding);
            }
            left.state = self.signals.halted().unwrap_or(left.state);
            step.end_all(left);
            self.report_intervals(0);
            self.report_step(0);
        }
    }
}
