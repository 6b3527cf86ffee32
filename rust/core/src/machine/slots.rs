//! The slots of a queue: who owns each buffer, we or the kernel.

use std::mem::ManuallyDrop;

use super::buffers::Buffers;
use super::queue::{QueueError, Shape};

/// Buffers with their owners. They are not freed while the kernel may still write into one: see `Drop`.
pub(super) struct Slots {
    buffers: ManuallyDrop<Buffers>,
    busy: Box<[bool]>,
    in_flight: usize,
}

impl Slots {
    /// Free slots, each with `annex_bytes` beside its buffer for what a command itself refers to.
    pub(super) fn new(shape: &Shape, annex_bytes: usize) -> Result<Self, QueueError> {
        let bytes = shape.slots * (shape.block_bytes + annex_bytes);
        let buffers = Buffers::new(shape.slots, shape.block_bytes, annex_bytes)
            .map_err(|source| QueueError::Memory { bytes, source })?;
        Ok(Self {
            buffers: ManuallyDrop::new(buffers),
            busy: vec![false; shape.slots].into_boxed_slice(),
            in_flight: 0,
        })
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn free(&self) -> usize {
        self.busy.len() - self.in_flight
    }

    pub(super) fn buffer(&self, slot: usize, length: usize) -> &[u8] {
        self.assert_free(slot);
        self.buffers.block(slot, length)
    }

    pub(super) fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.assert_free(slot);
        self.buffers.block_mut(slot, length)
    }

    pub(super) fn annex_mut(&mut self, slot: usize) -> &mut [u8] {
        self.assert_free(slot);
        self.buffers.annex_mut(slot)
    }

    /// From here on the slot's memory is the kernel's.
    pub(super) fn occupy(&mut self, slot: usize) {
        self.assert_free(slot);
        self.busy[slot] = true;
        self.in_flight += 1;
    }

    /// The kernel has let go of the slot's memory.
    pub(super) fn release(&mut self, slot: usize) {
        assert!(self.busy[slot], "slot {slot} was not in flight");
        self.busy[slot] = false;
        self.in_flight -= 1;
    }

    /// Where each slot's buffer is.
    pub(super) fn as_iovecs(&mut self) -> Vec<libc::iovec> {
        self.buffers.as_iovecs()
    }

    fn assert_free(&self, slot: usize) {
        assert!(!self.busy[slot], "the buffer of slot {slot} is the kernel's");
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // A device that hangs keeps its I/Os, and the kernel may write into their buffers at any later
        // time: leaking them is the only safe thing.
        if self.in_flight == 0 {
            // SAFETY: nothing is in flight and the field is not used again.
            unsafe { ManuallyDrop::drop(&mut self.buffers) };
        }
    }
}
