//! The steps that wait for a session's thread.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::scaled_program::ScaledStep;
use super::shared_drive::SharedDrive;

/// Steps of the programs that were submitted, in their order.
pub(super) struct Queue {
    state: Mutex<State>,
    moved: Condvar,
    drive: Arc<SharedDrive>,
}

#[derive(Default)]
struct State {
    steps: VecDeque<QueuedStep>,
    /// Programs that the drive knows of and that have not ended.
    programs: usize,
    closed: bool,
}

struct QueuedStep {
    step: ScaledStep,
    is_last: bool,
}

impl Queue {
    pub(super) fn new(drive: Arc<SharedDrive>) -> Self {
        Self { state: Mutex::default(), moved: Condvar::new(), drive }
    }

    /// Append a program; false if no more are taken.
    pub(super) fn submit(&self, steps: Vec<ScaledStep>) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let count = steps.len();
        let queued = steps.into_iter().zip(1..);
        state.steps.extend(queued.map(|(step, number)| QueuedStep { step, is_last: number == count }));
        if count > 0 {
            state.programs += 1;
            self.drive.expect_program();
        }
        self.moved.notify_all();
        true
    }

    /// Wait until there is a step; false if there never will be one.
    pub(super) fn wait(&self) -> bool {
        let state = self.lock();
        let waits = |state: &mut State| state.steps.is_empty() && !state.closed;
        !self.moved.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner).closed
    }

    /// The next step, and whether its program ends with it; `None` if none waits now.
    pub(super) fn next(&self) -> Option<(ScaledStep, bool)> {
        self.lock().steps.pop_front().map(|queued| (queued.step, queued.is_last))
    }

    /// A program has ended.
    pub(super) fn end_program(&self) {
        let mut state = self.lock();
        if state.programs > 0 {
            state.programs -= 1;
            self.drive.end_program();
        }
    }

    /// Take no more; forget what waits.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.steps.clear();
        self.moved.notify_all();
    }

    /// The thread has ended: no program will.
    pub(super) fn end_all(&self) {
        self.close();
        let programs = std::mem::take(&mut self.lock().programs);
        (0..programs).for_each(|_| self.drive.end_program());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state whole: every change to it is complete when the lock is let go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
