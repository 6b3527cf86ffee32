//! What a thread works with.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::barrier::ActiveStep;
use super::completion_wait::CompletionWait;
use super::cpu::{Beginnings, CpuSnapshot};
use super::outcome::{Outcome, StepState};
use super::progress::ThreadProgress;
use super::signals::Signals;
use super::slots::Slots;
use super::slow::SlowWatch;
use crate::capture::Tap;
use crate::clock::Clock;
use crate::data::DataSource;
use crate::machine::{Queue, set_io_priority};

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
    pub(super) slow: Option<Box<SlowWatch>>,
    /// That of the thread's I/Os.
    pub(super) priority: u16,
    /// The processors' counters when steps, or their measured parts, began.
    pub(super) beginnings: Arc<Beginnings>,
}

impl<Q: Queue> Context<Q> {
    /// Give the thread's I/Os the priority of its stream.
    pub(super) fn prioritize(&mut self, priority: u16) -> io::Result<()> {
        if self.priority != priority {
            set_io_priority(priority)?;
            self.priority = priority;
        }
        Ok(())
    }

    /// The ramp-up is over: what the processors did until now counts for nothing. One thread says so for all.
    pub(super) fn restart_cpu_shares(&self, step: u64) {
        if self.thread == 0 {
            self.beginnings.add(step, CpuSnapshot::now());
        }
    }

    /// Leave the device alone until the step's time is over.
    pub(super) fn idle(&mut self, step: &ActiveStep) -> Outcome {
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
        Outcome::of_idle(state, step.start_ns, now_ns)
    }
}
