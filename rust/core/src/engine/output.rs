//! Where a thread's counts go.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

use super::barrier::ActiveStep;
use super::outcome::Outcome;
use super::tally::Tally;

/// What a thread tells the collector: its part of an interval, and of the whole step if it ended with it.
pub(super) struct Part {
    pub(super) step: Arc<ActiveStep>,
    pub(super) thread: u32,
    pub(super) interval: u64,
    pub(super) in_flight: usize,
    pub(super) tally: Box<Tally>,
    pub(super) end: Option<Outcome>,
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
    pub(super) fn end_step(&mut self, step: &Arc<ActiveStep>, outcome: Outcome) {
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
        // A collector that is gone has no receiver: the session is being dropped.
        let _ = self.deliver.send(part);
    }
}
