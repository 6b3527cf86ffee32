//! What a capture says about itself, while it runs and at the end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How often and how long the load stood still because the capture could not keep up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Number of waits.
    pub blocked_times: u64,
    /// Sum of their durations, over all threads.
    pub blocked_ns: u64,
}

impl Waits {
    /// Those of another chunk, thread or step besides.
    pub fn add(&mut self, other: Self) {
        self.blocked_times += other.blocked_times;
        self.blocked_ns += other.blocked_ns;
    }

    pub(super) fn once(duration: Duration) -> Self {
        // 2^64 ns are 584 years.
        Self { blocked_times: 1, blocked_ns: u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX) }
    }
}

/// How a running capture stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureState {
    /// I/Os that the threads handed over.
    pub ios_recorded: u64,
    /// Of these, the ones in complete files.
    pub ios_written: u64,
    /// Of these, the ones that are in no file and never will be.
    pub ios_discarded: u64,
    /// How the load was slowed down.
    pub waits: Waits,
    /// Why nothing is captured any more.
    pub error: Option<String>,
}

/// One step in a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepSummary {
    /// I/Os that the threads handed over to the writer.
    pub ios: u64,
    /// How the load was slowed down.
    pub waits: Waits,
}

/// What a finished capture holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureSummary {
    /// I/Os that the threads handed over; the sum of the next two.
    pub ios_recorded: u64,
    /// I/Os in complete files.
    pub ios_written: u64,
    /// I/Os in no file, after an error.
    pub ios_discarded: u64,
    /// Size of the complete files.
    pub bytes_written: u64,
    /// The complete files; none without I/Os.
    pub files: Vec<PathBuf>,
    /// How the load was slowed down, all steps and threads together.
    pub waits: Waits,
    /// The same step by step.
    pub steps: BTreeMap<u32, StepSummary>,
    /// Threads that still had their tap: what they held was not handed over and is counted nowhere.
    pub unfinished_threads: u32,
}

/// What taps, writer and controller count together. No thread touches it for a single I/O, only for a chunk.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) recorded: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) discarded: AtomicU64,
    pub(super) taps: AtomicU32,
    blocked_times: AtomicU64,
    blocked_ns: AtomicU64,
    pub(super) error: OnceLock<String>,
}

impl Shared {
    pub(super) fn add_waits(&self, waits: Waits) {
        self.blocked_times.fetch_add(waits.blocked_times, Relaxed);
        self.blocked_ns.fetch_add(waits.blocked_ns, Relaxed);
    }

    pub(super) fn waits(&self) -> Waits {
        Waits { blocked_times: self.blocked_times.load(Relaxed), blocked_ns: self.blocked_ns.load(Relaxed) }
    }

    pub(super) fn state(&self) -> CaptureState {
        CaptureState {
            ios_recorded: self.recorded.load(Relaxed),
            ios_written: self.written.load(Relaxed),
            ios_discarded: self.discarded.load(Relaxed),
            waits: self.waits(),
            error: self.error.get().cloned(),
        }
    }
}
