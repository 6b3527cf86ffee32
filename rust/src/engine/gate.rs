//! The gate at which all threads wait for each other and start each step together.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

#[cfg(loom)]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(loom)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::clock::Clock;
use crate::workload::Step;

/// How long to spin for the other threads before falling asleep.
const SPIN_NS: u64 = 100_000;

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
    /// Steps begun, for those who spin.
    begun: AtomicU64,
    /// Each thread has a processor of its own: whoever spins holds up nobody.
    may_spin: bool,
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
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            state: Mutex::new(State::default()),
            moved: Condvar::new(),
            clock,
            threads,
            begun: AtomicU64::new(0),
            may_spin: cfg!(not(loom)) && threads <= processors,
        }
    }

    /// Append steps; the first begins at once if all threads wait.
    pub(super) fn submit(&self, steps: impl IntoIterator<Item = Step>) {
        let mut state = self.lock();
        state.waiting.extend(steps.into_iter().map(Arc::new));
        self.begin_if_all_are_here(&mut state);
    }

    /// Whether all threads wait for a step.
    pub(super) fn is_idle(&self) -> bool {
        self.lock().arrived == self.threads
    }

    /// Whether a step waits for the threads, as far as one can tell.
    pub(super) fn has_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// Wait until the step number `index` begins. `None` when the gate is closed.
    pub(super) fn arrive(&self, index: u64) -> Option<Arc<ActiveStep>> {
        let mut state = self.lock();
        state.arrived += 1;
        self.begin_if_all_are_here(&mut state);
        if self.may_spin && !state.waiting.is_empty() && state.begun <= index {
            // The others are about to arrive, and to be woken costs more than the wait.
            drop(state);
            self.spin(index);
            state = self.lock();
        }
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
        self.begun.store(u64::MAX, Ordering::Release);
        state.waiting.clear();
        self.moved.notify_all();
    }

    /// The step that runs or ran last.
    pub(super) fn active(&self) -> Option<Arc<ActiveStep>> {
        self.lock().active.clone()
    }

    fn spin(&self, index: u64) {
        let give_up_ns = self.clock.now_ns() + SPIN_NS;
        while self.begun.load(Ordering::Acquire) <= index && self.clock.now_ns() < give_up_ns {
            std::hint::spin_loop();
        }
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
            self.begun.store(state.begun, Ordering::Release);
            self.moved.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state whole: every change to it is complete when the lock is let go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
fn idle_step() -> Step {
    let stop = crate::workload::Stop { duration_ns: Some(1), ..Default::default() };
    Step { stimulus: None, stop, ramp_ns: 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_nobody_through_and_forgets_what_waited() {
        let gate = Gate::new(2, Clock::default());
        gate.submit([idle_step(), idle_step()]);
        assert!(gate.has_waiting());
        gate.close();
        assert!(!gate.has_waiting());
        assert!(gate.arrive(0).is_none());
        assert!(gate.active().is_none());
    }

    #[test]
    fn the_last_thread_to_arrive_begins_the_step() {
        let gate = Gate::new(1, Clock::default());
        gate.submit([idle_step(), idle_step()]);
        assert_eq!(gate.arrive(0).unwrap().index, 0);
        let second = gate.arrive(1).unwrap();
        assert_eq!((second.index, gate.active().unwrap().index), (1, 1));
    }
}

/// Every interleaving of the threads: `RUSTFLAGS="--cfg loom" cargo test --lib gate`.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    #[test]
    fn no_thread_begins_a_step_before_all_have_ended_the_one_before() {
        loom::model(|| {
            let gate = Arc::new(Gate::new(2, Clock::default()));
            let ended = Arc::new(AtomicUsize::new(0));
            let other = {
                let (gate, ended) = (Arc::clone(&gate), Arc::clone(&ended));
                thread::spawn(move || work(&gate, &ended))
            };
            gate.submit([idle_step(), idle_step()]);
            work(&gate, &ended);
            other.join().unwrap();
            assert_eq!(ended.load(Ordering::SeqCst), 4);
        });
    }

    fn work(gate: &Gate, ended: &AtomicUsize) {
        for index in 0..2 {
            assert_eq!(gate.arrive(index).unwrap().index, index);
            assert!(ended.load(Ordering::SeqCst) >= 2 * index as usize);
            ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn closing_wakes_whoever_waits() {
        loom::model(|| {
            let gate = Arc::new(Gate::new(2, Clock::default()));
            let waiting = {
                let gate = Arc::clone(&gate);
                thread::spawn(move || assert!(gate.arrive(0).is_none()))
            };
            gate.close();
            waiting.join().unwrap();
        });
    }
}
