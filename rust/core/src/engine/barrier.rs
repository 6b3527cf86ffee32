//! The barrier at which all threads wait for each other and start each step together.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

#[cfg(feature = "loom")]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "loom")]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(feature = "loom"))]
use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(feature = "loom"))]
use std::sync::{Condvar, Mutex, MutexGuard};

use crate::clock::Clock;
use crate::workload::{Coupling, Step};

/// How long to spin for the other threads before falling asleep.
const SPIN_NS: u64 = 100_000;

/// A step that has begun.
#[derive(Debug)]
pub(super) struct ActiveStep {
    pub(super) index: u64,
    pub(super) step: Arc<Step>,
    pub(super) start_ns: u64,
    /// That of streams with shares; none where there are none.
    pub(super) coupling: Option<Coupling>,
}

/// Threads that have a part in a step, the first ones of all; one thread keeps the time of an idle gap.
pub(super) fn threads_of(step: &Step) -> usize {
    step.tc().max(1) as usize
}

/// Holds the steps to come. A step begins when all threads have arrived, that is when the step before
/// has completed its last I/O in every one of them. Threads that have a part neither in it nor in the one
/// before sleep on: to wake hundreds of them for nothing would be a gap without I/O.
#[derive(Debug)]
pub(super) struct Barrier {
    state: Mutex<State>,
    /// One for each thread.
    moved: Box<[Condvar]>,
    clock: Clock,
    /// Steps begun, for those who spin.
    begun: AtomicU64,
    /// Each thread has a processor of its own: a thread that spins holds up no other.
    may_spin: bool,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Arc<Step>>,
    begun: u64,
    active: Option<Arc<ActiveStep>>,
    /// Threads that were woken for the active step, the first ones of all. Those that had a part in the one
    /// before are among them: they have its end to hand over.
    woken: usize,
    arrived: usize,
    closed: bool,
}

impl Barrier {
    pub(super) fn new(threads: usize, clock: Clock) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            state: Mutex::new(State::default()),
            moved: (0..threads).map(|_| Condvar::new()).collect(),
            clock,
            begun: AtomicU64::new(0),
            may_spin: cfg!(not(feature = "loom")) && threads <= processors,
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
        self.lock().arrived == self.moved.len()
    }

    /// Whether a step waits for the threads, as far as one can tell.
    pub(super) fn has_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    /// Wait until a step begins, of this number or a later one, for which this thread is woken. `None` when
    /// the barrier is closed.
    pub(super) fn arrive(&self, thread: usize, index: u64) -> Option<Arc<ActiveStep>> {
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
                Some(active) if active.index >= index && thread < state.woken => {
                    return Some(Arc::clone(active));
                }
                _ if state.closed => return None,
                _ => state = self.moved[thread].wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Let no thread through any more; steps that have not begun are forgotten.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.begun.store(u64::MAX, Ordering::Release);
        state.waiting.clear();
        self.moved.iter().for_each(Condvar::notify_one);
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
        let threads = self.moved.len();
        if state.closed || state.arrived < threads {
            return;
        }
        if let Some(step) = state.waiting.pop_front() {
            let before = state.active.as_ref().map_or(0, |active| threads_of(&active.step));
            let coupling = Coupling::of(&step);
            let start_ns = self.clock.now_ns();
            state.woken = threads_of(&step).max(before).min(threads);
            state.active = Some(Arc::new(ActiveStep { index: state.begun, step, start_ns, coupling }));
            state.begun += 1;
            state.arrived = threads - state.woken;
            self.begun.store(state.begun, Ordering::Release);
            self.moved[..state.woken].iter().for_each(Condvar::notify_one);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere leaves the state whole: every change to it is complete when the lock is let go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
fn step_of(tc: u32) -> Step {
    use crate::workload::testing::{endless, random_writes};
    endless(crate::workload::Stimulus { tc, ..random_writes(4096, 0..1 << 20) })
}

#[cfg(all(test, not(feature = "loom")))]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_lets_no_thread_through_and_forgets_what_waited() {
        let barrier = Barrier::new(2, Clock::default());
        barrier.submit([step_of(2), step_of(2)]);
        assert!(barrier.has_waiting());
        barrier.close();
        assert!(!barrier.has_waiting());
        assert!(barrier.arrive(0, 0).is_none());
        assert!(barrier.active().is_none());
    }

    #[test]
    fn the_last_thread_to_arrive_begins_the_step() {
        let barrier = Barrier::new(1, Clock::default());
        barrier.submit([step_of(1), step_of(1)]);
        assert_eq!(barrier.arrive(0, 0).unwrap().index, 0);
        let second = barrier.arrive(0, 1).unwrap();
        assert_eq!((second.index, barrier.active().unwrap().index), (1, 1));
    }

    #[test]
    fn a_thread_sleeps_through_steps_without_a_part_for_it_but_the_first() {
        let barrier = Barrier::new(2, Clock::default());
        barrier.submit([2, 1, 1, 1, 2, 1].map(step_of));
        let woken_for = |thread| {
            let barrier = &barrier;
            move || {
                let mut indices = Vec::new();
                while let Some(active) = barrier.arrive(thread, indices.last().map_or(0, |last| last + 1)) {
                    indices.push(active.index);
                    if active.index == 5 {
                        break;
                    }
                }
                indices
            }
        };
        std::thread::scope(|scope| {
            let (first, second) = (scope.spawn(woken_for(0)), scope.spawn(woken_for(1)));
            assert_eq!(first.join().unwrap(), [0, 1, 2, 3, 4, 5]);
            assert_eq!(second.join().unwrap(), [0, 1, 4, 5]);
        });
    }
}

/// Every interleaving of the threads: `make loom`.
#[cfg(all(test, feature = "loom"))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicUsize;
    use loom::thread;

    #[test]
    fn no_thread_begins_a_step_before_all_have_ended_the_one_before() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2, Clock::default()));
            let ended = Arc::new(AtomicUsize::new(0));
            let other = {
                let (barrier, ended) = (Arc::clone(&barrier), Arc::clone(&ended));
                thread::spawn(move || work(1, &barrier, &ended))
            };
            barrier.submit([step_of(2), step_of(2)]);
            work(0, &barrier, &ended);
            other.join().unwrap();
            assert_eq!(ended.load(Ordering::SeqCst), 4);
        });
    }

    #[test]
    fn a_thread_that_slept_through_a_step_is_there_for_the_next() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2, Clock::default()));
            let other = {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || assert_eq!(barrier.arrive(1, 0).unwrap().index, 1))
            };
            barrier.submit([step_of(1), step_of(2)]);
            for index in 0..2 {
                assert_eq!(barrier.arrive(0, index).unwrap().index, index);
            }
            other.join().unwrap();
        });
    }

    fn work(thread: usize, barrier: &Barrier, ended: &AtomicUsize) {
        for index in 0..2 {
            assert_eq!(barrier.arrive(thread, index).unwrap().index, index);
            assert!(ended.load(Ordering::SeqCst) >= 2 * index as usize);
            ended.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn closing_wakes_waiting_threads() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2, Clock::default()));
            let waiting = {
                let barrier = Arc::clone(&barrier);
                thread::spawn(move || assert!(barrier.arrive(0, 0).is_none()))
            };
            barrier.close();
            waiting.join().unwrap();
        });
    }
}
