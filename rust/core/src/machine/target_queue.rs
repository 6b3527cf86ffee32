//! A queue on a path that was chosen when the program ran.

use std::time::Duration;

use super::features::Features;
use super::path::IoPath;
use super::positional::Positional;
use super::queue::{Completion, Queue, QueueError, Shape};
use super::ring::{FileCommands, NoOpCommands, NvmeCommands, Ring};
use super::target::{Target, TargetKind};
use super::waker::Waker;
use crate::workload::{Io, Operation};

/// Any of the queues. Who wants a thread's loop compiled for each of them matches and takes what is inside.
pub enum TargetQueue {
    /// `io_uring` and `io_uring-polled`.
    File(Ring<FileCommands>),
    /// `nvme-passthrough`.
    Nvme(Ring<NvmeCommands>),
    /// `sync`.
    Positional(Positional),
    /// `noop` and `timer`.
    NoOp(Ring<NoOpCommands>),
}

impl TargetQueue {
    /// Make the calling thread's queue; no other thread may use it.
    ///
    /// # Errors
    /// If the kernel or the target has no such path, or memory is short.
    pub fn open(path: IoPath, target: &Target, waker: &Waker, shape: &Shape) -> Result<Self, QueueError> {
        let for_commands = matches!(path, IoPath::Passthrough | IoPath::NoOp | IoPath::Timer);
        if target.kind() == TargetKind::NvmeGeneric && !for_commands {
            let reason = "the target takes NVMe commands only".into();
            return Err(QueueError::Unsuited { path, reason });
        }
        match path {
            IoPath::Uring => Ring::on_file(target, waker, shape).map(Self::File),
            IoPath::UringPolled => Ring::polled(target, waker, shape).map(Self::File),
            IoPath::Passthrough => Ring::passthrough(target, waker, shape).map(Self::Nvme),
            IoPath::Synchronous => Positional::new(target, waker, shape).map(Self::Positional),
            IoPath::NoOp => Ring::without_target(waker, shape).map(Self::NoOp),
            IoPath::Timer => Ring::on_timer(waker, shape).map(Self::NoOp),
        }
    }
}

/// Do the same with whichever queue it is.
macro_rules! inside {
    ($this:expr, $queue:ident => $action:expr) => {
        match $this {
            Self::File($queue) => $action,
            Self::Nvme($queue) => $action,
            Self::Positional($queue) => $action,
            Self::NoOp($queue) => $action,
        }
    };
}

impl Queue for TargetQueue {
    #[inline]
    fn buffer_mut(&mut self, slot: usize, length: usize) -> &mut [u8] {
        inside!(self, queue => queue.buffer_mut(slot, length))
    }

    #[inline]
    fn buffer(&self, slot: usize, length: usize) -> &[u8] {
        inside!(self, queue => queue.buffer(slot, length))
    }

    #[inline]
    fn push(&mut self, slot: usize, io: &Io) {
        inside!(self, queue => queue.push(slot, io));
    }

    #[inline]
    fn enter(&mut self, completions: usize) -> Result<(), QueueError> {
        inside!(self, queue => queue.enter(completions))
    }

    fn enter_for(&mut self, completions: usize, timeout: Duration) -> Result<(), QueueError> {
        inside!(self, queue => queue.enter_for(completions, timeout))
    }

    fn enter_batched(&mut self, completions: usize, patience: Duration) -> Result<(), QueueError> {
        inside!(self, queue => queue.enter_batched(completions, patience))
    }

    fn set_alarm(&mut self, after: Duration) {
        inside!(self, queue => queue.set_alarm(after));
    }

    fn interruptions(&self) -> u64 {
        inside!(self, queue => queue.interruptions())
    }

    fn keeps_time(&self) -> bool {
        inside!(self, queue => queue.keeps_time())
    }

    #[inline]
    fn reap(&mut self, each: impl FnMut(Completion)) {
        inside!(self, queue => queue.reap(each));
    }

    #[inline]
    fn in_flight(&self) -> usize {
        inside!(self, queue => queue.in_flight())
    }

    fn supports(&self, operation: Operation) -> bool {
        inside!(self, queue => queue.supports(operation))
    }

    fn features(&self) -> Features {
        inside!(self, queue => queue.features())
    }
}
