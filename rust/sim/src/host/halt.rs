//! What makes a session stop before its programs do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use openpts_core::engine::StepState;
use openpts_core::workload::Operation;

use crate::scale::Scale;

/// Why the session should stop.
#[derive(Debug)]
pub(super) struct Halt {
    stop: AtomicBool,
    failed: AtomicBool,
    errors: AtomicU64,
    most_errors: u64,
    over_read_errors: bool,
    scale: Scale,
}

impl Halt {
    /// `most_errors` I/Os may fail before the session does, those that a simulated one stands for included;
    /// with `over_read_errors` no read is one of them.
    pub(super) fn new(most_errors: u64, over_read_errors: bool, scale: Scale) -> Self {
        let (stop, failed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { stop, failed, errors: AtomicU64::new(0), most_errors, over_read_errors, scale }
    }

    /// The operator stops the run.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// A simulated I/O has failed. Beyond the allowed number, nothing that follows counts.
    pub(super) fn count_error(&self, operation: Operation) {
        if self.over_read_errors && operation == Operation::Read {
            return;
        }
        let errors = u64::from(self.scale.factor());
        if self.errors.fetch_add(errors, Ordering::Relaxed) + errors > self.most_errors {
            self.fail();
        }
    }

    /// Nothing that follows counts.
    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// How a step ends that is running now; `None`: it goes on.
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
