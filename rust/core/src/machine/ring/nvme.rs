//! NVMe commands past the block layer, through the namespace's generic character device.

use io_uring::{cqueue, opcode, squeue};

use super::commands::{Commands, FILE, SlotMemory};
use super::namespace::Namespace;
use super::nvme_command::Command;
use super::setup::{Made, Reaping, make};
use super::{Ring, register};
use crate::machine::path::IoPath;
use crate::machine::queue::{QueueError, Shape};
use crate::machine::target::{Target, TargetKind};
use crate::machine::waker::Waker;
use crate::workload::{Io, Operation};

/// `NVME_URING_CMD_IO`, `_IOWR('N', 0x80, struct nvme_uring_cmd)`: an I/O command in a ring's entry.
const IO_COMMAND: u32 = 0xc048_4e80;
/// One range of a Dataset Management command (NVM Command Set, figure "Dataset Management - Range").
const RANGE_BYTES: usize = 16;
/// Bit of dword 12 of a read or write.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Directive type "data placement" in dword 12 of a write, whose dword 13 then has the placement identifier.
const DATA_PLACEMENT: u32 = 2 << 20;
/// The attribute "deallocate" in Command Dword 11 of Dataset Management.
const DEALLOCATE: u32 = 1 << 2;
/// A command's number of blocks is a 16 bit field that counts from 0.
const MOST_BLOCKS: u64 = 1 << 16;
/// The smallest page of any machine; larger ones make fewer pieces.
const PAGE_BYTES: u64 = 4096;

/// The NVM command set's I/O commands for one namespace.
#[derive(Clone, Debug)]
pub struct NvmeCommands {
    namespace: Namespace,
    /// The kernel takes registered buffers with commands.
    fixed: bool,
    /// What each slot's success means in bytes: a completion does not tell.
    transfers: Box<[i32]>,
}

impl Ring<NvmeCommands> {
    /// A ring on an NVMe generic device.
    ///
    /// # Errors
    /// If the kernel has no io_uring or no such commands for us (before Linux 5.19), if the target is no
    /// generic device, its blocks carry metadata, or a transfer would be larger than the device takes.
    pub fn passthrough(target: &Target, waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        let namespace = check(target, shape)?;
        let made: Made<squeue::Entry128, cqueue::Entry32> = make(shape, Reaping::Interrupts)?;
        register(&made.ring, target)?;
        let commands = NvmeCommands {
            namespace,
            // Both came with Linux 6.1, and the kernel offers no other way to find out.
            fixed: made.deferred_completion,
            transfers: vec![0; shape.slots].into_boxed_slice(),
        };
        Self::assemble(made, commands, waker, shape)
    }
}

fn unsuited(reason: String) -> QueueError {
    QueueError::Unsuited { path: IoPath::Passthrough, reason }
}

fn check(target: &Target, shape: &Shape) -> Result<Namespace, QueueError> {
    if target.kind() != TargetKind::NvmeGeneric {
        return Err(unsuited(format!(
            "it needs an NVMe generic device (/dev/ngXnY), and the target is a {}",
            target.kind().name()
        )));
    }
    let namespace = Namespace::identify(target)
        .map_err(|error| unsuited(format!("the namespace can't be identified: {error}")))?;
    if 1_u32.checked_shl(namespace.block_shift) != Some(shape.sector_bytes) {
        // Commands count in blocks: with another size they would reach other data.
        return Err(unsuited(format!("the namespace has no blocks of {} B", shape.sector_bytes)));
    }
    if namespace.metadata_bytes > 0 {
        return Err(unsuited(format!(
            "the namespace's blocks carry {} B of metadata",
            namespace.metadata_bytes
        )));
    }
    let limits = Limits {
        transfer_bytes: target.queue_attribute("max_hw_sectors_kb").map(|kib| kib * 1024),
        pieces: target.queue_attribute("max_segments"),
    };
    limits.check(shape).map_err(unsuited)?;
    Ok(namespace)
}

/// What a device takes in one command, where the kernel tells.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// MDTS as the driver sees it.
    transfer_bytes: Option<u64>,
    /// Pieces of memory that a transfer may consist of. The block layer would split a larger one into several
    /// commands; here none does.
    pieces: Option<u64>,
}

impl Limits {
    fn check(&self, shape: &Shape) -> Result<(), String> {
        let most_bytes = MOST_BLOCKS * u64::from(shape.sector_bytes);
        let most_bytes = self.transfer_bytes.map_or(most_bytes, |limit| most_bytes.min(limit));
        let bytes = shape.block_bytes as u64;
        if bytes > most_bytes {
            return Err(format!(
                "a transfer of {bytes} B is larger than the device takes in one command ({most_bytes} B)"
            ));
        }
        // Buffers follow each other, so that only whole pages start at a page's start.
        let pieces = bytes.div_ceil(PAGE_BYTES) + u64::from(!bytes.is_multiple_of(PAGE_BYTES));
        match self.pieces {
            Some(most) if pieces > most => Err(format!(
                "a transfer of {bytes} B spans {pieces} pages, and the device takes {most} in one command"
            )),
            _ => Ok(()),
        }
    }
}

