//! Reads, writes and the like on a file or block device.

use io_uring::{cqueue, opcode, squeue, types};

use super::commands::{Commands, FILE, SlotMemory};
use super::discard::{discard, knows_discard};
use super::setup::{Made, Reaping, make};
use super::{Ring, register};
use crate::machine::path::IoPath;
use crate::machine::queue::{QueueError, Shape};
use crate::machine::target::{Target, TargetKind};
use crate::machine::waker::Waker;
use crate::workload::{Io, Operation};

const PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// The kernel's own file operations.
#[derive(Clone, Copy, Debug)]
pub struct FileCommands {
    trim: Option<Trim>,
    flush: bool,
}

#[derive(Clone, Copy, Debug)]
enum Trim {
    /// The block layer's discard.
    Discard,
    /// Gives blocks of a file back to the file system.
    PunchHole,
}

impl Ring<FileCommands> {
    /// A ring whose thread sleeps until the device interrupts. It must be made by the thread that uses it.
    ///
    /// # Errors
    /// If the kernel has no io_uring for us, or memory is short.
    pub fn on_file(target: &Target, waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        let mut made: Made<squeue::Entry, cqueue::Entry> = make(shape, Reaping::Interrupts)?;
        register(&made.ring, target)?;
        let commands = match target.kind() {
            TargetKind::BlockDevice => {
                FileCommands { trim: knows_discard(&mut made.ring).then_some(Trim::Discard), flush: true }
            }
            TargetKind::RegularFile => FileCommands { trim: Some(Trim::PunchHole), flush: true },
            _ => FileCommands { trim: None, flush: false },
        };
        Self::assemble(made, commands, waker, shape)
    }

    /// A ring whose thread polls the device's queues. Only reads and writes can be polled for.
    ///
    /// # Errors
    /// As `on_file`, and if the target has no polled queues or was not opened for direct I/O.
    pub fn polled(target: &Target, waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        let unsuited =
            |reason: &str| Err(QueueError::Unsuited { path: IoPath::UringPolled, reason: reason.to_owned() });
        if !target.is_direct() {
            return unsuited("the target was not opened for direct I/O");
        }
        // Kernels before 6.11 wait for an interrupt without a word where a device can't be polled.
        if target.kind() == TargetKind::BlockDevice && target.queue_attribute("io_poll") != Some(1) {
            return unsuited(
                "the device has no queues to poll (queue/io_poll is not 1; for NVMe drives see nvme.poll_queues)",
            );
        }
        let made = make(shape, Reaping::Polls)?;
        register(&made.ring, target)?;
        Self::assemble(made, FileCommands { trim: None, flush: false }, waker, shape)
    }
}

/// `RWF_ATOMIC` is refused by kernels before 6.11, and by drives that don't take the write as one.
///
/// On a drive, a write that must be on the media becomes one with FUA, or one with a flush behind it where the
/// drive has none.
#[inline]
fn write_flags(io: &Io) -> i32 {
    (if io.fua { libc::RWF_DSYNC } else { 0 }) | (if io.atomic { libc::RWF_ATOMIC } else { 0 })
}

impl Commands for FileCommands {
    type Submission = squeue::Entry;
    type Answer = cqueue::Entry;

    fn supports(&self, operation: Operation) -> bool {
        match operation {
            Operation::Read | Operation::Write => true,
            Operation::Trim => self.trim.is_some(),
            Operation::Flush | Operation::Fsync => self.flush,
        }
    }

    #[inline]
    fn entry(&mut self, io: &Io, mut memory: SlotMemory<'_>) -> squeue::Entry {
        let (offset, length) = (io.offset_bytes, io.length_bytes);
        match (io.operation, memory.registered()) {
            (Operation::Read, Some(index)) => {
                opcode::ReadFixed::new(FILE, memory.buffer(length), length, index).offset(offset).build()
            }
            (Operation::Read, None) => {
                opcode::Read::new(FILE, memory.buffer(length), length).offset(offset).build()
            }
            (Operation::Write, Some(index)) => {
                opcode::WriteFixed::new(FILE, memory.buffer(length), length, index)
                    .offset(offset)
                    .rw_flags(write_flags(io))
                    .build()
            }
            (Operation::Write, None) => opcode::Write::new(FILE, memory.buffer(length), length)
                .offset(offset)
                .rw_flags(write_flags(io))
                .build(),
            (Operation::Trim, _) => match self.trim.expect("a supported operation") {
                Trim::Discard => discard(offset, length),
                Trim::PunchHole => {
                    opcode::Fallocate::new(FILE, length.into()).offset(offset).mode(PUNCH_HOLE).build()
                }
            },
            (Operation::Flush | Operation::Fsync, _) => {
                assert!(self.flush, "a supported operation");
                let data_only = io.operation == Operation::Flush;
                let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                opcode::Fsync::new(FILE).flags(flags).build()
            }
        }
    }

    #[inline]
    fn outcome(&self, _slot: usize, result: i32) -> (i32, u16) {
        (result, 0)
    }
}
