//! Requests that do nothing: everything that an I/O costs except the I/O.

use io_uring::{cqueue, opcode, squeue};

use super::Ring;
use super::commands::{Commands, SlotMemory};
use super::setup::{Reaping, make};
use crate::machine::queue::{QueueError, Shape};
use crate::machine::waker::Waker;
use crate::workload::{Io, Operation};

/// Succeeds at everything, at once.
#[derive(Clone, Debug)]
pub struct NoOpCommands {
    /// What each slot's completion claims to have transferred.
    results: Box<[i32]>,
}

impl Ring<NoOpCommands> {
    /// A ring without a target.
    ///
    /// # Errors
    /// If the kernel has no io_uring for us, or memory is short.
    pub fn without_target(waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        let commands = NoOpCommands { results: vec![0; shape.slots].into_boxed_slice() };
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
        opcode::Nop::new().build()
    }

    #[inline]
    fn outcome(&self, slot: usize, result: i32) -> (i32, u16) {
        (if result < 0 { result } else { self.results[slot] }, 0)
    }
}
