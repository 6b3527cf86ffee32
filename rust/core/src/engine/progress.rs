//! What the threads have done so far, for a display; never for a result.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one thread in a cache line of its own, so that no thread slows another down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct ThreadProgress {
    ios: AtomicU64,
    bytes: AtomicU64,
}

impl ThreadProgress {
    /// Add to both counters; only the thread itself may call this.
    #[inline]
    pub(super) fn advance(&self, ios: u64, bytes: u64) {
        // The only writer: a load and a store are cheaper than an atomic addition.
        self.ios.store(self.ios.load(Ordering::Relaxed) + ios, Ordering::Relaxed);
        self.bytes.store(self.bytes.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }
}

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Steps begun since the session was made.
    pub steps_begun: u64,
    /// Time since the step that runs now began.
    pub step_elapsed_ns: u64,
    /// I/Os completed since the session was made, all steps together.
    pub ios: u64,
    /// Bytes moved since the session was made, all steps together.
    pub bytes: u64,
}

impl Progress {
    pub(super) fn add(&mut self, thread: &ThreadProgress) {
        self.ios += thread.ios.load(Ordering::Relaxed);
        self.bytes += thread.bytes.load(Ordering::Relaxed);
    }
}
