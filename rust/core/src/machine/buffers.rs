//! The memory that I/Os read into and write from.

use std::io;

use memmap2::{Advice, MmapMut};

/// Pages of which a buffer may consist. A large transfer in many small pages has more segments than a
/// drive takes at once: the kernel then refuses to send it without waiting, and io_uring sends it again
/// from a thread of its own.
const HUGE_PAGE_BYTES: u64 = 2 << 20;
const PAGE_BYTES: u64 = 4096;
/// Below this no transfer has too many segments, and hundreds of threads would waste a huge page each.
const WORTH_HUGE_PAGES_BYTES: u64 = 256 * 1024;

/// One buffer for each slot of a queue in one mapping. From a page on each begins at one; smaller ones are
/// aligned as well as their length. Behind all buffers each slot has an annex, for what a command refers to
/// besides the data.
pub(super) struct Buffers {
    memory: MmapMut,
    slots: usize,
    block_bytes: usize,
    /// From the start of one buffer to the start of the next.
    stride_bytes: usize,
    annex_bytes: usize,
}

/// From the start of one buffer to the start of the next.
const fn stride_of(block_bytes: u64) -> u64 {
    if block_bytes < PAGE_BYTES { block_bytes } else { block_bytes.next_multiple_of(PAGE_BYTES) }
}

/// The memory that buffers take.
pub(super) fn mapped_bytes(slots: u64, block_bytes: u64, annex_bytes: u64) -> u64 {
    let bytes = slots.saturating_mul(stride_of(block_bytes).saturating_add(annex_bytes));
    // A mapping that is no multiple of a huge page is not aligned to one.
    let unit = if bytes < WORTH_HUGE_PAGES_BYTES { PAGE_BYTES } else { HUGE_PAGE_BYTES };
    bytes.checked_next_multiple_of(unit).unwrap_or(u64::MAX)
}

impl Buffers {
    pub(super) fn new(slots: usize, block_bytes: usize, annex_bytes: usize) -> io::Result<Self> {
        let total_bytes = mapped_bytes(slots as u64, block_bytes as u64, annex_bytes as u64);
        let memory =
            MmapMut::map_anon(usize::try_from(total_bytes).map_err(|_| io::ErrorKind::OutOfMemory)?)?;
        if total_bytes >= WORTH_HUGE_PAGES_BYTES {
            // A kernel without huge pages serves small ones.
            let _ = memory.advise(Advice::HugePage);
        }
        let stride_bytes = stride_of(block_bytes as u64) as usize;
        Ok(Self { memory, slots, block_bytes, stride_bytes, annex_bytes })
    }

    pub(super) fn block(&self, slot: usize, length: usize) -> &[u8] {
        self.assert_fits(length);
        &self.memory[slot * self.stride_bytes..][..length]
    }

    pub(super) fn block_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.assert_fits(length);
        &mut self.memory[slot * self.stride_bytes..][..length]
    }

    pub(super) fn annex_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = self.slots * self.stride_bytes + slot * self.annex_bytes;
        &mut self.memory[start..][..self.annex_bytes]
    }

    /// Where each slot's buffer is.
    pub(super) fn as_iovecs(&mut self) -> Vec<libc::iovec> {
        let length = self.block_bytes;
        (0..self.slots)
            .map(|slot| libc::iovec {
                iov_base: self.block_mut(slot, length).as_mut_ptr().cast(),
                iov_len: length,
            })
            .collect()
    }

    fn assert_fits(&self, length: usize) {
        assert!(length <= self.block_bytes, "a transfer of {length} B in a buffer of {} B", self.block_bytes);
    }
}
