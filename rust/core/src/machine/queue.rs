//! The contract of all ways to a target.

use std::io;
use std::time::Duration;

use super::features::Features;
use super::path::IoPath;
use crate::workload::{Io, Operation};

/// What a queue is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// I/Os at the same time.
    pub slots: usize,
    /// The largest transfer.
    pub block_bytes: usize,
    /// The target's logical block.
    pub sector_bytes: u32,
}

/// A way to the target can't be made, or the kernel refused a submission.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// `io_uring_setup` failed: an old kernel, a container's filter or a sysctl.
    #[error("io_uring can't be set up: {0}")]
    Setup(#[source] io::Error),
    /// The buffers could not be allocated.
    #[error("no memory for {bytes} B of I/O buffers: {source}")]
    Memory {
        /// Size of one thread's buffers.
        bytes: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// The target can't be registered with the ring.
    #[error("the target can't be registered with io_uring: {0}")]
    Register(#[source] io::Error),
    /// The process has too many open files for one more.
    #[error("a descriptor can't be duplicated: {0}")]
    Descriptor(#[source] io::Error),
    /// The path was asked for something that it can't do on this target.
    #[error("the path {path} does not suit: {reason}")]
    Unsuited {
        /// The path that was asked for.
        path: IoPath,
        /// What it lacks.
        reason: String,
    },
    /// `io_uring_enter` failed.
    #[error("io_uring_enter failed: {0}")]
    Enter(#[source] io::Error),
}

/// A finished I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The slot that is free again.
    pub slot: usize,
    /// -errno; or the number of bytes that a read or write transferred, 0 for a trim, flush or fsync.
    pub result: i32,
    /// The status field of the NVMe completion without its phase tag, where the path shows it: 0 elsewhere
    /// and for a success.
    pub status: u16,
}

/// One thread's way to the target: `slots` I/Os at most, each with a buffer of its own.
///
/// A wait ends when enough I/Os have finished, and it never asks for more than are in flight. It also ends
/// when the waker is woken: the wait in progress, or else the next one. Waits after that are not cut short
/// any more; the caller knows by then, and bounds them. Signals end it too, and a path that polls returns with
/// the first completions: callers count what they reap.
pub trait Queue {
    /// The first `length` bytes of a free slot's buffer.
    ///
    /// # Panics
    /// If the slot's I/O is in flight: the kernel owns the buffer then.
    fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8];

    /// As `buffer_mut`, to look at what was read.
    ///
    /// # Panics
    /// If the slot's I/O is in flight.
    fn buffer(&self, slot: usize, length: usize) -> &[u8];

    /// Prepare an I/O; it starts with the next `enter`.
    ///
    /// # Panics
    /// If the slot is in use, the transfer larger than its buffer, or the operation not supported.
    fn push(&mut self, slot: usize, io: &Io);

    /// Submit what was pushed and wait for `completions` of them, or until the waker is woken.
    ///
    /// # Errors
    /// If the kernel refuses; signals are no errors.
    fn enter(&mut self, completions: usize) -> Result<(), QueueError>;

    /// As `enter`, but wait no longer than `timeout`, which is kept with a high-resolution timer.
    ///
    /// # Errors
    /// If the kernel refuses; a time-out that strikes is no error.
    fn enter_for(&mut self, completions: usize, timeout: Duration) -> Result<(), QueueError>;

    /// Submit and wait for `completions`, but from `patience` after the call on be content with one. Where
    /// the kernel has no such wait (before Linux 6.12) one completion is enough at once.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn enter_batched(&mut self, completions: usize, patience: Duration) -> Result<(), QueueError>;

    /// From the next `enter` on, end a wait for one completion when this time is over: the wait that is in
    /// progress then, or else the next one. It costs nothing per wait. An alarm may be set beside another.
    fn set_alarm(&mut self, _after: Duration) {}

    /// Take the finished I/Os, as many as there are now.
    fn reap(&mut self, each: impl FnMut(Completion));

    /// I/Os pushed and not yet reaped.
    fn in_flight(&self) -> usize;

    /// How many waits signals have ended so far.
    fn interruptions(&self) -> u64 {
        0
    }

    /// Whether a wait ends with its time or an alarm, also while I/Os are in flight.
    fn keeps_time(&self) -> bool {
        true
    }

    /// Whether this operation can be pushed. What can't must be refused before a measurement begins.
    fn supports(&self, _operation: Operation) -> bool {
        true
    }

    /// What the kernel gave, for the record.
    fn features(&self) -> Features {
        Features::default()
    }
}
