//! One I/O as it waits in memory for the writer.

use super::figures::Waits;
use crate::workload::Operation;

/// One completed I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedIo {
    /// When it was submitted, on the engine's clock.
    pub submitted_ns: u64,
    /// From submission to completion.
    pub latency_ns: u64,
    /// First byte, a multiple of [`super::CaptureConfiguration::lba_bytes`]; 0 for a flush.
    pub offset_bytes: u64,
    /// Number of bytes; 0 for a flush.
    pub length_bytes: u32,
    /// What it did.
    pub operation: Operation,
    /// 0, or the error number (errno), below 2^28.
    pub result: i32,
}

/// Bits of the operation below the result; eight operations would fit.
const OPERATION_BITS: u32 = 3;

/// The same in 32 bytes, half a cache line: what the hot thread pays for is memory traffic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) submitted_ns: u64,
    pub(super) latency_ns: u64,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u32,
    result_and_operation: u32,
}

/// What all buffers together are reckoned in.
pub(super) const RECORD_BYTES: usize = size_of::<Record>();

impl From<CapturedIo> for Record {
    #[inline]
    fn from(io: CapturedIo) -> Self {
        debug_assert!(io.result.unsigned_abs() < 1 << (31 - OPERATION_BITS));
        Self {
            submitted_ns: io.submitted_ns,
            latency_ns: io.latency_ns,
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
            result_and_operation: (io.result << OPERATION_BITS) as u32 | io.operation as u32,
        }
    }
}

impl Record {
    /// 0, or the error number.
    pub(super) const fn result(&self) -> i32 {
        self.result_and_operation as i32 >> OPERATION_BITS
    }

    /// The operation's position in [`Operation::ALL`].
    pub(super) const fn operation_number(&self) -> usize {
        (self.result_and_operation & ((1 << OPERATION_BITS) - 1)) as usize
    }
}

const _: () = assert!(Operation::ALL.len() <= 1 << OPERATION_BITS);

/// I/Os of one thread and one step, on their way from the thread to the writer and, empty, back.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) thread: u16,
    pub(super) step: u32,
    /// What the thread waited for this chunk.
    pub(super) waits: Waits,
    pub(super) records: Vec<Record>,
}

impl Chunk {
    /// An empty chunk whose memory is there already: the hot thread shall not meet page faults.
    pub(super) fn new(thread: u16, ios: usize) -> Self {
        let touched = Record {
            submitted_ns: u64::MAX,
            latency_ns: u64::MAX,
            offset_bytes: u64::MAX,
            length_bytes: u32::MAX,
            result_and_operation: u32::MAX,
        };
        let mut chunk = Self { thread, step: 0, waits: Waits::default(), records: vec![touched; ios] };
        chunk.empty();
        chunk
    }

    /// What a thread has in its hand between two chunks.
    pub(super) fn without_room(thread: u16, step: u32) -> Self {
        Self { thread, step, waits: Waits::default(), records: Vec::new() }
    }

    /// Make it ready to be filled again.
    pub(super) fn empty(&mut self) {
        self.waits = Waits::default();
        self.records.clear();
    }
}
