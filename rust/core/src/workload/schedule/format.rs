//! A schedule's file: a header, and records of a fixed size, all little-endian.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::workload::operation::{ByOperation, Io, Operation};

const MAGIC: [u8; 8] = *b"openptsS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 128;
/// Bit of the header: records have parents.
const HAS_PARENTS: u8 = 1;
/// Bits of a record.
const FUA: u8 = 1;
const AFTER_FLUSH: u8 = 2;
const PLAIN_RECORD_BYTES: usize = 32;
const RECORD_BYTES: usize = 56;
const WRITER_BYTES: usize = 1 << 20;

/// Parents that a record has room for.
pub const MOST_PARENTS: usize = 4;
/// How far back a parent may be, in I/Os.
pub const FARTHEST_PARENT: u32 = (1 << 16) - 1;
/// The latency of an I/O whose completion is not in the trace.
pub const UNKNOWN_LATENCY: u64 = u64::MAX;

/// One I/O of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledIo {
    /// When it is due, since the schedule's beginning; never earlier than the one before.
    pub due_ns: u64,
    /// First byte on the target; 0 for a flush.
    pub offset_bytes: u64,
    /// Number of bytes; 0 for a flush.
    pub length_bytes: u32,
    /// What it does.
    pub operation: Operation,
    /// Written through to the media.
    pub fua: bool,
    /// Waits for the flushes in flight: a write with a preflush is a flush and such a write.
    pub after_flush: bool,
    /// From issue to completion in the trace, or [`UNKNOWN_LATENCY`].
    pub latency_ns: u64,
    /// Others in flight when it was issued in the trace.
    pub in_flight: u16,
    /// Time from the last parent's completion to its issue.
    pub slack_ns: u64,
    /// How many I/Os back its parents are; 0 for none.
    pub parents: [u32; MOST_PARENTS],
}

impl ScheduledIo {
    /// One of which the trace says nothing else, and that waits for no other.
    #[must_use]
    pub const fn new(due_ns: u64, operation: Operation, offset_bytes: u64, length_bytes: u32) -> Self {
        Self {
            due_ns,
            offset_bytes,
            length_bytes,
            operation,
            fua: false,
            after_flush: false,
            latency_ns: UNKNOWN_LATENCY,
            in_flight: 0,
            slack_ns: 0,
            parents: [0; MOST_PARENTS],
        }
    }
}

/// What a schedule says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleHeader {
    /// I/Os.
    pub ios: u64,
    /// When the last one is due.
    pub span_ns: u64,
    /// First byte behind all I/Os.
    pub end_bytes: u64,
    /// Most I/Os in flight at once in the trace; 0 if it has no completions.
    pub peak_in_flight: u32,
    /// The largest read or write: others need no buffer.
    pub largest_bytes: u32,
    /// Offsets and lengths are multiples of it, a power of two.
    pub sector_bytes: u32,
    /// Whether the records have parents.
    pub has_parents: bool,
    /// I/Os by operation, in the order of [`Operation::ALL`].
    pub by_operation: [u64; Operation::ALL.len()],
    /// Traced time over replayed time, as a fraction: latencies of the trace are as they were.
    pub speed: (u32, u32),
    /// SHA-256 of all records.
    pub hash: [u8; 32],
}

/// Why a schedule can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The operating system says no.
    #[error("can't use the schedule {}: {source}", path.display())]
    File {
        /// Of the schedule.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is none, or no longer what was written.
    #[error("the schedule {} is damaged: {reason}; make it again from the trace", path.display())]
    Damaged {
        /// Of the schedule.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl ScheduleError {
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::File { path: path.to_owned(), source }
    }

    pub(super) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.into() }
    }
}

impl ScheduleHeader {
    /// Bytes of each record.
    #[must_use]
    pub const fn record_bytes(&self) -> usize {
        if self.has_parents { RECORD_BYTES } else { PLAIN_RECORD_BYTES }
    }

    /// The header of a schedule's file, whose length agrees with it.
    ///
    /// # Errors
    /// If there is no such file, or it is no schedule.
    pub fn read(path: &Path) -> Result<Self, ScheduleError> {
        Self::open(path).map(|(header, _)| header)
    }

