//! Requests without a device: everything that an I/O costs except the I/O.

use std::time::Duration;

use io_uring::{cqueue, opcode, squeue, types};

use super::Ring;
use super::commands::{Commands, SlotMemory};
use super::setup::{Reaping, make};
use crate::machine::queue::{QueueError, Shape};
use crate::machine::waker::Waker;
use crate::workload::{Io, Operation};

/// How long the kernel's timer takes for each request on the path `timer`: about what a flash drive takes for
/// a small read, so that a processor falls asleep as deeply.
pub const TIMER_DELAY: Duration = Duration::from_micros(100);

/// Succeeds at everything: at once, or when a timer has run out.
#[derive(Debug)]
pub struct NoOpCommands {
    /// What each slot's completion claims to have transferred.
    results: Box<[i32]>,
    /// Boxed: the kernel reads it where it is when an entry that refers to it is submitted.
    delay: Option<Box<types::Timespec>>,
}

impl Ring<NoOpCommands> {
    /// A ring without a target, which answers within the system call that submits.
    ///
    /// # Errors
    /// If the kernel has no io_uring for us, or memory is short.
    pub fn without_target(waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        Self::without_io(waker, shape, None)
    }

    /// A ring without a target whose requests are answered by the timer's interrupt, `TIMER_DELAY` after their
    /// submission: as on a drive, the thread that waits has fallen asleep by then.
    ///
    /// # Errors
    /// As `without_target`.
    pub fn on_timer(waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        Self::without_io(waker, shape, Some(TIMER_DELAY))
    }

    fn without_io(waker: &Waker, shape: &Shape, delay: Option<Duration>) -> Result<Self, QueueError> {
        let commands = NoOpCommands {
            results: vec![0; shape.slots].into_boxed_slice(),
            delay: delay.map(|delay| Box::new(delay.into())),
        };
        Self::assemble(make(shape, Reaping::Interrupts)?, commands, waker, shape)
    }
}

impl Commands for NoOpCommands {
    type Submission = squeue::Entry;
    type Answer = cqueue::Entry;

    fn supports(&self, _operation: Operation) -> bool {
        true
    }

    #[inline]
    fn entry(&mut self, io: &Io, mut memory: SlotMemory<'_>) -> squeue::Entry {
        self.results[memory.slot] = match io.operation {
            Operation::Read | Operation::Write => {
                memory.buffer(io.length_bytes);
                io.length_bytes.cast_signed()
            }
            Operation::Trim | Operation::Flush | Operation::Fsync => 0,
        };
        match &self.delay {
            None => opcode::Nop::new().build(),
            Some(delay) => opcode::Timeout::new(&raw const **delay).build(),
        }
    }

    #[inline]
    fn outcome(&self, slot: usize, result: i32) -> (i32, u16) {
        // A timer that has run out says so as if it were an error.
        let answered = result >= 0 || (result == -libc::ETIME && self.delay.is_some());
        (if answered { self.results[slot] } else { result }, 0)
    }
}
