//! One system call for each I/O: for targets that io_uring would only hand to worker threads.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate, fdatasync, fsync};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use super::path::IoPath;
use super::queue::{Completion, Queue, QueueError, Shape};
use super::slots::Slots;
use super::target::{Target, TargetKind};
use super::waker::{Waker, Watch};
use crate::workload::{Io, Operation};

/// `BLKDISCARD`: first byte and number of bytes.
const DISCARD: Opcode = opcode::none(0x12, 119);
/// There is one slot.
const SLOT: usize = 0;

/// A queue of one I/O, which `enter` carries out. No time-out and no waker can end it then.
pub struct Positional {
    target: OwnedFd,
    kind: TargetKind,
    discards: bool,
    slots: Slots,
    watch: Watch,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Idle,
    Prepared(Io),
    Finished { result: i32 },
}

impl Positional {
    /// A queue for the calling thread.
    ///
    /// # Errors
    /// If more than one I/O at a time is wanted, or memory or descriptors are short.
    pub fn new(target: &Target, waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        if shape.slots != 1 {
            let reason = format!("it issues one I/O at a time in each thread, not {}", shape.slots);
            return Err(QueueError::Unsuited { path: IoPath::Synchronous, reason });
        }
        Ok(Self {
            target: target.try_clone_descriptor().map_err(QueueError::Descriptor)?,
            kind: target.kind(),
            discards: target.queue_attribute("discard_max_bytes").is_some_and(|bytes| bytes > 0),
            slots: Slots::new(shape, 0)?,
            watch: Watch::new(waker).map_err(QueueError::Descriptor)?,
            state: State::Idle,
        })
    }

    /// Carry out what was pushed. A call that a signal ended has done nothing and is made again; its time
    /// counts.
    fn carry_out(&mut self, io: &Io) -> i32 {
        let (target, offset, length) = (&self.target, io.offset_bytes, io.length_bytes);
        // The kernel uses the buffer during the system call only.
        self.slots.release(SLOT);
        let answer = match io.operation {
            Operation::Read => {
                let buffer = self.slots.buffer_mut(SLOT, length as usize);
                retry_on_intr(|| pread(target, &mut *buffer, offset))
            }
            Operation::Write => {
                let buffer = self.slots.buffer(SLOT, length as usize);
                retry_on_intr(|| pwrite(target, buffer, offset))
            }
            Operation::Trim => retry_on_intr(|| self.trim(offset, length)).map(|()| 0),
            Operation::Flush => retry_on_intr(|| fdatasync(target)).map(|()| 0),
            Operation::Fsync => retry_on_intr(|| fsync(target)).map(|()| 0),
        };
        self.slots.occupy(SLOT);
        match answer {
            Ok(bytes) => i32::try_from(bytes).expect("a transfer fits into its buffer"),
            Err(error) => -error.raw_os_error(),
        }
    }

    fn trim(&self, offset_bytes: u64, length_bytes: u32) -> Result<(), Errno> {
        let length_bytes = u64::from(length_bytes);
        if self.kind == TargetKind::BlockDevice {
            // SAFETY: BLKDISCARD reads two numbers of 64 bits.
            unsafe { ioctl(&self.target, Setter::<DISCARD, _>::new([offset_bytes, length_bytes])) }
        } else {
            let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&self.target, mode, offset_bytes, length_bytes)
        }
    }

    /// Carry out what was pushed; else, if something is to be waited for, wait for the waker.
    fn advance(&mut self, completions: usize, timeout: Option<Duration>) {
        match self.state {
            State::Prepared(io) => self.state = State::Finished { result: self.carry_out(&io) },
            State::Idle if completions > 0 => {
                self.watch.strikes_within(timeout);
            }
            State::Idle | State::Finished { .. } => {}
        }
    }
}

impl Queue for Positional {
    #[inline]
    fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        self.slots.buffer_mut(slot, length)
    }

    #[inline]
    fn buffer(&self, slot: usize, length: usize) -> &[u8] {
        self.slots.buffer(slot, length)
    }

    #[inline]
    fn push(&mut self, slot: usize, io: &Io) {
        assert!(self.supports(io.operation), "a supported operation");
        if let Operation::Read | Operation::Write = io.operation {
            self.slots.buffer(slot, io.length_bytes as usize);
        }
        self.slots.occupy(slot);
        self.state = State::Prepared(*io);
    }

    #[inline]
    fn enter(&mut self, completions: usize) -> Result<(), QueueError> {
        self.advance(completions, None);
        Ok(())
    }

    fn enter_for(&mut self, completions: usize, timeout: Duration) -> Result<(), QueueError> {
        self.advance(completions, Some(timeout));
        Ok(())
    }

    fn enter_batched(&mut self, completions: usize, _patience: Duration) -> Result<(), QueueError> {
        self.enter(completions)
    }

    fn keeps_time(&self) -> bool {
        false
    }

    #[inline]
    fn reap(&mut self, mut each: impl FnMut(Completion)) {
        if let State::Finished { result } = self.state {
            self.state = State::Idle;
            self.slots.release(SLOT);
            each(Completion { slot: SLOT, result, status: 0 });
        }
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    fn supports(&self, operation: Operation) -> bool {
        match (operation, self.kind) {
            (Operation::Read | Operation::Write, _) => true,
            (Operation::Trim, TargetKind::BlockDevice) => self.discards,
            (_, kind) => matches!(kind, TargetKind::BlockDevice | TargetKind::RegularFile),
        }
    }
}
