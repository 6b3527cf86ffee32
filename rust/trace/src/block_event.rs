//! What a source of block events says, whatever it is.

use super::traced_io::{Flags, TracedIo, TracedOperation};

/// Bytes of the sectors of block events, whatever those of the device are.
pub const SECTOR_BYTES: u64 = 512;

/// What happened to an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockAction {
    /// It arrived at the block layer (Q).
    Queue,
    /// It became part of a request, in front or at the back (M, F).
    Merge,
    /// Its request was handed to the driver (D).
    Issue,
    /// The driver gave the request back, to get it again (R).
    Requeue,
    /// It ended, or a part of it (C).
    Complete {
        /// The errno, positive; 0 for none.
        error: u16,
    },
    /// It was cut in two (X).
    Split {
        /// Where the second part begins.
        rest_sector: u64,
    },
    /// It was sent on to a device below (A): the event's sector is there.
    Remap {
        /// The device above.
        from_device: u16,
        /// Its place there.
        from_sector: u64,
        /// The device below, if it is not that of the event: a partition, where events have the whole disk.
        to_device: u16,
    },
}

/// An event of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEvent {
    /// By the clock of the source.
    pub time_ns: i64,
    /// What happened.
    pub action: BlockAction,
    /// What the I/O does: a flush if it has no bytes, a write with [`Flags::PREFLUSH`] if it has some.
    pub operation: TracedOperation,
    /// How it was asked for.
    pub flags: Flags,
    /// Number of the device.
    pub device: u16,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Length; of a completion, of what has ended.
    pub bytes: u64,
    /// Process in which it happened.
    pub pid: i32,
    /// Number of its name.
    pub command: u16,
    /// Processor on which it happened.
    pub cpu: i16,
    /// Where the event is in the source.
    pub source_position: u64,
}

impl BlockEvent {
    pub(crate) fn end_sector(&self) -> u64 {
        self.sector.saturating_add(self.bytes.div_ceil(SECTOR_BYTES))
    }

    /// A flush has no place, whatever its events have.
    pub(crate) fn place(&self) -> u64 {
        if self.operation == TracedOperation::Flush { 0 } else { self.sector }
    }

    /// The I/O that arrives with it.
    pub(crate) fn io(&self) -> TracedIo {
        let offset_bytes = self.place().saturating_mul(SECTOR_BYTES);
        let mut io =
            TracedIo::new(self.time_ns, self.operation, offset_bytes, self.bytes, self.source_position);
        io.flags = self.flags;
        io.device = self.device;
        io.domain = self.device;
        io.pid = self.pid;
        io.command = self.command;
        io.cpu = self.cpu;
        io
    }
}
