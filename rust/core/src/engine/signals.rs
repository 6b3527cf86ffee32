//! What makes the threads stop before their stop rule does.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::outcome::StepState;
use crate::machine::Waker;
use crate::workload::Operation;

/// No step is to be ended.
const NO_STEP: u64 = u64::MAX;

/// Why the threads should stop; giving a reason wakes them.
#[derive(Debug)]
pub(super) struct Signals {
    stop: AtomicBool,
    failed: AtomicBool,
    errors: AtomicU64,
    most_errors: u64,
    over_read_errors: bool,
    steady_step: AtomicU64,
    pub(super) waker: Waker,
}

impl Signals {
    /// `most_errors` I/Os may fail before the session does; with `over_read_errors` no read is one of them.
    pub(super) fn new(most_errors: u64, over_read_errors: bool) -> io::Result<Self> {
        Ok(Self {
            stop: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            errors: AtomicU64::new(0),
            most_errors,
            over_read_errors,
            steady_step: AtomicU64::new(NO_STEP),
            waker: Waker::new()?,
        })
    }

    /// The operator stops the run.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// An I/O has failed. Beyond the allowed number, nothing that follows counts.
    pub(super) fn count_error(&self, operation: Operation) {
        if self.over_read_errors && operation == Operation::Read {
            return;
        }
        if self.errors.fetch_add(1, Ordering::Relaxed) >= self.most_errors {
            self.fail();
        }
    }

    /// The way to the target is broken: nothing that follows counts.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
        self.waker.wake();
    }

    /// The figure that the step tracks is steady.
    pub(super) fn end_steady_step(&self, index: u64) {
        self.steady_step.store(index, Ordering::Relaxed);
    }

    pub(super) fn is_steady(&self, index: u64) -> bool {
        self.steady_step.load(Ordering::Relaxed) == index
    }

    pub(super) fn is_raised(&self) -> bool {
        self.halted().is_some()
    }

    /// How a step ends that is running now; `None`: it goes on.
    #[inline]
    pub(super) fn halted(&self) -> Option<StepState> {
        if self.failed.load(Ordering::Relaxed) {
            Some(StepState::Failed)
        } else if self.stop.load(Ordering::Relaxed) {
            Some(StepState::Interrupted)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_beyond_the_allowed_number_fails_the_session() {
        let strict = Signals::new(0, false).unwrap();
        strict.count_error(Operation::Read);
        assert_eq!(strict.halted(), Some(StepState::Failed));
        let patient = Signals::new(2, false).unwrap();
        for _ in 0..2 {
            patient.count_error(Operation::Write);
            assert_eq!(patient.halted(), None);
        }
        patient.count_error(Operation::Read);
        assert!(patient.is_raised());
    }

    #[test]
    fn a_session_that_goes_on_over_read_errors_ends_with_the_first_failed_write() {
        let signals = Signals::new(0, true).unwrap();
        (0..1000).for_each(|_| signals.count_error(Operation::Read));
        assert!(!signals.is_raised());
        signals.count_error(Operation::Write);
        assert_eq!(signals.halted(), Some(StepState::Failed));
    }

    #[test]
    fn only_the_steady_step_is_ended() {
        let signals = Signals::new(0, false).unwrap();
        signals.end_steady_step(3);
        assert!(signals.is_steady(3));
        assert!(!signals.is_steady(2) && !signals.is_steady(4) && !signals.is_raised());
    }
}
