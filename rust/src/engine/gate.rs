//! The gate at which all threads wait for each other and start each step together.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::workload::Step;

/// A step that has begun.
#[derive(Debug)]
pub(super) struct ActiveStep {
    pub(super) index: u64,
    pub(super) step: Arc<Step>,
    pub(super) start_ns: u64,
}

/// Holds the steps to come. A step begins when all threads have arrived, that is when the step before
/// has completed its last I/O in every one of them.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    moved: Condvar,
    clock: Clock,
    threads: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<Step>>,
    begun: u64,
    active: Option<Arc<ActiveStep>>,
    arrived: usize,
    closed: bool,
}

impl Gate {
    pub(super) fn new(threads: usize, clock: Clock) -> Self {
        Self { state: Mutex::default(), moved: Condvar::new(), clock, threads }
    }

    /// Append steps; the first begins at once if all threads wait.
    pub(super) fn submit(&self, steps: impl IntoIterator<Item = Step>) {
        let mut state = self.lock();
        state.waiting.extend(steps.into_iter().map(Arc::new));
        self.begin_if_all_are_here(&mut state);
    }

    /// Wait until the step number `index` begins. `None` when the gate is closed.
    pub(super) fn arrive(&self, index: u64) -> Option<Arc<ActiveStep>> {
        let mut state = self.lock();
        state.arrived += 1;
        self.begin_if_all_are_here(&mut state);
        loop {
            match &state.active {
                Some(active) if active.index == index => return Some(Arc::clone(active)),
                _ if state.closed => return None,
                _ => state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Let nobody through any more; steps that have not begun are forgotten.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.waiting.clear();
        self.moved.notify_all();
    }

    /// The step that runs or ran last.
    pub(super) fn active(&self) -> Option<Arc<ActiveStep>> {
        self.lock().active.clone()
    }

    fn begin_if_all_are_here(&self, state: &mut State) {
        if state.closed || state.arrived < self.threads {
            return;
        }
        if let Some(step) = state.waiting.pop_front() {
            let start_ns = self.clock.now_ns();
            state.active = Some(Arc::new(ActiveStep { index: state.begun, step, start_ns }));
            state.begun += 1;
            state.arrived = 0;
            self.moved.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state whole: every change to it is complete when the lock is let go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
