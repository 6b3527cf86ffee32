//! How I/Os are put into words for io_uring: the one thing in which the rings differ.

use io_uring::{cqueue, squeue, types};

use crate::machine::slots::Slots;
use crate::workload::{Io, Operation};

/// The registered file's index: a ring has one.
pub(super) const FILE: types::Fixed = types::Fixed(0);

/// A language of I/Os.
pub trait Commands {
    /// Entries of the submission queue: 64 or 128 bytes.
    type Submission: squeue::EntryMarker;
    /// Entries of the completion queue: 16 or 32 bytes.
    type Answer: cqueue::EntryMarker;
    /// Memory beside the buffer that a command of a slot may refer to.
    const ANNEX_BYTES: usize = 0;

    /// Whether there is a word for it.
    fn supports(&self, operation: Operation) -> bool;

    /// The entry for one I/O. It refers to nothing but the slot's own memory.
    ///
    /// # Panics
    /// If there is no word for the operation.
    fn entry(&mut self, io: &Io, memory: SlotMemory<'_>) -> Self::Submission;

    /// Result and status of a completion (see [`Completion`](crate::machine::Completion)) from the kernel's
    /// result.
    fn outcome(&self, slot: usize, result: i32) -> (i32, u16);
}

/// The memory of a slot that is about to be used.
pub struct SlotMemory<'a> {
    pub(super) slots: &'a mut Slots,
    pub(super) slot: usize,
    /// Whether the kernel has the buffers registered: each by the number of its slot.
    pub(super) registered: bool,
}

impl SlotMemory<'_> {
    /// The number of the registered buffer, if there is one.
    pub(super) fn registered(&self) -> Option<u16> {
        // The kernel registers 2^14 buffers at most.
        self.registered.then_some(self.slot as u16)
    }

    pub(super) fn buffer(&mut self, length_bytes: u32) -> *mut u8 {
        self.slots.buffer_mut(self.slot, length_bytes as usize).as_mut_ptr()
    }

    pub(super) fn annex(&mut self) -> &mut [u8] {
        self.slots.annex_mut(self.slot)
    }
}
