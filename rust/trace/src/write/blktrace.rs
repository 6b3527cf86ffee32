//! Binary files of blktrace, version 7, merged: arrivals (Q) and completions (C) in the order of their times.

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::io::{self, BufWriter, Write};

use super::super::traced_io::{Flags, NO_PROCESS, NO_PROCESSOR, Status, TracedIo, TracedOperation};
use super::writer::{Names, TraceWriter, Written};

const MAGIC: u32 = 0x6561_7407;
const SECTOR_BYTES: u64 = 512;
/// Longest part of an I/O that a record can have, in whole 64 KiB.
const MOST_BYTES: u64 = (1 << 32) - (1 << 16);
/// Completions that may wait for their turn.
const MOST_OPEN: usize = 1 << 20;
/// Processes whose names are written.
const MOST_PROCESSES: usize = 1 << 20;

mod action {
    pub(super) const QUEUE: u32 = 1;
    pub(super) const COMPLETE: u32 = 8;
    pub(super) const PROCESS: u32 = 0;
    pub(super) const CLOCK: u32 = 1;
}

mod category {
    pub(super) const READ: u32 = 1 << 16;
    pub(super) const WRITE: u32 = 1 << 17;
    pub(super) const FLUSH: u32 = 1 << 18;
    pub(super) const SYNC: u32 = 1 << 19;
    pub(super) const QUEUE: u32 = 1 << 20;
    pub(super) const COMPLETE: u32 = 1 << 23;
    pub(super) const NOTE: u32 = 1 << 26;
    pub(super) const READ_AHEAD: u32 = 1 << 27;
    pub(super) const META: u32 = 1 << 28;
    pub(super) const DISCARD: u32 = 1 << 29;
    pub(super) const FUA: u32 = 1 << 31;
}

const FLAGS: [(Flags, u32); 5] = [
    (Flags::SYNC, category::SYNC),
    (Flags::FUA, category::FUA),
    (Flags::PREFLUSH, category::FLUSH),
    (Flags::META, category::META),
    (Flags::READ_AHEAD, category::READ_AHEAD),
];

/// A record without its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    cpu: u32,
    error: u16,
}

impl Event {
    /// By what completions find their I/Os.
    const fn alike(&self) -> (u32, u64, u32) {
        (self.device, self.sector, self.action & (category::READ | category::WRITE | category::DISCARD))
    }
}

pub(super) struct BlktraceWriter<W: Write> {
    file: BufWriter<W>,
    /// By time, and in the order in which they began.
    open: BinaryHeap<Reverse<(u64, u64, Event)>>,
    /// How many of these are equal but for their ends.
    alike: HashMap<(u32, u64, u32), u32>,
    sequences: HashMap<u32, u32>,
    devices: HashMap<u16, u32>,
    named: HashSet<(i32, u16)>,
    begun: u64,
}

impl<W: Write> BlktraceWriter<W> {
    pub(super) fn new(file: W) -> Self {
        Self {
            file: BufWriter::with_capacity(1 << 18, file),
            open: BinaryHeap::new(),
            alike: HashMap::new(),
            sequences: HashMap::new(),
            devices: HashMap::new(),
            named: HashSet::new(),
            begun: 0,
        }
    }

    fn record(&mut self, time_ns: u64, event: &Event, payload: &[u8]) -> io::Result<()> {
        let sequence = self.sequences.entry(event.cpu).or_default();
        *sequence = sequence.wrapping_add(1);
        let mut bytes = [0; 48];
        let mut at = 0;
        let mut put = |value: &[u8]| {
            bytes[at..at + value.len()].copy_from_slice(value);
            at += value.len();
        };
        put(&MAGIC.to_le_bytes());
        put(&sequence.to_le_bytes());
        put(&time_ns.to_le_bytes());
        put(&event.sector.to_le_bytes());
        for word in [event.bytes, event.action, event.pid, event.device, event.cpu] {
            put(&word.to_le_bytes());
        }
        put(&event.error.to_le_bytes());
        put(&(payload.len() as u16).to_le_bytes());
        self.file.write_all(&bytes)?;
        self.file.write_all(payload)
    }

    fn note(&mut self, time_ns: u64, what: u32, pid: u32, cpu: u32, payload: &[u8]) -> io::Result<()> {
        let event =
            Event { sector: 0, bytes: 0, action: category::NOTE | what, pid, device: 0, cpu, error: 0 };
        self.record(time_ns, &event, payload)
    }

    /// Write the completions up to a time.
    fn complete(&mut self, until_ns: u64) -> io::Result<()> {
        while let Some(Reverse((time_ns, _, event))) = self.open.peek().filter(|next| next.0.0 <= until_ns) {
            let (time_ns, event) = (*time_ns, *event);
            self.open.pop();
            if let Entry::Occupied(mut alike) = self.alike.entry(event.alike()) {
                *alike.get_mut() -= 1;
                if *alike.get() == 0 {
                    alike.remove();
                }
            }
            self.record(time_ns, &event, &[])?;
        }
        Ok(())
    }

