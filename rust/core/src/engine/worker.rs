//! One thread: runs its part of every step, and hands over what it counted.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::completion_wait::CompletionWait;
use super::cpu::CpuSnapshot;
use super::gate::{ActiveStep, Gate};
use super::outcome::{EndedBy, Outcome, StepState};
use super::progress::ThreadProgress;
use super::signals::Signals;
use super::slots::Slots;
use super::step_pass::StepPass;
use super::tally::Tally;
use crate::capture::Tap;
use crate::clock::Clock;
use crate::data::DataSource;
use crate::machine::Queue;
use crate::workload::{Carried, Stream};

/// What a thread tells the collector: its part of an interval, and of the whole step if it ended with it.
pub(super) struct Part {
    pub(super) step: Arc<ActiveStep>,
    pub(super) thread: u32,
    pub(super) interval: u64,
    pub(super) in_flight: usize,
    pub(super) tally: Box<Tally>,
    pub(super) end: Option<Outcome>,
}

/// What a thread works with, from the first step to the last.
pub(super) struct Context<Q> {
    pub(super) thread: u32,
    pub(super) sector_bytes: u32,
    pub(super) completion_wait: CompletionWait,
    pub(super) clock: Clock,
    pub(super) queue: Q,
    pub(super) slots: Slots,
    pub(super) data: DataSource,
    pub(super) signals: Arc<Signals>,
    pub(super) progress: Arc<ThreadProgress>,
    pub(super) tap: Option<Tap>,
    /// The processors' counters when the step, or its measured part, began.
    pub(super) step_began: Arc<Mutex<CpuSnapshot>>,
}

/// Where a thread's counts go: into the tally of the running interval, and from there to the collector.
pub(super) struct Output {
    thread: u32,
    interval_ns: u64,
    origin_ns: u64,
    interval: u64,
    interval_end_ns: u64,
    pub(super) tally: Box<Tally>,
    deliver: Sender<Part>,
    /// Brings back the tallies that `deliver` took away, empty again.
    spare: Receiver<Box<Tally>>,
    /// The end of the step before, kept until the device works on the next one.
    held_back: Option<Part>,
}

impl Output {
    pub(super) fn new(
        thread: u32,
        interval_ns: u64,
        deliver: Sender<Part>,
        spare: Receiver<Box<Tally>>,
    ) -> Self {
        Self {
            thread,
            interval_ns,
            origin_ns: 0,
            interval: 0,
            interval_end_ns: 0,
            tally: Box::default(),
            deliver,
            spare,
            held_back: None,
        }
    }

    /// Count intervals from `origin_ns` on.
    pub(super) fn begin(&mut self, origin_ns: u64) {
        self.origin_ns = origin_ns;
        self.interval = 0;
        self.interval_end_ns = origin_ns + self.interval_ns;
    }

    pub(super) fn interval_end_ns(&self) -> u64 {
        self.interval_end_ns
    }

    /// Hand over the interval that has passed, if one has.
    #[inline]
    pub(super) fn roll_over(&mut self, step: &Arc<ActiveStep>, now_ns: u64, in_flight: usize) {
        if now_ns >= self.interval_end_ns {
            let part = self.part(step, in_flight, None);
            self.send(part);
            self.interval = (now_ns - self.origin_ns) / self.interval_ns;
            self.interval_end_ns = self.origin_ns + (self.interval + 1) * self.interval_ns;
        }
    }

    /// The step has ended for this thread; hand that over when the next one has begun.
    fn end_step(&mut self, step: &Arc<ActiveStep>, outcome: Outcome) {
        self.deliver_held_back();
        self.held_back = Some(self.part(step, 0, Some(outcome)));
    }

    /// Hand over the end of the step before: neither the collector's work nor the waking of its thread
    /// delays the first I/O of the next step.
    #[inline]
    pub(super) fn deliver_held_back(&mut self) {
        if let Some(part) = self.held_back.take() {
            self.send(part);
        }
    }

    fn part(&mut self, step: &Arc<ActiveStep>, in_flight: usize, end: Option<Outcome>) -> Part {
        // The collector may be late with emptying them: a new one is better than a pause.
        let empty = self.spare.try_recv().unwrap_or_default();
        let tally = std::mem::replace(&mut self.tally, empty);
        let (thread, interval) = (self.thread, self.interval);
        Part { step: Arc::clone(step), thread, interval, in_flight, tally, end }
    }

    fn send(&self, part: Part) {
        // A collector that is gone has nobody to report to: the session is being dropped.
        let _ = self.deliver.send(part);
    }
}

pub(super) struct Worker<Q> {
    pub(super) context: Context<Q>,
    pub(super) output: Output,
    pub(super) carried: Carried,
}

impl<Q: Queue> Worker<Q> {
    /// Run steps until the gate closes.
    pub(super) fn run(mut self, gate: &Gate) {
        let mut index = 0;
        loop {
            if !gate.has_waiting() {
                self.output.deliver_held_back();
            }
            let Some(step) = gate.arrive(self.context.thread as usize, index) else { break };
            let outcome = self.take_part(&step);
            if outcome.state != StepState::Complete {
                // What follows a failure or a stop counts for nothing: let no other step begin.
                gate.close();
            }
            if let Some(tap) = &mut self.context.tap {
                tap.end_of_step();
            }
            self.output.end_step(&step, outcome);
            index = step.index + 1;
        }
        self.output.deliver_held_back();
    }

    fn take_part(&mut self, step: &Arc<ActiveStep>) -> Outcome {
        let Self { context, output, carried } = self;
        match &step.step.stimulus {
            Some(stimulus) if context.thread < stimulus.tc => {
                let stream = Stream::new(&step.step, stimulus, context.sector_bytes, context.thread, carried);
                StepPass::new(step, stimulus, context, output, stream).run(&step.step.stop)
            }
            None if context.thread == 0 => {
                output.begin(step.start_ns);
                output.deliver_held_back();
                context.idle(step)
            }
            _ => {
                output.begin(step.start_ns);
                Outcome::default()
            }
        }
    }
}

impl<Q: Queue> Context<Q> {
    /// The ramp-up is over: what the processors did until now counts for nothing. One thread says so for all.
    pub(super) fn restart_cpu_shares(&self) {
        if self.thread == 0 {
            *self.step_began.lock().unwrap_or_else(PoisonError::into_inner) = CpuSnapshot::now();
        }
    }

    /// Leave the device alone until the step's time is over.
    fn idle(&mut self, step: &ActiveStep) -> Outcome {
        let end_ns = step.start_ns + step.step.stop.duration_ns.unwrap_or(0);
        let mut state = StepState::Complete;
        let mut now_ns = self.clock.now_ns();
        while now_ns < end_ns && state == StepState::Complete {
            // Nothing is in flight: only the waker can end this wait early.
            let waited = self.queue.enter_for(1, Duration::from_nanos(end_ns - now_ns));
            state = self.signals.halted().unwrap_or(state);
            now_ns = self.clock.now_ns();
            if waited.is_err() {
                state = StepState::Failed;
            }
        }
        Outcome {
            state,
            ended_by: (state == StepState::Complete).then_some(EndedBy::Duration),
            started_ns: Some(step.start_ns),
            last_completion_ns: Some(now_ns),
            last_answer_ns: Some(now_ns),
            ..Outcome::default()
        }
    }
}