    /// The same, and the file behind its header.
    pub(super) fn open(path: &Path) -> Result<(Self, File), ScheduleError> {
        let mut file = File::open(path).map_err(ScheduleError::file(path))?;
        let length = file.metadata().map_err(ScheduleError::file(path))?.len();
        let mut bytes = [0; HEADER_BYTES];
        if length < HEADER_BYTES as u64 {
            return Err(ScheduleError::damaged(path, "it has no header"));
        }
        file.read_exact(&mut bytes).map_err(ScheduleError::file(path))?;
        let header = Self::decode(&bytes).map_err(|reason| ScheduleError::damaged(path, reason))?;
        let expected = (header.record_bytes() as u64)
            .checked_mul(header.ios)
            .and_then(|records| records.checked_add(HEADER_BYTES as u64));
        if expected != Some(length) {
            let reason = format!("{length} B do not hold the {} I/Os of its header", header.ios);
            return Err(ScheduleError::damaged(path, reason));
        }
        Ok((header, file))
    }

    fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, String> {
        if bytes[..8] != MAGIC {
            return Err("it is no schedule".into());
        }
        match u32_at(bytes, 8) {
            VERSION => (),
            other => return Err(format!("it has version {other}, not {VERSION}")),
        }
        let mut by_operation = [0; Operation::ALL.len()];
        by_operation.iter_mut().enumerate().for_each(|(number, ios)| *ios = u64_at(bytes, 48 + 8 * number));
        let header = Self {
            has_parents: bytes[12] & HAS_PARENTS > 0,
            sector_bytes: 1_u32.checked_shl(bytes[13].into()).unwrap_or(0),
            ios: u64_at(bytes, 16),
            span_ns: u64_at(bytes, 24),
            end_bytes: u64_at(bytes, 32),
            peak_in_flight: u32_at(bytes, 40),
            largest_bytes: u32_at(bytes, 44),
            by_operation,
            hash: bytes[88..120].try_into().expect("32 bytes"),
            speed: (u32_at(bytes, 120), u32_at(bytes, 124)),
        };
        if header.speed.0 == 0 || header.speed.1 == 0 || header.sector_bytes == 0 {
            return Err("its speed or its sector is 0".into());
        }
        Ok(header)
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &[if self.has_parents { HAS_PARENTS } else { 0 }, self.sector_bytes.trailing_zeros() as u8]);
        put(16, &self.ios.to_le_bytes());
        put(24, &self.span_ns.to_le_bytes());
        put(32, &self.end_bytes.to_le_bytes());
        put(40, &self.peak_in_flight.to_le_bytes());
        put(44, &self.largest_bytes.to_le_bytes());
        for (number, ios) in self.by_operation.iter().enumerate() {
            put(48 + 8 * number, &ios.to_le_bytes());
        }
        put(88, &self.hash);
        put(120, &self.speed.0.to_le_bytes());
        put(124, &self.speed.1.to_le_bytes());
        bytes
    }
}

impl ScheduledIo {
    /// As it is issued.
    pub(super) fn io(&self) -> Io {
        Io { fua: self.fua, ..Io::new(self.operation, self.offset_bytes, self.length_bytes) }
    }

    fn encode(&self, with_parents: bool) -> ([u8; RECORD_BYTES], usize) {
        let mut bytes = [0; RECORD_BYTES];
        bytes[..8].copy_from_slice(&self.due_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset_bytes.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.latency_ns.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.length_bytes.to_le_bytes());
        bytes[28..30].copy_from_slice(&self.in_flight.to_le_bytes());
        bytes[30] = self.operation as u8;
        bytes[31] = u8::from(self.fua) * FUA + u8::from(self.after_flush) * AFTER_FLUSH;
        if !with_parents {
            return (bytes, PLAIN_RECORD_BYTES);
        }
        bytes[32..40].copy_from_slice(&self.slack_ns.to_le_bytes());
        for (number, back) in self.parents.iter().enumerate() {
            bytes[40 + 4 * number..44 + 4 * number].copy_from_slice(&back.to_le_bytes());
        }
        (bytes, RECORD_BYTES)
    }

    /// One that [`check`](Self::check) has found sound.
    #[inline]
    pub(super) fn decode(bytes: &[u8]) -> Self {
        let mut io = Self {
            due_ns: u64_at(bytes, 0),
            offset_bytes: u64_at(bytes, 8),
            latency_ns: u64_at(bytes, 16),
            length_bytes: u32_at(bytes, 24),
            in_flight: u16::from_le_bytes([bytes[28], bytes[29]]),
            operation: Operation::ALL[usize::from(bytes[30])],
            fua: bytes[31] & FUA > 0,
            after_flush: bytes[31] & AFTER_FLUSH > 0,
            slack_ns: 0,
            parents: [0; MOST_PARENTS],
        };
        if bytes.len() == RECORD_BYTES {
            io.slack_ns = u64_at(bytes, 32);
            io.parents
                .iter_mut()
                .enumerate()
                .for_each(|(number, back)| *back = u32_at(bytes, 40 + 4 * number));
        }
        io
    }