    /// What comes before an I/O: the time of day, and the name of its process.
    fn introduce(&mut self, io: &TracedIo, names: &Names, time_ns: u64, cpu: u32) -> io::Result<()> {
        if self.begun == 0
            && let Some(utc_ns) = names.origin_utc_ns
        {
            let seconds = u32::try_from(utc_ns.div_euclid(1_000_000_000)).unwrap_or(0);
            let ns = utc_ns.rem_euclid(1_000_000_000) as u32;
            let payload = [seconds.to_le_bytes(), ns.to_le_bytes()].concat();
            // At time 0 of the trace, whenever its first I/O is.
            self.note(0, action::CLOCK, 0, cpu, &payload)?;
        }
        self.begun += 1;
        let is_new = io.pid != NO_PROCESS
            && io.command != 0
            && self.named.len() < MOST_PROCESSES
            && self.named.insert((io.pid, io.command));
        if let Some(name) = names.commands.get(usize::from(io.command)).filter(|_| is_new) {
            let mut payload = name.as_bytes().to_vec();
            payload.truncate(usize::from(u16::MAX) - 1);
            payload.push(0);
            self.note(time_ns, action::PROCESS, io.pid.cast_unsigned(), cpu, &payload)?;
        }
        Ok(())
    }

    /// Major and minor number, if that is the device's name, or else numbers of our own.
    fn device(&mut self, number: u16, names: &Names, written: &mut Written) -> u32 {
        let name = names.device(number);
        *self.devices.entry(number).or_insert_with(|| {
            let parts =
                name.split_once(',').map(|(major, minor)| (major.parse::<u32>(), minor.parse::<u32>()));
            match parts {
                Some((Ok(major), Ok(minor))) if major < 1 << 12 && minor < 1 << 20 => major << 20 | minor,
                _ => {
                    written.lose("names of devices: they have numbers instead");
                    // A major number that the kernel gives to no block device.
                    4095 << 20 | u32::from(number)
                }
            }
        })
    }
}

fn category_of(operation: TracedOperation) -> Option<u32> {
    match operation {
        TracedOperation::Read => Some(category::READ),
        TracedOperation::Write => Some(category::WRITE),
        TracedOperation::Trim => Some(category::WRITE | category::DISCARD),
        TracedOperation::Flush => Some(category::WRITE | category::FLUSH),
        _ => None,
    }
}

impl<W: Write> TraceWriter for BlktraceWriter<W> {
    fn write(&mut self, io: &TracedIo, names: &Names, written: &mut Written) -> io::Result<()> {
        let Some(category) = category_of(io.operation) else {
            written.lose("I/Os that are neither reads, writes, trims nor flushes");
            return Ok(());
        };
        let kept = FLAGS.iter().fold(Flags::NONE, |kept, (flag, _)| kept.with(*flag));
        written.lose_common(io, kept);
        if !(io.offset_bytes | io.length_bytes).is_multiple_of(SECTOR_BYTES) {
            written.lose("places and lengths below 512 bytes: whole sectors are written");
        }
        if io.pid == NO_PROCESS || io.cpu == NO_PROCESSOR {
            written.lose("that the process or processor is not known: 0 is written");
        }
        if io.completed_ns.is_none() && matches!(io.status, Status::Failed(_)) {
            written.lose("errors of I/Os without a completion");
        }
        if io.length_bytes > MOST_BYTES {
            written.lose("that I/Os of 4 GiB or more are one: they are cut");
        }
        let issued_ns = u64::try_from(io.issued_ns).unwrap_or(0);
        self.complete(issued_ns)?;
        let cpu = if io.cpu == NO_PROCESSOR { 0 } else { u32::from(io.cpu.cast_unsigned()) };
        self.introduce(io, names, issued_ns, cpu)?;
        let bits =
            FLAGS.iter().filter(|(flag, _)| io.flags.has(*flag)).fold(category, |bits, (_, bit)| bits | bit);
        let device = self.device(io.device, names, written);
        let (mut sector, end) = (io.offset_bytes / SECTOR_BYTES, io.end_bytes().div_ceil(SECTOR_BYTES));
        loop {
            let bytes = ((end - sector) * SECTOR_BYTES).min(MOST_BYTES) as u32;
            let mut event = Event {
                sector,
                bytes,
                action: bits | category::QUEUE | action::QUEUE,
                pid: if io.pid == NO_PROCESS { 0 } else { io.pid.cast_unsigned() },
                device,
                cpu,
                error: 0,
            };
            self.record(issued_ns, &event, &[])?;
            if let Some(completed_ns) = io.completed_ns {
                event.action = bits | category::COMPLETE | action::COMPLETE;
                if let Status::Failed(errno) = io.status {
                    event.error = errno.wrapping_neg();
                }
                let alike = self.alike.entry(event.alike()).or_default();
                *alike += 1;
                if *alike > 1 {
                    written.lose("which of equal I/Os in flight was completed when");
                }
                self.open.push(Reverse((u64::try_from(completed_ns).unwrap_or(0), self.begun, event)));
            }
            sector += u64::from(bytes) / SECTOR_BYTES;
            if sector >= end {
                break;
            }
        }
        written.ios += 1;
        if self.open.len() > MOST_OPEN {
            return Err(io::Error::other(format!("more than {MOST_OPEN} I/Os are in flight at once")));
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.complete(u64::MAX)?;
        self.file.flush()
    }
}
