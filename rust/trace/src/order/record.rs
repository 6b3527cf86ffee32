//! An I/O as bytes, for the time that it spends on disk.

use super::super::traced_io::{Flags, Quality, Status, TracedIo, TracedOperation};

/// Of an I/O.
pub(super) const RECORD_BYTES: usize = 64;
/// No completion; no I/O ends at this moment.
const NEVER: i64 = i64::MIN;
const NO_COMPLETION_SEEN: u32 = 1 << 16;

pub(super) fn encode(io: &TracedIo, bytes: &mut Vec<u8>) {
    let status = match io.status {
        Status::Done => 0,
        Status::Failed(errno) => u32::from(errno),
        Status::NoCompletionSeen => NO_COMPLETION_SEEN,
    };
    bytes.extend(io.issued_ns.to_le_bytes());
    bytes.extend(io.completed_ns.unwrap_or(NEVER).to_le_bytes());
    bytes.extend(io.offset_bytes.to_le_bytes());
    bytes.extend(io.length_bytes.to_le_bytes());
    bytes.extend(io.source_position.to_le_bytes());
    bytes.extend(io.pid.to_le_bytes());
    bytes.extend(status.to_le_bytes());
    bytes.extend(io.flags.0.to_le_bytes());
    bytes.extend(io.device.to_le_bytes());
    bytes.extend(io.domain.to_le_bytes());
    bytes.extend(io.command.to_le_bytes());
    bytes.extend(io.cpu.to_le_bytes());
    bytes.extend([io.operation as u8, io.quality.0, 0, 0, 0, 0]);
}

pub(super) fn decode(bytes: &[u8]) -> TracedIo {
    let (long, short) = bytes.split_at(40);
    let number = |at: usize| i64::from_le_bytes(std::array::from_fn(|byte| long[8 * at + byte]));
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| short[at + byte]));
    let half = |at: usize| u16::from_le_bytes([short[at], short[at + 1]]);
    let completed_ns = number(1);
    let status = word(4);
    TracedIo {
        issued_ns: number(0),
        completed_ns: (completed_ns != NEVER).then_some(completed_ns),
        offset_bytes: number(2).cast_unsigned(),
        length_bytes: number(3).cast_unsigned(),
        source_position: number(4).cast_unsigned(),
        pid: word(0).cast_signed(),
        status: match status {
            0 => Status::Done,
            NO_COMPLETION_SEEN => Status::NoCompletionSeen,
            errno => Status::Failed(errno as u16),
        },
        flags: Flags(half(8)),
        device: half(10),
        domain: half(12),
        command: half(14),
        cpu: half(16).cast_signed(),
        operation: TracedOperation::ALL[usize::from(short[18]) % TracedOperation::ALL.len()],
        quality: Quality(short[19]),
    }
}
