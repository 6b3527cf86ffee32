//! The memory that I/Os read into and write from.

use std::io;

use memmap2::{Advice, MmapMut};

/// One buffer per slot of a queue, page aligned as direct I/O wants it, in one mapping.
pub(super) struct Buffers {
    memory: MmapMut,
    block_bytes: usize,
}

impl Buffers {
    pub(super) fn new(slots: usize, block_bytes: usize) -> io::Result<Self> {
        let memory = MmapMut::map_anon(slots * block_bytes)?;
        // Huge pages spare address translation; a kernel without them serves small ones.
        let _ = memory.advise(Advice::HugePage);
        Ok(Self { memory, block_bytes })
    }

    pub(super) fn slot_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        assert!(length <= self.block_bytes, "a transfer of {length} B in a buffer of {} B", self.block_bytes);
        &mut self.memory[slot * self.block_bytes..][..length]
    }

    pub(super) fn as_iovec(&mut self) -> libc::iovec {
        libc::iovec { iov_base: self.memory.as_mut_ptr().cast(), iov_len: self.memory.len() }
    }
}