    /// Whether the bytes are an I/O of a schedule with this header, after one that was due at `before_ns`.
    pub(super) fn check(bytes: &[u8], header: &ScheduleHeader, before_ns: u64) -> Result<Self, String> {
        if usize::from(bytes[30]) >= Operation::ALL.len() {
            return Err(format!("there is no operation {}", bytes[30]));
        }
        let io = Self::decode(bytes);
        let is_addressed = io.operation.is_addressed();
        let end = io.offset_bytes.checked_add(u64::from(io.length_bytes));
        let needs_buffer = matches!(io.operation, Operation::Read | Operation::Write);
        if io.due_ns < before_ns || io.due_ns > header.span_ns {
            Err(format!("{} ns is no due moment after {before_ns} ns", io.due_ns))
        } else if is_addressed && (io.length_bytes == 0 || end.is_none_or(|end| end > header.end_bytes)) {
            Err(format!(
                "{} B at {} do not end before {}",
                io.length_bytes, io.offset_bytes, header.end_bytes
            ))
        } else if !(io.offset_bytes | u64::from(io.length_bytes)).is_multiple_of(header.sector_bytes.into()) {
            Err(format!("{} B at {} are not whole sectors", io.length_bytes, io.offset_bytes))
        } else if needs_buffer && io.length_bytes > header.largest_bytes {
            Err(format!("{} B are more than the largest, {} B", io.length_bytes, header.largest_bytes))
        } else if io.parents.iter().any(|back| *back > FARTHEST_PARENT) {
            Err("a parent is too far back".into())
        } else {
            Ok(io)
        }
    }
}

/// Writes a schedule from front to back.
pub struct ScheduleWriter {
    out: BufWriter<File>,
    header: ScheduleHeader,
    by_operation: ByOperation<u64>,
    hash: Sha256,
}

impl ScheduleWriter {
    /// Begin one in an empty file, which can be read once it is finished. The sector is a power of two.
    ///
    /// # Errors
    /// If it can't be written to.
    pub fn new(file: File, sector_bytes: u32, has_parents: bool, speed: (u32, u32)) -> io::Result<Self> {
        let mut out = BufWriter::with_capacity(WRITER_BYTES, file);
        // Not a header: a file that is cut off here is no schedule.
        out.write_all(&[0; HEADER_BYTES])?;
        let header = ScheduleHeader { sector_bytes, has_parents, speed, ..ScheduleHeader::default() };
        Ok(Self { out, header, by_operation: ByOperation::default(), hash: Sha256::new() })
    }

    /// Add the next I/O.
    ///
    /// # Errors
    /// If it can't be written.
    ///
    /// # Panics
    /// If it is due before the one before it.
    pub fn push(&mut self, io: &ScheduledIo) -> io::Result<()> {
        let header = &mut self.header;
        assert!(io.due_ns >= header.span_ns, "schedules are in the order of their due moments");
        header.ios += 1;
        header.span_ns = io.due_ns;
        *self.by_operation.of_mut(io.operation) += 1;
        if io.operation.is_addressed() {
            header.end_bytes = header.end_bytes.max(io.offset_bytes + u64::from(io.length_bytes));
        }
        if matches!(io.operation, Operation::Read | Operation::Write) {
            header.largest_bytes = header.largest_bytes.max(io.length_bytes);
        }
        if io.latency_ns != UNKNOWN_LATENCY {
            header.peak_in_flight = header.peak_in_flight.max(u32::from(io.in_flight) + 1);
        }
        let (bytes, length) = io.encode(header.has_parents);
        self.hash.update(&bytes[..length]);
        self.out.write_all(&bytes[..length])
    }

    /// Complete the file.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn finish(mut self) -> io::Result<ScheduleHeader> {
        for (operation, ios) in self.by_operation.iter() {
            self.header.by_operation[operation as usize] = *ios;
        }
        self.header.hash = self.hash.finalize().into();
        self.out.flush()?;
        let file = self.out.get_mut();
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&self.header.encode())?;
        file.sync_data()?;
        Ok(self.header)
    }
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}