impl Commands for NvmeCommands {
    type Submission = squeue::Entry128;
    type Answer = cqueue::Entry32;
    const ANNEX_BYTES: usize = RANGE_BYTES;

    fn supports(&self, _operation: Operation) -> bool {
        true
    }

    #[inline]
    fn entry(&mut self, io: &Io, mut memory: SlotMemory<'_>) -> squeue::Entry128 {
        let Namespace { identifier, block_shift, .. } = self.namespace;
        let first = io.offset_bytes >> block_shift;
        let blocks = io.length_bytes >> block_shift;
        let is_whole = first << block_shift == io.offset_bytes && blocks << block_shift == io.length_bytes;
        assert!(
            is_whole && (blocks > 0 || !io.operation.is_addressed()),
            "{io:?} is not one of whole blocks"
        );
        let mut command = Command::new(opcode_of(io.operation), identifier);
        let mut transfer_bytes = 0;
        match io.operation {
            Operation::Read | Operation::Write => {
                command.data(memory.buffer(io.length_bytes), io.length_bytes);
                command.dword(10, first as u32);
                command.dword(11, (first >> 32) as u32);
                let directive = if io.handle.is_some() { DATA_PLACEMENT } else { 0 };
                command.dword(12, (blocks - 1) | if io.fua { FORCE_UNIT_ACCESS } else { 0 } | directive);
                command.dword(13, u32::from(io.handle.unwrap_or(0)) << 16);
                transfer_bytes = io.length_bytes;
            }
            Operation::Trim => {
                let range = memory.annex();
                range[..4].fill(0);
                range[4..8].copy_from_slice(&blocks.to_le_bytes());
                range[8..].copy_from_slice(&first.to_le_bytes());
                command.data(range.as_mut_ptr(), RANGE_BYTES as u32);
                // Dword 10 counts the ranges from 0.
                command.dword(11, DEALLOCATE);
            }
            Operation::Flush | Operation::Fsync => {}
        }
        self.transfers[memory.slot] = transfer_bytes.cast_signed();
        let registered = memory.registered().filter(|_| self.fixed && transfer_bytes > 0);
        opcode::UringCmd80::new(FILE, IO_COMMAND).cmd(command.padded()).buf_index(registered).build()
    }

    #[inline]
    fn outcome(&self, slot: usize, result: i32) -> (i32, u16) {
        match u16::try_from(result) {
            Ok(0) => (self.transfers[slot], 0),
            Ok(status) => (-libc::EIO, status),
            // The command did not reach the device: an errno.
            Err(_) => (result.min(-1), 0),
        }
    }
}

/// Of the NVM command set: Read, Write, Dataset Management, Flush.
fn opcode_of(operation: Operation) -> u8 {
    match operation {
        Operation::Read => 0x02,
        Operation::Write => 0x01,
        Operation::Trim => 0x09,
        Operation::Flush | Operation::Fsync => 0x00,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_counts() {
        let check = |transfer_bytes, pieces, block_bytes, sector_bytes| {
            Limits { transfer_bytes, pieces }.check(&Shape { slots: 1, block_bytes, sector_bytes })
        };
        assert_eq!(check(None, None, 32 << 20, 512), Ok(()));
        assert!(check(None, None, (32 << 20) + 512, 512).unwrap_err().contains("takes in one command"));
        assert_eq!(check(Some(512 << 10), Some(128), 512 << 10, 512), Ok(()));
        assert!(
            check(Some(512 << 10), Some(256), (512 << 10) + 512, 512).unwrap_err().contains("(524288 B)")
        );
        assert!(check(Some(512 << 10), Some(127), 512 << 10, 512).unwrap_err().contains("spans 128 pages"));
        // One sector more than 126 pages may begin and end inside of pages.
        assert_eq!(check(Some(512 << 10), Some(127), 126 * 4096, 512), Ok(()));
        assert!(check(Some(512 << 10), Some(127), 126 * 4096 + 512, 512).is_err());
    }

    #[test]
    fn the_number_of_the_request_is_made_as_all_are() {
        let made = rustix::ioctl::opcode::read_write::<[u8; Command::BYTES]>(b'N', 0x80);
        assert_eq!(made, rustix::ioctl::Opcode::from(IO_COMMAND));
    }

    #[test]
    fn a_status_is_an_error_and_keeps_its_code() {
        let namespace = Namespace { identifier: 1, block_shift: 9, metadata_bytes: 0 };
        let commands = NvmeCommands { namespace, fixed: false, transfers: Box::new([4096]) };
        assert_eq!(commands.outcome(0, 0), (4096, 0));
        assert_eq!(commands.outcome(0, 0x4281), (-libc::EIO, 0x4281));
        assert_eq!(commands.outcome(0, -libc::EINVAL), (-libc::EINVAL, 0));
    }
}
