//! Trims of a block device through the ring.

use std::io;

use io_uring::{IoUring, Probe, opcode, squeue};

use super::commands::FILE;

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)`, Linux 6.12.
const DISCARD: u32 = 0x1200;

/// The kernel takes the first byte as `addr`, and the number of bytes as `addr3`, where a command's own
/// data begin.
pub(super) fn discard(offset_bytes: u64, length_bytes: u32) -> squeue::Entry {
    let mut data = [0; 16];
    data[..8].copy_from_slice(&u64::from(length_bytes).to_ne_bytes());
    opcode::UringCmd16::new(FILE, DISCARD).addr(Some(offset_bytes)).cmd(data).build()
}

/// Whether the registered block device can be trimmed through the ring. The question is a trim of nothing
/// at no sector's start, which a kernel that knows the command refuses for these, and else for itself.
pub(super) fn knows_discard(ring: &mut IoUring) -> bool {
    let mut known = Probe::new();
    let asked = ring.submitter().register_probe(&mut known);
    if asked.is_err() || !known.is_supported(opcode::UringCmd16::CODE) {
        return false;
    }
    ask(ring, &discard(1, 0)).is_ok_and(|answer| !matches!(-answer, libc::EOPNOTSUPP | libc::ENOTTY))
}

/// Submit one entry and wait for its result.
fn ask(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<i32> {
    // SAFETY: the entry of a discard refers to no memory.
    unsafe { ring.submission().push(entry) }.expect("the queue is empty");
    loop {
        match ring.submit_and_wait(1) {
            Err(error) if error.raw_os_error() != Some(libc::EINTR) => return Err(error),
            _ => {}
        }
        if let Some(answer) = ring.completion().next() {
            return Ok(answer.result());
        }
    }
}
